/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A string pool: each distinct string once, known by a small number that never changes. Number 0 is
 * the empty string. Bytes are kept in blocks that never move, so the pointers stay valid too.
 */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

struct strings {
	VEC(const char *) texts;
	VEC(char *) blocks;
	char *next;  /* the free part of the last block */
	size_t room; /* its bytes */
	size_t bytes; /* held in all */
	struct hash_index index;
};

/* A zeroed struct is a valid pool without strings. */
void strings_deinit(struct strings *pool);
/* The number of a string of n bytes (no NUL inside). Returns 0 or -ENOMEM; *ret is set on 0. */
int strings_add(struct strings *pool, const char *text, size_t n, uint32_t *ret);
/* The string with a number; "" for a number never given. */
const char *strings_get(const struct strings *pool, uint32_t number);

#endif
