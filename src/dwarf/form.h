/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of attributes: how each form is encoded, and how it is passed over.
 */
#ifndef DWARF_FORM_H
#define DWARF_FORM_H

#include "base/cursor.h"

/* What a form's encoding depends on, of the unit it is in. */
struct dwarf_encoding {
	uint8_t address_size; /* 1, 2, 4 or 8 */
	uint8_t offset_size;  /* 4, or 8 in 64-bit DWARF */
	uint8_t version;      /* 2 to 5 */
};

enum dwarf_class {
	DWARF_CLASS_NONE, /* a form that is not known, or a failed read */
	DWARF_CLASS_ADDRESS,
	DWARF_CLASS_ADDRESS_INDEX, /* in .debug_addr */
	DWARF_CLASS_NUMBER,
	DWARF_CLASS_OFFSET, /* in another section */
	DWARF_CLASS_LIST_INDEX,
	DWARF_CLASS_STRING, /* here */
	DWARF_CLASS_STRING_AT, /* in .debug_str */
	DWARF_CLASS_LINE_STRING_AT,
	DWARF_CLASS_OTHER_STRING_AT, /* in .debug_str of the supplementary file */
	DWARF_CLASS_STRING_INDEX,    /* in .debug_str_offsets */
	DWARF_CLASS_REFERENCE,       /* in this unit, from its header */
	DWARF_CLASS_REFERENCE_AT,    /* in .debug_info */
	DWARF_CLASS_OTHER_REFERENCE, /* in .debug_info of the supplementary file */
	DWARF_CLASS_SIGNATURE,       /* of a type unit */
	DWARF_CLASS_BLOCK,
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t number;
	const char *string; /* of DWARF_CLASS_STRING, in the bytes it was read from */
};

/* Reads a value. The cursor fails if it does not fit, or if the form is not known. */
struct dwarf_value dwarf_form_read(struct cursor *c, const struct dwarf_encoding *encoding,
				   uint16_t form, int64_t implicit);
/* An offset into a section: 4 or 8 bytes. */
uint64_t dwarf_read_offset(struct cursor *c, uint8_t offset_size);
/* An address of 1, 2, 4 or 8 bytes; another size fails the cursor. */
uint64_t dwarf_read_address(struct cursor *c, uint8_t address_size);
/*
 * A length at the start of a unit or a table; its first bytes tell which kind of DWARF it is. 0 and
 * a failed cursor for reserved ones.
 */
uint64_t dwarf_read_length(struct cursor *c, uint8_t *ret_offset_size);

/* How a form is passed over. */
enum dwarf_skip {
	DWARF_SKIP_FIXED, /* n bytes */
	DWARF_SKIP_LEB,
	DWARF_SKIP_STRING,
	DWARF_SKIP_BLOCK1,
	DWARF_SKIP_BLOCK2,
	DWARF_SKIP_BLOCK4,
	DWARF_SKIP_BLOCK,
	DWARF_SKIP_INDIRECT,
	DWARF_SKIP_UNKNOWN,
};

enum dwarf_skip dwarf_form_skip(const struct dwarf_encoding *encoding, uint16_t form,
				unsigned *ret_fixed);
/* Passes over one value that is not DWARF_SKIP_FIXED. */
void dwarf_skip_value(struct cursor *c, const struct dwarf_encoding *encoding,
		      enum dwarf_skip skip);

#endif
