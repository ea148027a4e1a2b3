/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From ranges that overlap as they like to disjoint ones: each address belongs to the range of the
 * highest rank that covers it. A sweep over the starts in ascending order with a heap of the ranges
 * that are open; n ranges give less than 2n pieces.
 *
 * It decides between inlined calls (a call that was told later is inside the earlier one, or the
 * better answer) and between functions.
 */
#ifndef SYMBOLS_OWNERS_H
#define SYMBOLS_OWNERS_H

#include "base/sort.h"
#include "base/vec.h"

struct owner_range {
	uint64_t start;
	uint64_t end;
	uint64_t rank;
	uint32_t owner;
};

struct owned_piece {
	uint64_t start;
	uint64_t end;
	uint32_t owner;
};

/* A zeroed struct is valid. It may be used again and keeps its memory. */
struct owners {
	VEC(struct owner_range) ranges; /* filled by the caller, not empty each */
	VEC(struct owned_piece) pieces; /* ascending */
	VEC(struct sort_item) order;
	VEC(struct owner_range) open; /* a heap */
};

void owners_deinit(struct owners *owners);
/* Fills the pieces from the ranges. Pieces of one owner that touch are one. 0 or -ENOMEM. */
int owners_decide(struct owners *owners);
/* The first piece that ends behind an address: its number, or pieces.n. */
size_t owners_from(const struct owners *owners, uint64_t address);

#endif
