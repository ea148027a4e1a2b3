/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an address is called, written: the answers of `mapwright resolve`.
 *
 *	text		0x1149: square at /src/calc.c:2
 *			 (inlined by) main at /src/calc.c:9
 *			0x3000: ?? (no-symbol-there)
 *	addr2line	exactly what addr2line -fipa writes, with ?? and ??:0 for what it does not know
 *	json		one object a line (docs/FORMAT.md)
 *
 * Demangled names are kept, by the place of the mangled one: strings of a chain must stay where they
 * are as long as the writer lives.
 */
#ifndef OUTPUT_ANSWER_H
#define OUTPUT_ANSWER_H

#include "base/buffer.h"

#include <mapwright/mapwright.h>

enum answer_format {
	ANSWER_TEXT,
	ANSWER_ADDR2LINE,
	ANSWER_JSON,
};

struct answer_options {
	enum answer_format format;
	bool demangle;
	bool no_inline; /* the function only, at the line where its innermost code is */
	bool is_32bit;  /* addr2line writes addresses of such files with 8 digits */
};

/* Beside the chain: what was asked, and what it was found to be. */
struct answer {
	uint64_t asked;
	const struct mw_file_id *id; /* NULL: no file */
	uint64_t offset;             /* in the file; UINT64_MAX: none (an address of no segment) */
	const char *path;            /* NULL: not known */
	const char *module;          /* of the kernel; NULL: none */
	const struct mw_location *chain;
	size_t n; /* 0: chain[0].reason says why */
	/* ANSWER_ADDR2LINE: what the symbol table has at the address; NULL, or without a name: nothing. */
	const struct mw_location *symbol;
};

struct answer_writer;

int answer_writer_new(const struct answer_options *options, struct answer_writer **ret);
void answer_writer_free(struct answer_writer *writer);
/* Appends one answer. buffer->failed tells that memory ran out. */
void answer_write(struct answer_writer *writer, const struct answer *answer, struct buffer *buffer);

#endif
