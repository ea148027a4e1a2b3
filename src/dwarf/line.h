/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A unit's line table: the files it names, and the rows that its program makes.
 *
 * Rows come in sequences, which are contiguous and ascending by address; the sequences come in any
 * order, and those of code that the linker dropped are still there. Kept are those that begin where
 * code can be, sorted.
 */
#ifndef DWARF_LINE_H
#define DWARF_LINE_H

#include "dwarf/ranges.h"

/* The rows of one unit that are taken at most. */
#define DWARF_ROWS_MAX (UINT32_C(1) << 27)

struct dwarf_row {
	uint64_t address;
	uint32_t file; /* as the program counts them */
	uint32_t line;
	uint32_t discriminator; /* tells blocks of one line apart; 0: there is but one */
};

/* The rows [first, last) of the table. */
struct dwarf_sequence {
	uint64_t start;
	uint64_t end; /* the first address behind it */
	uint32_t first;
	uint32_t last;
};

struct dwarf_line_file {
	struct dwarf_value name;
	uint64_t directory;
};

/* Where code can be; what is elsewhere is dropped. 1 and the end of the code, or 0: none there. */
typedef int (*dwarf_is_code_fn)(const void *context, uint64_t address, uint64_t *ret_end);

struct dwarf_code {
	dwarf_is_code_fn is_code;
	const void *context;
	uint64_t bias; /* added to all addresses of the debug information */
};

struct dwarf_lines {
	uint8_t version;
	VEC(struct dwarf_value) directories; /* from number 0, in all versions */
	VEC(struct dwarf_line_file) files;   /* the same; before version 5, 0 is none */
	VEC(struct dwarf_row) rows;
	VEC(struct dwarf_sequence) sequences; /* ascending by start */
	struct dwarf_window window;  /* over .debug_line; strings inside of it are used in place */
	struct dwarf_window strings;
	struct dwarf_window other_strings; /* of the supplementary file */
};

void dwarf_lines_deinit(struct dwarf_lines *lines);
/*
 * Reads the table of a unit, in place of the one before. 0, -EBADMSG if it is damaged (what was
 * read before that is there and right), -ENOMEM.
 */
int dwarf_lines_read(struct dwarf_lines *lines, const struct dwarf_file *file,
		     const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
		     const struct dwarf_code *code);
/* Empties it. */
void dwarf_lines_clear(struct dwarf_lines *lines);

/* The number of the first sequence that ends behind an address; sequences.n if there is none. */
size_t dwarf_lines_from(const struct dwarf_lines *lines, uint64_t address);

/*
 * The path of a file as llvm-symbolizer shows it: absolute if the unit's directory is, not made any
 * simpler. Writes it to buf, cut to size. Returns its length, or 0 if there is no such file.
 */
size_t dwarf_lines_path(struct dwarf_lines *lines, const struct dwarf_file *file,
			const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
			uint32_t number, char *buf, size_t size);

#endif
