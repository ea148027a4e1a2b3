/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The unwinding tables in the kernel: one array for each content, which all file numbers of that
 * content share. Bounded: when there is no room, the table that was not used for the longest time goes,
 * and is asked for again should it be needed.
 *
 * The kernel lets whoever puts an array into a table of arrays wait until no program can still see what
 * was there before, some tens of milliseconds. So a thread does it, many at once; what it puts there is
 * seen at once. All functions are for one other thread.
 */
#ifndef CAPTURE_TABLES_H
#define CAPTURE_TABLES_H

#include "base/log.h"

#include <mapwright/mapwright.h>

struct tables;

#define TABLES_LIMIT (UINT64_C(256) << 20) /* bytes, where nobody says otherwise */

/* The maps `tables` and `tables_wanted` of the BPF object, which outlive it. */
int tables_new(int tables, int wanted, uint64_t limit, struct tables **ret);
void tables_free(struct tables *t);

/*
 * The file with this number has the table of a content; fd is its image (bpf/unwind_table.h), which is
 * taken and closed. Without one (-1), and without id (NULL), the file has no table. 0 or -ENOMEM.
 */
int tables_supply(struct tables *t, uint32_t number, const struct mw_file_id *id, int fd);
/* File numbers that were given so far will not be used any more. */
void tables_forget_numbers(struct tables *t);

struct tables_counts {
	uint64_t loaded;  /* tables put into the kernel */
	uint64_t shared;  /* file numbers that got one that was there */
	uint64_t absent;  /* file numbers without a table */
	uint64_t evicted; /* tables that went for others */
	uint64_t refused; /* ... that found no room: all others were in use */
	uint64_t damaged; /* images that were none */
	uint64_t bytes_max; /* the most that there was at once */
	uint64_t load_max_ns; /* the longest that one took */
};
struct tables_counts tables_get_counts(struct tables *t);

#endif
