/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A growing array of any type: `VEC(int) numbers = {};`. All macros evaluate their vector more than
 * once. The items are owned by the vector; what they point to is not.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t n;                                                                          \
		size_t capacity;                                                                   \
	}

/* Makes room for at least n items. Returns 0 or -ENOMEM; *items and *capacity stay valid then. */
int vec_grow(void **items, size_t *capacity, size_t n, size_t item_size);

#define vec_reserve(v, count)                                                                      \
	({                                                                                         \
		void *_items = (v)->items;                                                         \
		int _r = (count) <= (v)->capacity ? 0                                              \
						  : vec_grow(&_items, &(v)->capacity, (count),     \
							     sizeof *(v)->items);                  \
		(v)->items = _items;                                                               \
		_r;                                                                                \
	})

/* Appends a copy. Returns 0 or -ENOMEM. */
#define vec_push(v, ...)                                                                           \
	({                                                                                         \
		int _p = vec_reserve((v), (v)->n + 1);                                             \
		if (_p == 0)                                                                       \
			(v)->items[(v)->n++] = (__VA_ARGS__);                                      \
		_p;                                                                                \
	})

#define vec_deinit(v)                                                                              \
	do {                                                                                       \
		free((v)->items);                                                                  \
		(v)->items = NULL;                                                                 \
		(v)->n = (v)->capacity = 0;                                                        \
	} while (0)

#define vec_foreach(item, v)                                                                       \
	for (__typeof__((v)->items + 0) item = (v)->items; (v)->n && item < (v)->items + (v)->n;   \
	     item++)

#endif
