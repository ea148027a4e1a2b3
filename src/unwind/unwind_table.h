/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An unwinding table, mapped and searched where it lies (bpf/unwind_table.h says how).
 *
 * Opening looks at the header alone, so that it costs the same for a table of any size; look-ups
 * stay inside the table whatever is in it. unwind_table_check() reads all of it: for who made it or
 * doubts it.
 */
#ifndef UNWIND_UNWIND_TABLE_H
#define UNWIND_UNWIND_TABLE_H

#include "bpf/unwind_table.h"

#include <mapwright/mapwright.h>

#include <stdbool.h>

struct unwind_table {
	const uint8_t *data; /* starts with its struct unwind_header */
	size_t size;
	bool is_mapped;
};

/*
 * Maps a table of the store: a file that nobody cuts. The descriptor may be closed. -EBADMSG: it is
 * none, or of another version.
 */
int unwind_table_open(struct unwind_table *table, int fd, struct mw_error *e);
/* The same over memory that outlives the table, aligned to 8. */
int unwind_table_open_memory(struct unwind_table *table, const void *data, size_t size,
			     struct mw_error *e);
/* Takes a zeroed table, too. */
void unwind_table_close(struct unwind_table *table);
const struct unwind_header *unwind_table_header(const struct unwind_table *table);
/* The rule for an offset in the file; never NULL: UNWIND_NO_RULE where there is none. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset);
/* The sum is right, rows ascend, the index fits them, their rules are there and are rules. */
int unwind_table_check(const struct unwind_table *table, struct mw_error *e);

#endif
