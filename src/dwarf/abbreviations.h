/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A unit's table of abbreviations: which attributes, in which forms, an entry with a certain code
 * has.
 *
 * Nearly all entries are only passed over. So each abbreviation has, made once, a list of steps
 * that does that: fixed sizes that follow each other are one step.
 */
#ifndef DWARF_ABBREVIATIONS_H
#define DWARF_ABBREVIATIONS_H

#include "dwarf/file.h"
#include "dwarf/form.h"

struct dwarf_attribute {
	uint16_t name;
	uint16_t form;
	int64_t implicit; /* of DW_FORM_implicit_const */
};

struct dwarf_step {
	uint8_t skip;  /* enum dwarf_skip */
	uint16_t size; /* of DWARF_SKIP_FIXED */
};

enum dwarf_entry_kind {
	DWARF_ENTRY_OTHER,	/* its children may be of interest, itself it is not */
	DWARF_ENTRY_TYPE,	/* neither */
	DWARF_ENTRY_FUNCTION,
	DWARF_ENTRY_INLINED,
};

struct dwarf_abbreviation {
	uint64_t code;
	uint32_t attributes; /* the first */
	uint32_t steps;
	uint16_t n_attributes;
	uint16_t n_steps;
	uint16_t tag;
	uint8_t kind;      /* enum dwarf_entry_kind */
	bool has_children;
	bool has_sibling;
};

struct dwarf_abbreviations {
	uint64_t offset; /* in .debug_abbrev */
	struct dwarf_encoding encoding;
	bool is_valid;   /* something is in it */
	bool is_dense;   /* codes are 1, 2, 3, ... in this order */
	VEC(struct dwarf_abbreviation) list; /* ascending by code */
	VEC(struct dwarf_attribute) attributes;
	VEC(struct dwarf_step) steps;
};

void dwarf_abbreviations_deinit(struct dwarf_abbreviations *table);
/* Reads the table at an offset, in place of what was there. 0, -EBADMSG or -ENOMEM. */
int dwarf_abbreviations_read(struct dwarf_abbreviations *table, const struct dwarf_file *file,
			     struct dwarf_window *window, uint64_t offset,
			     const struct dwarf_encoding *encoding);

const struct dwarf_abbreviation *
dwarf_abbreviations_search(const struct dwarf_abbreviations *table, uint64_t code);

/* NULL if there is none. */
static inline const struct dwarf_abbreviation *
dwarf_abbreviations_find(const struct dwarf_abbreviations *table, uint64_t code)
{
	if (!table->is_dense)
		return dwarf_abbreviations_search(table, code);
	return code - 1 < table->list.n ? &table->list.items[code - 1] : NULL;
}

/* Passes over all attributes of an entry. */
static inline void dwarf_abbreviation_skip(const struct dwarf_abbreviations *table,
					   const struct dwarf_abbreviation *abbreviation,
					   struct cursor *c)
{
	const struct dwarf_step *step = table->steps.items + abbreviation->steps;
	for (unsigned i = 0; i < abbreviation->n_steps; i++, step++) {
		if (step->skip == DWARF_SKIP_FIXED)
			cursor_bytes(c, step->size);
		else if (step->skip == DWARF_SKIP_BLOCK)
			cursor_bytes(c, cursor_uleb(c));
		else
			dwarf_skip_value(c, &table->encoding, (enum dwarf_skip)step->skip);
	}
}

#endif
