/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Debug information made in memory, of any version, class and byte order, around an elf_builder. What
 * is written is what the test says, right or wrong:
 *
 *	struct dwarf_builder b = dwarf_builder_init(4, 4, false, false);
 *	dwarf_abbreviation(&b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
 *	dwarf_unit_begin(&b, DW_UT_compile);
 *	dwarf_uleb(&b.info, 1);
 *	dwarf_text(&b.info, "a.c");
 *	...
 *	dwarf_uleb(&b.info, 0);
 *	dwarf_unit_end(&b);
 *	int fd = dwarf_builder_fd(&b);
 *
 * The code is in .text, 0x1000 to 0x3000, section 1.
 */
#ifndef TESTS_LIB_DWARF_BUILDER_H
#define TESTS_LIB_DWARF_BUILDER_H

#include "dwarf/constants.h"
#include "lib/elf_builder.h"

#define DW_TAG_compile_unit    0x11
#define DW_TAG_lexical_block   0x0b
#define DW_TAG_namespace       0x39
#define DW_TAG_variable	       0x34
#define DW_TAG_type_unit       0x41

#define DWARF_TEXT_START 0x1000
#define DWARF_TEXT_SIZE	 0x2000

struct dwarf_builder {
	struct elf_builder elf;
	uint8_t version;
	uint8_t offset_size; /* 4, or 8 for 64-bit DWARF */
	struct buffer info, types, abbrev, line, str, line_str, ranges, addr, str_offsets;
	size_t unit;  /* where the unit at hand begins in info */
	size_t lines; /* where the line table at hand begins */
	uint64_t row_address;
	uint32_t row_line;
};

struct dwarf_builder dwarf_builder_init(uint8_t version, uint8_t offset_size, bool is32, bool is_big);
void dwarf_builder_deinit(struct dwarf_builder *b);
/* Adds the sections that are not empty and makes the file. */
void dwarf_builder_finish(struct dwarf_builder *b, struct buffer *ret);
/* The same as a file without a name; ends the builder. */
int dwarf_builder_fd(struct dwarf_builder *b);

/* Values. */
void dwarf_uleb(struct buffer *out, uint64_t v);
void dwarf_sleb(struct buffer *out, int64_t v);
void dwarf_text(struct buffer *out, const char *text);
void dwarf_u8(struct buffer *out, uint8_t v);
void dwarf_u16(const struct dwarf_builder *b, struct buffer *out, uint16_t v);
void dwarf_u32(const struct dwarf_builder *b, struct buffer *out, uint32_t v);
void dwarf_u64(const struct dwarf_builder *b, struct buffer *out, uint64_t v);
void dwarf_address(const struct dwarf_builder *b, struct buffer *out, uint64_t v);
void dwarf_offset(const struct dwarf_builder *b, struct buffer *out, uint64_t v);
/* Adds a string to a section of strings; gives its offset. */
uint64_t dwarf_string_in(struct buffer *section, const char *text);

/* An abbreviation of the one table; attributes and forms until 0. */
void dwarf_abbreviation(struct dwarf_builder *b, unsigned code, unsigned tag, int has_children, ...);

/* A unit in .debug_info. Headers with more than the usual are written by the test after it. */
void dwarf_unit_begin(struct dwarf_builder *b, uint8_t kind);
void dwarf_unit_end(struct dwarf_builder *b);
/* The offset of what comes next, from the unit's header. */
uint32_t dwarf_here(const struct dwarf_builder *b);

/*
 * A line table with the files a.c (number 1) and b.h (number 2), both in the unit's directory, which is
 * "/s" in version 5.
 */
void dwarf_lines_begin(struct dwarf_builder *b);
void dwarf_lines_set_address(struct dwarf_builder *b, uint64_t address);
/* A row at the address and line, by the shortest opcodes there are. */
void dwarf_lines_row(struct dwarf_builder *b, uint64_t address, uint32_t line);
void dwarf_lines_file(struct dwarf_builder *b, uint32_t file);
void dwarf_lines_end_sequence(struct dwarf_builder *b, uint64_t address);
void dwarf_lines_end(struct dwarf_builder *b);

#endif
