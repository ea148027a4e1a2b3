/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The debug sections of one ELF file.
 *
 * Debug information is large and is read once, from front to back, but for references. So a section
 * stays in the file, and its readers see it through windows: pieces of it in memory, each owned by
 * one reader. Only what is small, compressed, or has to be relocated is held as a whole; a window
 * on it is a pointer.
 *
 * In a relocatable object, sections have no addresses yet; those with code are given their offset
 * in the file as address, and the relocations of the debug sections are applied accordingly.
 * Sections of one name (COMDAT groups of type units) are joined.
 */
#ifndef DWARF_FILE_H
#define DWARF_FILE_H

#include "base/cursor.h"
#include "elf/elf.h"

enum dwarf_section_kind {
	DWARF_INFO,
	DWARF_TYPES,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	DWARF_N_SECTIONS
};

struct dwarf_section {
	uint64_t size;   /* 0: there is none */
	uint64_t offset; /* in the file, if it stays there */
	uint8_t *data;   /* owned; NULL: it stays in the file */
};

/* Where a section of a relocatable object is in the joined one. */
struct dwarf_piece {
	uint32_t number; /* of the section in the file */
	uint8_t kind;
	uint64_t base;
};

struct dwarf_file {
	struct elf *elf; /* not owned */
	const struct dwarf_file *supplement; /* not owned; set by who has it, else NULL */
	struct dwarf_section sections[DWARF_N_SECTIONS];
	VEC(struct dwarf_piece) pieces; /* ascending; of a relocatable object only */
	struct mw_error damage; /* the first section that could not be read; code 0: none */
	/*
	 * The first -errno of filling a window, but for bytes that are not there: who read through
	 * windows asks at the end, and has nothing then. `failure` is where it is noted, below.
	 */
	int *failure;
	int failed;
};

/* A piece of a section in memory. A zeroed struct is a valid window on nothing. */
struct dwarf_window {
	uint32_t read_ahead; /* what is read at least; 0: much, for who goes from front to back */
	uint64_t start;
	uint64_t size;
	uint8_t *bytes; /* owned */
	size_t capacity;
	uint8_t section; /* enum dwarf_section_kind + 1 of what is in it; 0: nothing */
};

/* -ENODATA if it has no debug information. */
int dwarf_file_open(struct dwarf_file *file, struct elf *elf, struct mw_error *e);
/* True if it has debug information, without reading it. */
bool dwarf_file_has_any(struct elf *elf);
void dwarf_file_close(struct dwarf_file *file);

void dwarf_window_deinit(struct dwarf_window *window);
/*
 * A cursor over [offset, offset + size) of a section; its bytes are valid until the window is used
 * again. A failed one if they are not all there or cannot be read.
 */
struct cursor dwarf_bytes(const struct dwarf_file *file, enum dwarf_section_kind kind,
			  struct dwarf_window *window, uint64_t offset, uint64_t size);
/* The same over all that is there from an offset on, but `size` at most. */
struct cursor dwarf_bytes_at_most(const struct dwarf_file *file, enum dwarf_section_kind kind,
				  struct dwarf_window *window, uint64_t offset, uint64_t size);
/* A string of a section, NULL if it does not end there (or has a MiB). Valid like the bytes. */
const char *dwarf_string(const struct dwarf_file *file, enum dwarf_section_kind kind,
			 struct dwarf_window *window, uint64_t offset);

#endif
