/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stable radix sort of 64-bit keys. Its time does not depend on the order of the keys, which may
 * come from a hostile file, and for addresses it is several times faster than qsort.
 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_item {
	uint64_t key;
	uint64_t value; /* usually a number of something */
};

/* Sorts by key, ascending. Returns 0 or -ENOMEM. */
int sort_items(struct sort_item *items, size_t n);

#endif
