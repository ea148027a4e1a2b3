/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From debug information and the symbols of a file to a GSYM with lines and inlined calls.
 *
 * While the debug information is read, each function is encoded at once, piece by piece (a function
 * has several where its cold part lies elsewhere), and so are the lines of symbols that it has no
 * function for (assembler, clang's -g1). What is held is that, and numbers. At the end it is
 *decided which function each address belongs to, and all is written.
 *
 *	debug information before symbols; of two functions that both claim an address, that of the
 *	unit that comes first in the file, and in one unit the one that comes last (as
 *llvm-symbolizer)
 */
#ifndef SYMBOLS_LINES_BUILDER_H
#define SYMBOLS_LINES_BUILDER_H

#include "dwarf/functions.h"
#include "symbols/gsym_info.h"
#include "symbols/source_files.h"
#include "symbols/symbol_list.h"

struct lines_input {
	const struct dwarf_file *file; /* perhaps with a supplementary one (dwz) */
	const struct gsym_function *symbols; /* disjoint and ascending */
	size_t n_symbols;
	struct dwarf_code code;
	const struct mw_file_id *id; /* may be NULL */
	uint64_t limit; /* bytes of the output */
};

struct lines_output {
	uint64_t size;
	uint64_t n_functions;
	struct gsym_splits splits; /* gsym_splits_deinit() it */
	struct dwarf_summary summary;
	bool misses_other; /* the supplementary file is needed and not there */
};

/* -ENODATA: there is nothing in it but symbols; nothing is written then. */
int lines_build(const struct lines_input *input, int out_fd, struct lines_output *ret,
		struct mw_error *e);

#endif
