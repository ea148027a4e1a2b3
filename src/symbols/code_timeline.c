/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/code_timeline.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

#define PAGE_BITS    12
#define NARROW_PAGES 64 /* an entry of more pages is wide */
#define NO_LINK	     UINT32_MAX
#define NO_ENTRY     UINT32_MAX

/* Entries that came between the same two looks. */
struct batch {
	uint64_t after;
	uint64_t by;
};

struct entry {
	uint64_t start;
	uint64_t end;
	uint32_t name;
	uint32_t batch;
};

/* The entries of a page, the latest first. */
struct page {
	uint64_t number;
	uint32_t first; /* link */
};

struct link {
	uint32_t entry;
	uint32_t next;
};

struct code_generation {
	uint32_t number;
	uint64_t after; /* when it took its place */
	uint64_t by;
	VEC(struct entry) entries;
	VEC(struct batch) batches;
	VEC(struct page) pages;
	VEC(struct link) links;
	VEC(uint32_t) wide; /* entries */
	struct hash_index page_index;
	struct buffer names;
};

static void generation_free(struct code_generation *g)
{
	vec_deinit(&g->entries);
	vec_deinit(&g->batches);
	vec_deinit(&g->pages);
	vec_deinit(&g->links);
	vec_deinit(&g->wide);
	hash_index_deinit(&g->page_index);
	buffer_deinit(&g->names);
	free(g);
}

void code_timeline_deinit(struct code_timeline *t)
{
	vec_foreach(g, &t->generations)
		generation_free(*g);
	vec_deinit(&t->generations);
}

void code_timeline_extend(struct code_timeline *t, uint64_t known_until)
{
	t->known_until = MAX(t->known_until, known_until);
}

/* ---- growing --------------------------------------------------------------------------------- */

static bool page_equal(const void *context, uint32_t number, const void *key)
{
	const struct code_generation *g = context;
	return g->pages.items[number].number == *(const uint64_t *)key;
}

static uint32_t find_page(const struct code_generation *g, uint64_t number)
{
	return hash_index_find(&g->page_index, hash_u64(number), page_equal, g, &number);
}

static int add_to_page(struct code_generation *g, uint64_t number, uint32_t entry)
{
	uint32_t page = find_page(g, number);
	if (page == HASH_INDEX_NONE) {
		page = (uint32_t)g->pages.n;
		int r = vec_push(&g->pages, (struct page){number, NO_LINK});
		if (r == 0)
			r = hash_index_add(&g->page_index, hash_u64(number), page);
		if (r < 0)
			return r;
	}
	int r = vec_push(&g->links, (struct link){entry, g->pages.items[page].first});
	if (r == 0)
		g->pages.items[page].first = (uint32_t)g->links.n - 1;
	return r;
}

static bool is_wide(const struct perf_map_entry *entry)
{
	return ((entry->end - 1) >> PAGE_BITS) - (entry->start >> PAGE_BITS) >= NARROW_PAGES;
}

static int add_entry(struct code_generation *g, const struct perf_map_entry *new, uint32_t name)
{
	uint32_t number = (uint32_t)g->entries.n;
	struct entry entry = {new->start, new->end, name + new->name, (uint32_t)g->batches.n - 1};
	int r = vec_push(&g->entries, entry);
	if (r == 0 && is_wide(new))
		return vec_push(&g->wide, number);
	uint64_t last = (new->end - 1) >> PAGE_BITS;
	for (uint64_t page = new->start >> PAGE_BITS; r == 0 && page <= last; page++)
		r = add_to_page(g, page, number);
	return r;
}

int code_timeline_replace(struct code_timeline *t, uint64_t after, uint64_t by)
{
	struct code_generation *g = calloc(1, sizeof *g);
	if (!g)
		return -ENOMEM;
	g->number = t->next_generation++;
	g->after = after;
	g->by = by;
	int r = vec_push(&t->generations, g);
	if (r < 0)
		generation_free(g);
	return r;
}

