/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hashing, and an index from hashes to entry numbers.
 *
 * The index does not hold entries: these lie in a vector of the caller, who also compares them. So
 * one structure serves every table that interns something. It is an open-addressed array of 64-bit
 * slots, upper half hash, lower half entry number + 1, at most three quarters full.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not against an adversary who chooses keys to collide beyond the table's bound. */
uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);
uint64_t hash_u64(uint64_t value);

struct hash_index {
	uint64_t *slots;
	size_t n_slots; /* a power of two, or 0 */
	size_t n;
};

#define HASH_INDEX_NONE UINT32_MAX

typedef bool (*hash_index_equal_fn)(const void *context, uint32_t entry, const void *key);

void hash_index_deinit(struct hash_index *index);
/* The entry with this hash for which equal(context, entry, key) holds, or HASH_INDEX_NONE. */
uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equal_fn equal,
			 const void *context, const void *key);
/* Adds an entry that is not there. Returns 0 or -ENOMEM. */
int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t entry);
/* Removes an entry; true if it was there. */
bool hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t entry);

#endif
