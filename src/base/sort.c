/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sort.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

static bool is_sorted(const struct sort_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (items[i - 1].key > items[i].key)
			return false;
	}
	return true;
}

/* One pass: stable by the digit at shift. False if all items have the same digit there. */
static bool sort_by_digit(const struct sort_item *from, struct sort_item *to, size_t n,
			  unsigned shift)
{
	size_t starts[DIGITS] = {};
	for (size_t i = 0; i < n; i++)
		starts[from[i].key >> shift & (DIGITS - 1)]++;
	if (starts[from[0].key >> shift & (DIGITS - 1)] == n)
		return false;
	size_t at = 0;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = starts[d];
		starts[d] = at;
		at += count;
	}
	for (size_t i = 0; i < n; i++)
		to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
	return true;
}

static void sort_few(struct sort_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sort_item item = items[i];
		size_t j = i;
		for (; j > 0 && items[j - 1].key > item.key; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

int sort_items(struct sort_item *items, size_t n)
{
	if (is_sorted(items, n))
		return 0;
	if (n <= 64) {
		sort_few(items, n);
		return 0;
	}
	_cleanup_free_ struct sort_item *spare = malloc(n * sizeof *spare);
	if (!spare)
		return -ENOMEM;
	struct sort_item *from = items, *to = spare;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!sort_by_digit(from, to, n, shift))
			continue;
		struct sort_item *swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof *items);
	return 0;
}
