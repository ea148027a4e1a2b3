/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SHIFT 58 /* 64 places */

void map_deinit(struct map *map)
{
	free(map->places);
	*map = (struct map){};
}

/* Where a key is, or would be. The upper bits of the product depend on all bits of the key. */
static struct map_place *place_of(const struct map *map, uint64_t key)
{
	size_t mask = map->n_places - 1;
	size_t i = (size_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> map->shift);
	while (map->places[i].key && map->places[i].key != key)
		i = (i + 1) & mask;
	return &map->places[i];
}

uint32_t map_find(const struct map *map, uint64_t key)
{
	if (!key)
		return map->of_zero - 1;
	if (!map->n_places)
		return MAP_NONE;
	const struct map_place *place = place_of(map, key);
	return place->key ? place->value : MAP_NONE;
}

static int grow(struct map *map)
{
	struct map bigger = {.shift = map->n_places ? map->shift - 1 : FIRST_SHIFT,
			     .n = map->n,
			     .of_zero = map->of_zero};
	bigger.n_places = (size_t)1 << (64 - bigger.shift);
	bigger.places = calloc(bigger.n_places, sizeof *bigger.places);
	if (!bigger.places)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_places; i++) {
		if (map->places[i].key)
			*place_of(&bigger, map->places[i].key) = map->places[i];
	}
	free(map->places);
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
	*place_of(map, key) = (struct map_place){key, value};
	map->n++;
	return 0;
}
