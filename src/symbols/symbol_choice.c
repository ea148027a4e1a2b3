/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From symbols that overlap as they like to disjoint pieces with one name each: a sweep over the
 * starts in ascending order, with a stack of the symbols that are open at the current address. The
 * topmost has the name. Each symbol is pushed and popped once, so n symbols give less than 2n pieces,
 * however they are nested.
 *
 *	outer  [=======================)         stack: outer
 *	inner          [=======)                 stack: outer inner
 *	pieces [ outer )[ inner )[ outer )       the last one knows that it starts with the first
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sort.h"
#include "symbols/symbol_list.h"
#include "symbols/symbol_rank.h"

/* A piece's size has 32 bits in GSYM. */
#define PIECE_MAX UINT32_MAX

struct sweep {
	const struct symbol_list *list;
	VEC(struct symbol) open;  /* the stack */
	VEC(struct symbol) group; /* symbols that start together */
	function_list *pieces;
	uint64_t at; /* up to here all is decided */
};

/* A long function is cut at PIECE_MAX: only a hostile file has one. */
static int emit(struct sweep *sweep, const struct symbol *symbol, uint64_t end)
{
	uint64_t start = sweep->at;
	function_list *pieces = sweep->pieces;
	if (pieces->n) {
		struct gsym_function *last = &pieces->items[pieces->n - 1];
		if (last->name == symbol->name && last->end == start &&
		    last->function_start == symbol->start && end - last->start <= PIECE_MAX) {
			last->end = end;
			return 0;
		}
	}
	if (end - start > PIECE_MAX)
		end = start + PIECE_MAX;
	return vec_push(pieces, (struct gsym_function){.start = start,
						       .end = end,
						       .function_start = symbol->start,
						       .name = symbol->name});
}

static void drop_ended(struct sweep *sweep)
{
	while (sweep->open.n && sweep->open.items[sweep->open.n - 1].end <= sweep->at)
		sweep->open.n--;
}

/* Gives all addresses below limit to the symbols that are open. */
static int advance(struct sweep *sweep, uint64_t limit)
{
	for (drop_ended(sweep); sweep->open.n && sweep->at < limit; drop_ended(sweep)) {
		const struct symbol *top = &sweep->open.items[sweep->open.n - 1];
		uint64_t end = MIN(top->end, limit);
		int r = emit(sweep, top, end);
		if (r < 0)
			return r;
		sweep->at = end;
	}
	sweep->at = limit;
	return 0;
}

/* The better name comes last, where the stack has its top. */
static int compare_worst_first(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	if (x->has_size != y->has_size)
		return x->has_size ? 1 : -1;
	if (x->end != y->end)
		return x->end < y->end ? 1 : -1;
	return symbol_name_compare(y->name, x->name);
}

/*
 * Ends of the symbols without size: that of their namesake with a size, or the next symbol, but not
 * further than the function they are in.
 */
static void settle_ends(struct sweep *sweep, uint64_t next)
{
	uint64_t sized_end = 0;
	vec_foreach(s, &sweep->group) {
		if (s->has_size)
			sized_end = MAX(sized_end, s->end);
	}
	uint64_t reach = next;
	if (sized_end)
		reach = sized_end;
	else if (sweep->open.n)
		reach = MIN(reach, sweep->open.items[sweep->open.n - 1].end);
	vec_foreach(s, &sweep->group) {
		if (!s->has_size)
			s->end = MIN(s->end, reach);
	}
}

/* Labels without type and size inside a function are places in it. */
static bool is_only_labels(const struct sweep *sweep)
{
	if (!sweep->open.n || sweep->open.items[sweep->open.n - 1].rank >= SYMBOL_RANK_LABEL)
		return false;
	vec_foreach(s, &sweep->group) {
		if (s->has_size || s->rank < SYMBOL_RANK_LABEL)
			return false;
	}
	return true;
}

static int push_group(struct sweep *sweep, uint64_t next)
{
	drop_ended(sweep);
	if (is_only_labels(sweep))
		return 0;
	settle_ends(sweep, next);
	if (sweep->group.n > 1)
		qsort(sweep->group.items, sweep->group.n, sizeof *sweep->group.items,
		      compare_worst_first);
	vec_foreach(s, &sweep->group) {
		int r = vec_push(&sweep->open, *s);
		if (r < 0)
			return r;
	}
	return 0;
}

static int run(struct sweep *sweep, const struct sort_item *order, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint64_t start = order[i].key;
		sweep->group.n = 0;
		int r = advance(sweep, start);
		for (; i < n && order[i].key == start && r == 0; i++)
			r = vec_push(&sweep->group, sweep->list->symbols.items[order[i].value]);
		if (r == 0)
			r = push_group(sweep, i < n ? order[i].key : UINT64_MAX);
		if (r < 0)
			return r;
	}
	return advance(sweep, UINT64_MAX);
}

int symbol_list_choose(const struct symbol_list *list, function_list *ret, struct mw_error *e)
{
	size_t n = list->symbols.n;
	_cleanup_free_ struct sort_item *order = malloc((n + 1) * sizeof *order);
	int r = order ? vec_reserve(ret, n) : -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++)
		order[i] = (struct sort_item){list->symbols.items[i].start, i};
	if (r == 0)
		r = sort_items(order, n);
	struct sweep sweep = {.list = list, .pieces = ret};
	if (r == 0)
		r = run(&sweep, order, n);
	vec_deinit(&sweep.open);
	vec_deinit(&sweep.group);
	return r < 0 ? error_set(e, r, "out of memory for %zu symbols", n) : 0;
}
