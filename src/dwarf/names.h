/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of functions. An inlined call refers to the function's entry, which may refer to another,
 * in this unit or any other, in this file or the supplementary one (dwz), and somewhere on the way
 * there is a linkage name, or else a name. What an entry is called is found out once.
 *
 * A name is known by a number, from 1; 0 is none. Where it is in a string section, only its offset
 * is kept, and all are read together at the end, in the order of the section.
 */
#ifndef DWARF_NAMES_H
#define DWARF_NAMES_H

#include "base/buffer.h"
#include "base/map.h"
#include "base/strings.h"
#include "dwarf/unit.h"

/* Tables of abbreviations of other units that are kept. */
#define DWARF_ABBREVIATIONS_KEPT 32

/* Entries that are found without looking into the large map: a power of two. */
#define DWARF_NAMES_RECENT 1024

/* A file and what is needed to read single entries of it. */
struct dwarf_library {
	const struct dwarf_file *file; /* NULL: there is none */
	VEC(struct dwarf_unit) units;  /* ascending; filled when the first reference comes */
	bool is_listed;
	struct dwarf_abbreviations abbreviations[DWARF_ABBREVIATIONS_KEPT];
	struct dwarf_window headers, tables, entries, offsets;
};

/* The unit that is being read, whose bytes are there already. */
struct dwarf_current {
	const struct dwarf_unit *unit;
	const struct dwarf_unit_facts *facts;
	const struct dwarf_abbreviations *abbreviations;
	struct cursor bytes; /* over all of it */
};

struct dwarf_names {
	struct dwarf_library main;
	struct dwarf_library other;  /* the supplementary file */
	struct map by_entry;         /* which entry -> number */
	struct map_place
		recent[DWARF_NAMES_RECENT]; /* of it, what was asked last; key 0: nothing */
	struct map by_place;         /* where a string is -> number */
	VEC(uint64_t) places;        /* of each number - 1 */
	struct strings inline_names; /* those that are in the entries themselves */
	bool misses_other; /* there are references to a supplementary file that is not there */
};

/* Borrows the file, with its supplementary one if it has one. */
void dwarf_names_init(struct dwarf_names *names, const struct dwarf_file *file);
void dwarf_names_deinit(struct dwarf_names *names);

/* What an entry says of its name by itself, while its attributes are read. */
struct dwarf_name_clues {
	struct dwarf_value linkage_name;
	struct dwarf_value name;
	struct dwarf_value origin; /* the entry that says more */
};

/* Takes one attribute, if it is one of these. */
void dwarf_name_clue(struct dwarf_name_clues *clues, uint16_t attribute,
		     const struct dwarf_value *value);
/* The number of the name that the clues lead to, in *ret. 0 or -ENOMEM. */
int dwarf_names_resolve(struct dwarf_names *names, const struct dwarf_current *current,
			const struct dwarf_name_clues *clues, uint32_t *ret);

/*
 * All names, one after the other in *ret, each with its NUL, and where each number's begins (by
 * number, 0 too; that of an empty or unreadable one is 0, where *ret has an empty string). -EFBIG
 * over limit.
 */
int dwarf_names_write(struct dwarf_names *names, uint64_t limit, struct buffer *ret,
		      uint32_t **ret_offsets);

#endif