static bool has_room(const struct code_timeline *t, const struct code_generation *g,
		     const struct perf_map *map)
{
	size_t n_wide = g->wide.n;
	vec_foreach(entry, &map->entries)
		n_wide += is_wide(entry);
	return n_wide <= CODE_TIMELINE_WIDE_MAX &&
	       t->n_entries + map->entries.n <= CODE_TIMELINE_ENTRIES_MAX &&
	       t->n_bytes + map->names.n <= CODE_TIMELINE_NAMES_MAX;
}

int code_timeline_append(struct code_timeline *t, const struct perf_map *map, uint64_t after,
			 uint64_t by)
{
	int r = t->generations.n ? 0 : code_timeline_replace(t, after, by);
	if (r < 0 || !map->entries.n)
		return r;
	struct code_generation *g = t->generations.items[t->generations.n - 1];
	if (!has_room(t, g, map))
		return -E2BIG;
	uint32_t names = (uint32_t)g->names.n;
	buffer_bytes(&g->names, map->names.data, map->names.n);
	r = g->names.failed ? -ENOMEM : vec_push(&g->batches, (struct batch){after, by});
	for (size_t i = 0; r == 0 && i < map->entries.n; i++)
		r = add_entry(g, &map->entries.items[i], names);
	t->n_entries += map->entries.n;
	t->n_bytes += map->names.n;
	return r;
}

uint32_t code_timeline_oldest(const struct code_timeline *t)
{
	return t->generations.items[0]->number;
}

