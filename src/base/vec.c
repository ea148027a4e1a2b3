/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/vec.h"

int vec_grow(void **items, size_t *capacity, size_t n, size_t item_size)
{
	size_t wanted = *capacity ? *capacity : 8;
	while (wanted < n) {
		if (__builtin_mul_overflow(wanted, 2, &wanted))
			return -ENOMEM;
	}
	size_t bytes;
	if (__builtin_mul_overflow(wanted, item_size, &bytes))
		return -ENOMEM;
	void *grown = realloc(*items, bytes);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*capacity = wanted;
	return 0;
}
