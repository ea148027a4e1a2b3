/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

void map_deinit(struct map *map)
{
	free(map->keys);
	free(map->values);
	*map = (struct map){};
}

static size_t place_of(const struct map *map, uint64_t key)
{
	size_t mask = map->n_places - 1;
	size_t i = hash_u64(key) & mask;
	while (map->keys[i] && map->keys[i] != key)
		i = (i + 1) & mask;
	return i;
}

uint32_t map_find(const struct map *map, uint64_t key)
{
	if (!key)
		return map->of_zero - 1;
	if (!map->n_places)
		return MAP_NONE;
	size_t i = place_of(map, key);
	return map->keys[i] ? map->values[i] : MAP_NONE;
}

static int grow(struct map *map)
{
	size_t n = map->n_places ? map->n_places * 2 : 64;
	struct map bigger = {.keys = calloc(n, sizeof *bigger.keys),
			     .values = malloc(n * sizeof *bigger.values),
			     .n_places = n,
			     .n = map->n,
			     .of_zero = map->of_zero};
	if (!bigger.keys || !bigger.values) {
		map_deinit(&bigger);
		return -ENOMEM;
	}
	for (size_t i = 0; i < map->n_places; i++) {
		if (!map->keys[i])
			continue;
		size_t place = place_of(&bigger, map->keys[i]);
		bigger.keys[place] = map->keys[i];
		bigger.values[place] = map->values[i];
	}
	map_deinit(map);
	*map = bigger;
	return 0;
}

int map_add(struct map *map, uint64_t key, uint32_t value)
{
	if (!key) {
		map->of_zero = value + 1;
		return 0;
	}
	if ((map->n + 1) * 2 > map->n_places) {
		int r = grow(map);
		if (r < 0)
			return r;
	}
	size_t i = place_of(map, key);
	map->keys[i] = key;
	map->values[i] = value;
	map->n++;
	return 0;
}
