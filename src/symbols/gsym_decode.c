/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym_decode.h"

#include "base/cleanup.h"
#include "base/cursor.h"

#include <stdbool.h>
#include <string.h>

/* Kinds of optional data, and the opcodes of line programs (llvm/DebugInfo/GSYM/LineTable.cpp). */
enum info_type { INFO_END = 0, INFO_LINES = 1, INFO_INLINES = 2 };
enum opcode { END_SEQUENCE = 0, SET_FILE = 1, ADVANCE_PC = 2, ADVANCE_LINE = 3, FIRST_SPECIAL = 4 };

/* Bytes of a line program that are run at most: one look-up may have to go through what is no row. */
#define PROGRAM_MAX (4 * GSYM_WORK_MAX)

void gsym_decoded_deinit(struct gsym_decoded *d)
{
	vec_deinit(&d->marks);
	vec_deinit(&d->spans);
	vec_deinit(&d->calls);
}

/* Nearly all numbers here are of one byte; the rest takes the longer way. */
static inline uint64_t next_uleb(struct cursor *c)
{
	return c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_uleb(c);
}

static inline uint8_t next_byte(struct cursor *c)
{
	return c->at < c->end ? *c->at++ : cursor_u8(c);
}

/* ---- line rows ------------------------------------------------------------------------------- */

/* Runs opcodes up to and with the next row: 1, or 0 at the end. The row before is in *row. */
static inline int next_row(const struct gsym_decoded *d, struct cursor *c, struct gsym_row *row)
{
	for (;;) {
		uint8_t opcode = next_byte(c);
		uint64_t step;
		switch (opcode) {
		case END_SEQUENCE: /* what a failed read gives, too */
			return 0;
		case SET_FILE:
			row->file = (uint32_t)next_uleb(c);
			break;
		case ADVANCE_LINE:
			row->line += (uint32_t)cursor_sleb(c);
			break;
		case ADVANCE_PC:
			step = next_uleb(c);
			row->address += step;
			return cursor_ok(c) && step <= UINT32_MAX;
		default:
			opcode -= FIRST_SPECIAL;
			row->line += (uint32_t)d->least_step + opcode % d->step_range;
			row->address += opcode / d->step_range;
			return 1;
		}
	}
}

static int decode_lines(struct gsym_decoded *d, struct cursor c)
{
	int64_t least = cursor_sleb(&c), most = cursor_sleb(&c);
	struct gsym_row row = {.address = 0, .file = 1, .line = (uint32_t)cursor_uleb(&c)};
	if (!cursor_ok(&c) || least < INT32_MIN || most > INT32_MAX || most < least)
		return 0;
	d->least_step = (int32_t)least;
	d->step_range = (uint32_t)(most - least + 1);
	if (!d->step_range)
		return 0;
	c.start = c.at;
	d->program = c.at;
	d->program_size = (uint32_t)MIN(cursor_left(&c), PROGRAM_MAX);
	for (uint32_t n = 0; n < GSYM_WORK_MAX; n++) {
		if (n % GSYM_MARK_ROWS == 0) {
			struct gsym_mark mark = {(uint32_t)row.address, row.file, row.line,
						 (uint32_t)cursor_offset(&c)};
			int r = vec_push(&d->marks, mark);
			if (r < 0)
				return r;
		}
		if (!next_row(d, &c, &row) || row.address > UINT32_MAX)
			break;
	}
	return 0;
}

/* The last mark before any row behind the address. */
static const struct gsym_mark *find_mark(const struct gsym_decoded *d, uint32_t offset)
{
	size_t low = 0, high = d->marks.n;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (d->marks.items[middle].address < offset)
			low = middle;
		else
			high = middle;
	}
	return &d->marks.items[low];
}

int gsym_decoded_row(const struct gsym_decoded *d, uint64_t address, struct gsym_row *ret)
{
	uint64_t offset = address - d->start;
	if (!d->marks.n || offset > UINT32_MAX)
		return 0;
	const struct gsym_mark *mark = find_mark(d, (uint32_t)offset);
	struct cursor c = cursor_init(d->program, d->program_size, false);
	cursor_seek(&c, mark->at);
	struct gsym_row row = {mark->address, mark->file, mark->line}, found = row;
	bool any = mark != d->marks.items;
	/* Of several rows at exactly this address it is the first, as for llvm-gsymutil. */
	while (next_row(d, &c, &row) && row.address <= offset) {
		found = row;
		any = true;
		if (row.address == offset)
			break;
	}
	if (!any)
		return 0;
	*ret = (struct gsym_row){d->start + found.address, found.file, found.line};
	return 1;
}

