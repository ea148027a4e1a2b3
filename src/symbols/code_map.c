/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/code_map.h"

#include "base/cleanup.h"

static int add(struct code_map *map, uint64_t start, uint64_t size)
{
	struct code_range range = {start, 0};
	if (__builtin_add_overflow(start, size, &range.end))
		range.end = UINT64_MAX;
	return size ? vec_push(&map->ranges, range) : 0;
}

static int add_sections(struct code_map *map, struct elf *elf)
{
	int r = elf_load_sections(elf, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	vec_foreach(s, &elf->sections) {
		if (s->flags & SHF_ALLOC && s->flags & SHF_EXECINSTR && r == 0)
			r = add(map, elf->type == ET_REL ? s->offset : s->address, s->size);
	}
	return r;
}

static int add_segments(struct code_map *map, const struct elf *elf)
{
	int r = 0;
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_LOAD && h->flags & PF_X && r == 0)
			r = add(map, h->vaddr, h->file_size);
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static void join(struct code_map *map)
{
	size_t n = 0;
	vec_foreach(range, &map->ranges) {
		struct code_range *last = &map->ranges.items[n ? n - 1 : 0];
		if (n && range->start <= last->end)
			last->end = MAX(last->end, range->end);
		else
			map->ranges.items[n++] = *range;
	}
	map->ranges.n = n;
}

int code_map_init(struct code_map *map, struct elf *elf)
{
	*map = (struct code_map){};
	int r = add_sections(map, elf);
	if (r == 0 && !map->ranges.n)
		r = add_segments(map, elf);
	if (r < 0) {
		code_map_deinit(map);
		return r;
	}
	if (map->ranges.n)
		qsort(map->ranges.items, map->ranges.n, sizeof *map->ranges.items, compare);
	join(map);
	return 0;
}

void code_map_deinit(struct code_map *map)
{
	vec_deinit(&map->ranges);
}

int code_map_find(const struct code_map *map, uint64_t address, uint64_t *ret_end)
{
	size_t low = 0, high = map->ranges.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->ranges.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == map->ranges.n || map->ranges.items[low].start > address)
		return 0;
	*ret_end = map->ranges.items[low].end;
	return 1;
}