void code_timeline_forget(struct code_timeline *t, uint64_t before)
{
	size_t n = 0;
	while (n + 1 < t->generations.n && t->generations.items[n + 1]->by < before) {
		struct code_generation *g = t->generations.items[n++];
		t->n_entries -= g->entries.n;
		t->n_bytes -= g->names.n;
		generation_free(g);
	}
	t->generations.n -= n;
	memmove(t->generations.items, t->generations.items + n,
		t->generations.n * sizeof t->generations.items[0]);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Goes through the entries that may cover an address, the latest first. */
struct walk {
	const struct code_generation *g;
	uint64_t address;
	uint32_t link;
	size_t wide;
};

static struct walk walk_begin(const struct code_generation *g, uint64_t address)
{
	uint32_t page = find_page(g, address >> PAGE_BITS);
	return (struct walk){g, address,
			     page == HASH_INDEX_NONE ? NO_LINK : g->pages.items[page].first,
			     g->wide.n};
}

static uint32_t walk_step(struct walk *w)
{
	uint32_t narrow = w->link == NO_LINK ? NO_ENTRY : w->g->links.items[w->link].entry;
	uint32_t wide = w->wide ? w->g->wide.items[w->wide - 1] : NO_ENTRY;
	if (wide == NO_ENTRY || (narrow != NO_ENTRY && narrow > wide)) {
		if (narrow != NO_ENTRY)
			w->link = w->g->links.items[w->link].next;
		return narrow;
	}
	w->wide--;
	return wide;
}

/* The next one that covers it; NO_ENTRY behind the last. */
static uint32_t walk_next(struct walk *w)
{
	uint32_t number;
	while ((number = walk_step(w)) != NO_ENTRY) {
		const struct entry *entry = &w->g->entries.items[number];
		if (w->address >= entry->start && w->address < entry->end)
			break;
	}
	return number;
}

/* What the name of an address may have been. */
struct possible {
	bool none;
	bool one; /* the span */
	bool more;
	struct code_span span;
};

static void add_possible(struct possible *p, const struct code_generation *g, uint32_t number)
{
	const struct entry *entry = &g->entries.items[number];
	struct code_span span = {
		.start = entry->start,
		.end = entry->end,
		.name = (const char *)g->names.data + entry->name,
		.generation = g->number,
		.entry = number,
		.by = g->batches.items[entry->batch].by,
	};
	if (!p->one) {
		p->span = span;
		p->one = true;
	} else if (p->span.start != span.start || p->span.end != span.end ||
		   strcmp(p->span.name, span.name) != 0) {
		p->more = true;
	}
}

static void look_in(const struct code_generation *g, uint64_t address, uint64_t time,
		    struct possible *p)
{
	struct walk w = walk_begin(g, address);
	uint32_t number;
	while ((number = walk_next(&w)) != NO_ENTRY) {
		const struct batch *batch = &g->batches.items[g->entries.items[number].batch];
		if (time <= batch->after)
			continue;
		add_possible(p, g, number);
		if (time >= batch->by)
			return;
	}
	p->none = true;
}

enum code_answer code_timeline_find(const struct code_timeline *t, uint64_t address, uint64_t time,
				    struct code_span *ret)
{
	struct possible p = {};
	if (time > t->known_until)
		return CODE_LATER;
	size_t n = t->generations.n;
	struct code_generation *const *g = t->generations.items;
	p.none = n == 0 || time < g[0]->by;
	for (size_t i = 0; i < n; i++) {
		bool has_come = time > g[i]->after;
		bool has_gone = i + 1 < n && time >= g[i + 1]->by;
		if (has_come && !has_gone)
			look_in(g[i], address, time, &p);
	}
	*ret = p.span;
	if (p.more)
		return CODE_UNSURE;
	if (!p.one)
		return CODE_NAMELESS;
	return p.none ? CODE_MAYBE : CODE_NAMED;
}

/* The first entry behind `own` in a chain that takes some of its place, if it is before `first`. */
static uint32_t first_over(const struct code_generation *g, uint32_t own, uint32_t number,
			   uint32_t first)
{
	const struct entry *a = &g->entries.items[own], *b = &g->entries.items[number];
	return number < first && a->start < b->end && b->start < a->end ? number : first;
}

static uint32_t first_over_narrow(const struct code_generation *g, uint32_t own)
{
	const struct entry *entry = &g->entries.items[own];
	uint64_t last = (entry->end - 1) >> PAGE_BITS;
	uint32_t first = NO_ENTRY;
	for (uint64_t number = entry->start >> PAGE_BITS; number <= last; number++) {
		uint32_t page = find_page(g, number);
		uint32_t link = page == HASH_INDEX_NONE ? NO_LINK : g->pages.items[page].first;
		for (; link != NO_LINK && g->links.items[link].entry > own;
		     link = g->links.items[link].next)
			first = first_over(g, own, g->links.items[link].entry, first);
	}
	for (size_t i = g->wide.n; i-- > 0 && g->wide.items[i] > own;)
		first = first_over(g, own, g->wide.items[i], first);
	return first;
}

static uint32_t first_over_wide(const struct code_generation *g, uint32_t own)
{
	uint32_t number = own + 1;
	while (number < g->entries.n && first_over(g, own, number, NO_ENTRY) == NO_ENTRY)
		number++;
	return number < g->entries.n ? number : NO_ENTRY;
}

static uint64_t until_in(const struct code_generation *g, uint32_t own, uint64_t end)
{
	const struct entry *entry = &g->entries.items[own];
	struct perf_map_entry as_new = {.start = entry->start, .end = entry->end};
	uint32_t over = is_wide(&as_new) ? first_over_wide(g, own) : first_over_narrow(g, own);
	return over == NO_ENTRY ? end : g->batches.items[g->entries.items[over].batch].after;
}

uint64_t code_timeline_until(const struct code_timeline *t, const struct code_span *span)
{
	for (size_t i = 0; i < t->generations.n; i++) {
		const struct code_generation *g = t->generations.items[i];
		uint64_t end = i + 1 < t->generations.n ? t->generations.items[i + 1]->after
							: t->known_until;
		if (g->number == span->generation)
			return until_in(g, span->entry, end);
	}
	return 0;
}