/* ---- inlined calls --------------------------------------------------------------------------- */

/* A range of a call before the spans are made of it. */
struct range {
	uint64_t start; /* absolute */
	uint64_t end;
};

struct tree_walk {
	struct gsym_decoded *d;
	uint32_t function_size;
	uint32_t work;
	VEC(struct range) ranges; /* of the call that was read last */
	/* What encloses the place in the tree. */
	struct {
		uint64_t base; /* what the ranges of its callees are relative to */
		uint32_t call;
	} levels[GSYM_DEPTH_MAX];
	uint32_t depth;
	/* Spans as they come: later ones lie inside earlier ones. */
	VEC(struct raw_span {
		uint32_t start;
		uint32_t end;
		uint32_t call;
	}) raw;
};

static int read_ranges(struct tree_walk *w, struct cursor *c, uint64_t base)
{
	w->ranges.n = 0;
	uint64_t n = next_uleb(c);
	for (; n && cursor_ok(c); n--) {
		uint64_t start = base + next_uleb(c);
		uint64_t end = start + next_uleb(c);
		if (++w->work > GSYM_WORK_MAX)
			return -E2BIG;
		int r = vec_push(&w->ranges, (struct range){start, end});
		if (r < 0)
			return r;
	}
	return cursor_ok(c) ? (int)(w->ranges.n > 0) : -EBADMSG;
}

/* Cuts the ranges to the function, which alone can be asked for. */
static int add_spans(struct tree_walk *w, uint32_t call)
{
	vec_foreach(range, &w->ranges) {
		uint64_t start = MAX(range->start, w->d->start) - w->d->start;
		uint64_t end = range->end < w->d->start ? 0 : range->end - w->d->start;
		end = MIN(end, w->function_size);
		if (range->end < range->start || start >= end)
			continue;
		int r = vec_push(&w->raw, (struct raw_span){(uint32_t)start, (uint32_t)end, call});
		if (r < 0)
			return r;
	}
	return 0;
}

/* One call and, where it has callees, the level they are on. 1; 0: the end of a level. */
static int read_call(struct tree_walk *w, struct cursor *c, bool is_root)
{
	uint64_t base = is_root ? w->d->start : w->levels[w->depth - 1].base;
	uint32_t caller = is_root ? GSYM_NO_CALL : w->levels[w->depth - 1].call;
	int r = read_ranges(w, c, base);
	if (r <= 0)
		return r;
	uint64_t first = w->ranges.items[0].start;
	bool has_callees = next_byte(c);
	struct gsym_call call = {.name = cursor_u32(c), .caller = caller};
	call.file = (uint32_t)next_uleb(c);
	call.line = (uint32_t)next_uleb(c);
	if (!cursor_ok(c))
		return -EBADMSG;
	uint32_t number = GSYM_NO_CALL;
	if (!is_root) {
		number = (uint32_t)w->d->calls.n;
		r = vec_push(&w->d->calls, call);
		if (r == 0)
			r = add_spans(w, number);
		if (r < 0)
			return r;
	}
	if (has_callees) {
		if (w->depth == GSYM_DEPTH_MAX)
			return -E2BIG;
		w->levels[w->depth].base = first;
		w->levels[w->depth].call = number;
		w->depth++;
	}
	return 1;
}

/*
 * What was read before the damage stays: a call is told by its own data and those of its callers, which
 * come before it.
 */
static int walk_tree(struct tree_walk *w, struct cursor *c)
{
	int r = read_call(w, c, true);
	while (r >= 0 && w->depth) {
		r = read_call(w, c, false);
		if (r == 0)
			w->depth--;
	}
	return r == -ENOMEM ? r : 0;
}

