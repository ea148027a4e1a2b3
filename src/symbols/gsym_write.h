/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writer of GSYM version 1, function names only.
 *
 * A GSYM entry says where it starts, not where its function does. For the pieces of a function that
 * another one lies inside of, the latter is handed out as a list, which the store keeps beside the
 * file (in `meta`).
 */
#ifndef SYMBOLS_GSYM_WRITE_H
#define SYMBOLS_GSYM_WRITE_H

#include "base/buffer.h"
#include "base/vec.h"

#include <mapwright/mapwright.h>

/* One piece of a function's code. Pieces are disjoint and ascending. */
struct gsym_function {
	uint64_t start;
	uint64_t end;
	uint64_t function_start; /* equal to start but for later pieces of a split function */
	const char *name;        /* not empty; equal pointers are written once */
};

/* The piece that starts at `address` belongs to the function that starts at `start`. */
struct gsym_split {
	uint64_t address;
	uint64_t start;
};

struct gsym_splits {
	VEC(struct gsym_split) list; /* ascending by address */
};

void gsym_splits_deinit(struct gsym_splits *splits);
/* Where the function of the entry that starts at `address` starts: `address` if it is not split. */
uint64_t gsym_splits_find(const struct gsym_splits *splits, uint64_t address);

/*
 * Appends a whole file to *ret, which is empty. The UUID slot takes the first 20 bytes of the id
 * (NULL: none). splits may be NULL. -EFBIG over `limit` bytes (at most 4 GiB), -EINVAL if the
 * functions are not disjoint and ascending.
 */
int gsym_write(const struct gsym_function *functions, size_t n, const struct mw_file_id *id,
	       uint64_t limit, struct buffer *ret, struct gsym_splits *splits, struct mw_error *e);

#endif
