/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where in a file code can be: its executable sections, or, if it has none, its executable
 * segments. In a relocatable object their addresses are their offsets in the file.
 */
#ifndef SYMBOLS_CODE_MAP_H
#define SYMBOLS_CODE_MAP_H

#include "elf/elf.h"

struct code_range {
	uint64_t start;
	uint64_t end;
};

struct code_map {
	VEC(struct code_range) ranges; /* disjoint, ascending; those that touch are one */
};

/* 0 or -ENOMEM. Releases what it has on failure. */
int code_map_init(struct code_map *map, struct elf *elf);
void code_map_deinit(struct code_map *map);
/* 1 and where the code ends that the address is in, or 0: there is none. */
int code_map_find(const struct code_map *map, uint64_t address, uint64_t *ret_end);

#endif
