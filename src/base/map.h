/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A map from 64-bit keys to 32-bit numbers that only grows: open addressing, at most half full. Key
 * 0 is kept beside the places, since 0 marks an empty one.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_place {
	uint64_t key;
	uint32_t value;
};

struct map {
	struct map_place *places;
	size_t n_places; /* a power of two, or 0 */
	unsigned shift;  /* 64 - its logarithm */
	size_t n;
	uint32_t of_zero; /* the value of key 0, + 1; 0: it has none */
};

/* A zeroed struct is a valid empty map. */
void map_deinit(struct map *map);
/* The value, or MAP_NONE. */
uint32_t map_find(const struct map *map, uint64_t key);
/* Adds a key that is not there. The value is not MAP_NONE. Returns 0 or -ENOMEM. */
int map_add(struct map *map, uint64_t key, uint32_t value);

#endif
