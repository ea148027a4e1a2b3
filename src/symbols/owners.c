/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/owners.h"

#include "base/cleanup.h"

void owners_deinit(struct owners *owners)
{
	vec_deinit(&owners->ranges);
	vec_deinit(&owners->pieces);
	vec_deinit(&owners->order);
	vec_deinit(&owners->open);
}

/* ---- the heap: the highest rank is first ----------------------------------------------------- */

static void swap(struct owner_range *a, struct owner_range *b)
{
	struct owner_range other = *a;
	*a = *b;
	*b = other;
}

static int push(struct owners *o, const struct owner_range *range)
{
	int r = vec_push(&o->open, *range);
	if (r < 0)
		return r;
	struct owner_range *heap = o->open.items;
	for (size_t i = o->open.n - 1; i && heap[(i - 1) / 2].rank < heap[i].rank; i = (i - 1) / 2)
		swap(&heap[i], &heap[(i - 1) / 2]);
	return 0;
}

static void pop(struct owners *o)
{
	struct owner_range *heap = o->open.items;
	size_t n = --o->open.n;
	heap[0] = heap[n];
	for (size_t i = 0;;) {
		size_t child = 2 * i + 1;
		if (child >= n)
			break;
		if (child + 1 < n && heap[child + 1].rank > heap[child].rank)
			child++;
		if (heap[child].rank <= heap[i].rank)
			break;
		swap(&heap[i], &heap[child]);
		i = child;
	}
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static int emit(struct owners *o, uint64_t start, uint64_t end, uint32_t owner)
{
	if (o->pieces.n) {
		struct owned_piece *last = &o->pieces.items[o->pieces.n - 1];
		if (last->owner == owner && last->end == start) {
			last->end = end;
			return 0;
		}
	}
	return vec_push(&o->pieces, (struct owned_piece){start, end, owner});
}

static int sort_ranges(struct owners *o)
{
	o->order.n = 0;
	int r = vec_reserve(&o->order, o->ranges.n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < o->ranges.n; i++)
		o->order.items[i] = (struct sort_item){o->ranges.items[i].start, i};
	o->order.n = o->ranges.n;
	return sort_items(o->order.items, o->order.n);
}

/* Gives the addresses from `at` up to limit to those that are open. */
static int advance(struct owners *o, uint64_t at, uint64_t limit)
{
	while (o->open.n && at < limit) {
		const struct owner_range *top = o->open.items;
		if (top->end <= at) {
			pop(o);
			continue;
		}
		uint64_t end = MIN(top->end, limit);
		int r = emit(o, at, end, top->owner);
		if (r < 0)
			return r;
		at = end;
	}
	return 0;
}

int owners_decide(struct owners *o)
{
	o->pieces.n = o->open.n = 0;
	int r = sort_ranges(o);
	uint64_t at = 0;
	for (size_t i = 0; i < o->order.n && r == 0; i++) {
		const struct owner_range *range = &o->ranges.items[o->order.items[i].value];
		r = advance(o, at, range->start);
		at = range->start;
		if (r == 0)
			r = push(o, range);
	}
	return r < 0 ? r : advance(o, at, UINT64_MAX);
}

size_t owners_from(const struct owners *owners, uint64_t address)
{
	size_t low = 0, high = owners->pieces.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (owners->pieces.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
