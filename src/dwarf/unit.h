/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Units of debug information: their headers, and what their first entry says about all of them.
 */
#ifndef DWARF_UNIT_H
#define DWARF_UNIT_H

#include "dwarf/abbreviations.h"

struct dwarf_unit {
	enum dwarf_section_kind section; /* DWARF_INFO or DWARF_TYPES */
	uint64_t offset;		 /* of the header in the section */
	uint64_t entries;		 /* of the first entry */
	uint64_t end;
	uint64_t abbreviations;
	uint64_t signature; /* of a type unit */
	uint64_t type;      /* its type's offset in the unit */
	struct dwarf_encoding encoding;
	uint8_t kind; /* DW_UT_* */
};

/* What the first entry says. A string is kept as a value, since few are looked at. */
struct dwarf_unit_facts {
	uint64_t statements; /* in .debug_line */
	uint64_t low_pc;     /* which ranges are relative to */
	uint64_t string_offsets_base;
	uint64_t address_base;
	uint64_t range_lists_base;
	struct dwarf_value directory; /* of compilation */
	bool has_statements;
	bool is_skeleton; /* the rest is in a file of its own */
};

/*
 * The header of the unit at an offset. -ENODATA: none is there, the section ends. -EBADMSG: it is
 * damaged; if ret->end is not 0 all the same, the next one is there.
 */
int dwarf_unit_read(const struct dwarf_file *file, struct dwarf_window *window,
		    enum dwarf_section_kind section, uint64_t offset, struct dwarf_unit *ret);
/* Reads the first entry; the cursor, which is over the whole unit, stands behind it then. */
int dwarf_unit_read_facts(const struct dwarf_file *file, const struct dwarf_unit *unit,
			  const struct dwarf_abbreviations *abbreviations, struct cursor *c,
			  struct dwarf_unit_facts *ret);

/* The address with a number in .debug_addr. 1, or 0 if it is not there. */
int dwarf_unit_address(const struct dwarf_file *file, struct dwarf_window *window,
		       const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
		       uint64_t index, uint64_t *ret);
/* The offset in .debug_str of the string with a number. 1, or 0. */
int dwarf_unit_string_offset(const struct dwarf_file *file, struct dwarf_window *window,
			     const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
			     uint64_t index, uint64_t *ret);

#endif
