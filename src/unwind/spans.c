/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/spans.h"

#include "base/cleanup.h"
#include "base/sort.h"

static int sort_spans(span_list *list)
{
	size_t i = 1;
	while (i < list->n && list->items[i - 1].begin <= list->items[i].begin)
		i++;
	if (i >= list->n)
		return 0;
	_cleanup_free_ struct sort_item *order = calloc(list->n, sizeof *order);
	_cleanup_free_ struct span *sorted = malloc(list->n * sizeof *sorted);
	if (!order || !sorted)
		return -ENOMEM;
	for (i = 0; i < list->n; i++)
		order[i] = (struct sort_item){.key = list->items[i].begin, .value = i};
	if (sort_items(order, list->n) < 0)
		return -ENOMEM;
	for (i = 0; i < list->n; i++)
		sorted[i] = list->items[order[i].value];
	free(list->items);
	list->capacity = list->n;
	list->items = take_ptr(sorted);
	return 0;
}

/* Of a sorted list: what begins together becomes the first, and nothing reaches into the next. */
static void separate(span_list *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct span *last = n ? &list->items[n - 1] : NULL;
		if (last && last->begin == list->items[i].begin)
			continue;
		if (last)
			last->end = MIN(last->end, list->items[i].begin);
		list->items[n++] = list->items[i];
	}
	list->n = n;
}

/* Adds the part of a span from `begin` to `end`, if there is one. */
static int push_part(span_list *out, const struct span *span, uint64_t begin, uint64_t end)
{
	begin = MAX(begin, span->begin);
	end = MIN(end, span->end);
	if (begin >= end)
		return 0;
	struct span part = *span;
	part.begin = begin;
	part.end = end;
	part.address += begin - span->begin;
	return vec_push(out, part);
}

static int merge(const span_list *first, const span_list *second, span_list *out)
{
	size_t j = 0;
	uint64_t free_from = 0;
	int r = 0;
	for (size_t i = 0; i <= first->n && r == 0; i++) {
		const struct span *taken = i < first->n ? &first->items[i] : NULL;
		uint64_t free_to = taken ? taken->begin : UINT64_MAX;
		/* One that reaches over what is taken goes on behind it. */
		for (; j < second->n && second->items[j].begin < free_to && r == 0; j++) {
			r = push_part(out, &second->items[j], free_from, free_to);
			if (second->items[j].end > free_to)
				break;
		}
		if (taken && r == 0)
			r = vec_push(out, *taken);
		free_from = taken ? taken->end : free_to;
	}
	return r;
}

int spans_add(span_list *all, span_list *more)
{
	int r = sort_spans(more);
	if (r < 0 || !more->n) {
		vec_deinit(more);
		return r;
	}
	separate(more);
	span_list out = {};
	r = merge(all, more, &out);
	vec_deinit(more);
	vec_deinit(all);
	*all = out;
	return r;
}
