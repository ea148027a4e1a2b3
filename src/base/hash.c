/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 32;
	v *= UINT64_C(0xd6e8feb86659fd93);
	v ^= v >> 32;
	v *= UINT64_C(0xd6e8feb86659fd93);
	v ^= v >> 32;
	return v;
}

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t h = seed ^ (size * UINT64_C(0x9e3779b97f4a7c15));
	for (; size >= 8; p += 8, size -= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		h = hash_u64(h ^ word);
	}
	uint64_t tail = 0;
	memcpy(&tail, p, size);
	return hash_u64(h ^ tail);
}

void hash_index_deinit(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){};
}

static uint64_t make_slot(uint64_t hash, uint32_t entry)
{
	return hash << 32 | (uint32_t)(entry + 1);
}

static size_t home_of(const struct hash_index *index, uint64_t slot)
{
	return (slot >> 32) & (index->n_slots - 1);
}

uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equal_fn equal,
			 const void *context, const void *key)
{
	if (!index->n_slots)
		return HASH_INDEX_NONE;
	size_t mask = index->n_slots - 1;
	for (size_t i = (uint32_t)hash & mask; index->slots[i]; i = (i + 1) & mask) {
		uint64_t slot = index->slots[i];
		uint32_t entry = (uint32_t)slot - 1;
		if ((uint32_t)(slot >> 32) == (uint32_t)hash && equal(context, entry, key))
			return entry;
	}
	return HASH_INDEX_NONE;
}

static void put_slot(struct hash_index *index, uint64_t slot)
{
	size_t mask = index->n_slots - 1;
	size_t i = home_of(index, slot);
	while (index->slots[i])
		i = (i + 1) & mask;
	index->slots[i] = slot;
}

static int grow(struct hash_index *index)
{
	size_t n_slots = index->n_slots ? index->n_slots * 2 : 16;
	struct hash_index bigger = {.slots = calloc(n_slots, sizeof *bigger.slots),
				    .n_slots = n_slots,
				    .n = index->n};
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->n_slots; i++) {
		if (index->slots[i])
			put_slot(&bigger, index->slots[i]);
	}
	free(index->slots);
	*index = bigger;
	return 0;
}

int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t entry)
{
	if ((index->n + 1) * 4 > index->n_slots * 3) {
		int r = grow(index);
		if (r < 0)
			return r;
	}
	put_slot(index, make_slot(hash, entry));
	index->n++;
	return 0;
}

/* Closes the gap at i: each later slot of the run moves back if that brings it nearer to its home. */
static void close_gap(struct hash_index *index, size_t gap)
{
	size_t mask = index->n_slots - 1;
	for (size_t i = (gap + 1) & mask; index->slots[i]; i = (i + 1) & mask) {
		size_t home = home_of(index, index->slots[i]);
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			index->slots[gap] = index->slots[i];
			gap = i;
		}
	}
	index->slots[gap] = 0;
}

bool hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t entry)
{
	if (!index->n_slots)
		return false;
	size_t mask = index->n_slots - 1;
	uint64_t slot = make_slot(hash, entry);
	for (size_t i = home_of(index, slot); index->slots[i]; i = (i + 1) & mask) {
		if (index->slots[i] != slot)
			continue;
		close_gap(index, i);
		index->n--;
		return true;
	}
	return false;
}