static int compare_raw(const void *a, const void *b)
{
	const struct raw_span *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* Callers before their callees, which have higher numbers. */
	return x->call < y->call ? -1 : x->call > y->call;
}

static int push_span(struct gsym_decoded *d, uint32_t start, uint32_t call)
{
	if (d->spans.n && d->spans.items[d->spans.n - 1].start == start)
		d->spans.n--;
	if (d->spans.n && d->spans.items[d->spans.n - 1].call == call)
		return 0;
	return vec_push(&d->spans, (struct gsym_span){start, call});
}

/* Spans that lie inside each other become a row of spans beside each other, the innermost winning. */
static int flatten(struct tree_walk *w)
{
	bool is_sorted = true;
	for (size_t i = 1; i < w->raw.n && is_sorted; i++)
		is_sorted = w->raw.items[i - 1].start <= w->raw.items[i].start;
	if (!is_sorted)
		qsort(w->raw.items, w->raw.n, sizeof *w->raw.items, compare_raw);
	struct raw_span open[GSYM_DEPTH_MAX + 1];
	size_t n_open = 0;
	int r = 0;
	for (size_t i = 0; i <= w->raw.n && r == 0; i++) {
		uint32_t start = i < w->raw.n ? w->raw.items[i].start : UINT32_MAX;
		for (; r == 0 && n_open && open[n_open - 1].end <= start; n_open--)
			r = push_span(w->d, open[n_open - 1].end,
				      n_open > 1 ? open[n_open - 2].call : GSYM_NO_CALL);
		if (i == w->raw.n || r < 0)
			break;
		struct raw_span span = w->raw.items[i];
		if (n_open)
			span.end = MIN(span.end, open[n_open - 1].end);
		if (n_open == GSYM_DEPTH_MAX + 1 || span.start >= span.end)
			continue;
		open[n_open++] = span;
		r = push_span(w->d, span.start, span.call);
	}
	return r;
}

static int decode_inlines(struct gsym_decoded *d, struct cursor c, uint32_t function_size)
{
	struct tree_walk w;
	memset(&w, 0, offsetof(struct tree_walk, levels));
	w.depth = 0;
	memset(&w.raw, 0, sizeof w.raw);
	w.d = d;
	w.function_size = function_size;
	int r = walk_tree(&w, &c);
	if (r == 0)
		r = flatten(&w);
	vec_deinit(&w.ranges);
	vec_deinit(&w.raw);
	return r;
}

uint32_t gsym_decoded_call(const struct gsym_decoded *d, uint64_t address)
{
	uint64_t offset = address - d->start;
	size_t low = 0, high = d->spans.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (d->spans.items[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? d->spans.items[low - 1].call : GSYM_NO_CALL;
}

/* ---- a function ------------------------------------------------------------------------------ */

int gsym_decode(const struct gsym *gsym, uint32_t i, struct gsym_decoded *ret)
{
	ret->marks.n = ret->spans.n = ret->calls.n = 0;
	ret->program = NULL;
	struct gsym_entry entry;
	if (!gsym_get(gsym, i, &entry))
		return 0;
	ret->start = entry.start;
	uint32_t size = (uint32_t)MIN(entry.end - entry.start, UINT32_MAX);
	struct cursor c = cursor_init(gsym->data, gsym->size, gsym->swap);
	cursor_seek(&c, entry.info + 8);
	int r = 0;
	bool has_lines = false, has_inlines = false;
	while (r == 0) {
		uint32_t type = cursor_u32(&c), n = cursor_u32(&c);
		const uint8_t *data = cursor_bytes(&c, n);
		if (!cursor_ok(&c) || type == INFO_END)
			break;
		struct cursor part = cursor_init(data, n, gsym->swap);
		if (type == INFO_LINES && !has_lines) {
			has_lines = true;
			r = decode_lines(ret, part);
		} else if (type == INFO_INLINES && !has_inlines) {
			has_inlines = true;
			r = decode_inlines(ret, part, size);
		}
	}
	return r;
}

size_t gsym_decoded_bytes(const struct gsym_decoded *d)
{
	return sizeof *d + d->marks.capacity * sizeof *d->marks.items +
	       d->spans.capacity * sizeof *d->spans.items +
	       d->calls.capacity * sizeof *d->calls.items;
}
