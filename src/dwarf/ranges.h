/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of address ranges: .debug_ranges of DWARF 2 to 4, .debug_rnglists of DWARF 5. */
#ifndef DWARF_RANGES_H
#define DWARF_RANGES_H

#include "dwarf/unit.h"

struct dwarf_range {
	uint64_t start;
	uint64_t end;
};

typedef VEC(struct dwarf_range) dwarf_range_list;

/* The windows that reading needs; one of each is enough for all units. */
struct dwarf_range_reader {
	const struct dwarf_file *file;
	struct dwarf_window lists;
	struct dwarf_window addresses;
};

void dwarf_range_reader_deinit(struct dwarf_range_reader *reader);
/*
 * Appends the list that a value (an offset, or a number of a list) stands for; ranges without an
 * address are left out. 0, -EBADMSG if it is damaged (what came before is there), or -ENOMEM.
 */
int dwarf_ranges_read(struct dwarf_range_reader *reader, const struct dwarf_unit *unit,
		      const struct dwarf_unit_facts *facts, const struct dwarf_value *value,
		      dwarf_range_list *ret);

#endif
