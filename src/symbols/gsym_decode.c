/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym_decode.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

/* Kinds of optional data, and the opcodes of line programs (llvm/DebugInfo/GSYM/LineTable.cpp). */
enum info_type { INFO_END = 0, INFO_LINES = 1, INFO_INLINES = 2 };
enum opcode { END_SEQUENCE = 0, SET_FILE = 1, ADVANCE_PC = 2, ADVANCE_LINE = 3, FIRST_SPECIAL = 4 };

/* Bytes of a line program that are run at most: one look-up may have to go through what is no row. */
#define PROGRAM_MAX (4 * GSYM_WORK_MAX)

/* Spans up to which a simple sort is the fastest; they are nearly in order. */
#define INSERTION_MAX 256

void gsym_decoded_deinit(struct gsym_decoded *d)
{
	vec_deinit(&d->marks);
	vec_deinit(&d->spans);
	vec_deinit(&d->calls);
}

/* Nearly all numbers here are of one byte; the rest takes the longer way. */
static inline uint64_t next_uleb(struct cursor *c)
{
	const uint8_t *at = c->at;
	if (c->end - at < 2)
		return cursor_uleb(c);
	if (at[0] < 0x80) {
		c->at = at + 1;
		return at[0];
	}
	if (at[1] < 0x80) {
		c->at = at + 2;
		return (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
	}
	return cursor_uleb(c);
}

static inline uint8_t next_byte(struct cursor *c)
{
	return c->at < c->end ? *c->at++ : cursor_u8(c);
}

/* ---- line rows ------------------------------------------------------------------------------- */

/* A line program that is being run. It stays in registers: no address of it is taken in the loop. */
struct line_run {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t address; /* of the last row, relative to the function */
	uint32_t file;
	uint32_t line;
};

/* A number that may have any length. *ret_at is the end of the program if it does not end before. */
static __attribute__((noinline)) uint64_t long_leb(const uint8_t *at, const uint8_t *end,
						   bool is_signed, const uint8_t **ret_at)
{
	struct cursor c = cursor_init(at, (size_t)(end - at), false);
	uint64_t value = is_signed ? (uint64_t)cursor_sleb(&c) : cursor_uleb(&c);
	*ret_at = cursor_ok(&c) ? c.at : end;
	return value;
}

static inline struct line_run take_leb(struct line_run run, bool is_signed, uint64_t *ret)
{
	const uint8_t *at = run.at;
	if (run.end - at > 1 && *at < 0x80) {
		*ret = is_signed ? (uint64_t)((int64_t)((uint64_t)*at << 57) >> 57) : *at;
		run.at++;
	} else if (run.end - at > 1 && at[1] < 0x80) {
		uint64_t value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
		*ret = is_signed ? (uint64_t)((int64_t)(value << 50) >> 50) : value;
		run.at += 2;
	} else {
		*ret = long_leb(at, run.end, is_signed, &at);
		run.at = at;
	}
	return run;
}

/* Runs opcodes up to and with the next row; at the end of the program, .at is NULL. */
static inline struct line_run next_row(struct line_run run, int32_t least_step, uint32_t step_range)
{
	while (run.at < run.end) {
		uint8_t opcode = *run.at++;
		uint64_t value;
		if (__builtin_expect(opcode >= FIRST_SPECIAL, 1)) {
			opcode -= FIRST_SPECIAL;
			run.line += (uint32_t)least_step + opcode % step_range;
			run.address += opcode / step_range;
			return run;
		}
		switch (opcode) {
		case SET_FILE:
			run = take_leb(run, false, &value);
			run.file = (uint32_t)value;
			break;
		case ADVANCE_LINE:
			run = take_leb(run, true, &value);
			run.line += (uint32_t)value;
			break;
		case ADVANCE_PC:
			run = take_leb(run, false, &value);
			run.address += MIN(value, UINT64_C(1) << 32);
			return run;
		default: /* END_SEQUENCE */
			run.at = run.end;
			break;
		}
	}
	run.at = NULL;
	return run;
}

/* Reads the head of a program: 1, with the state before the first row; 0: there is no sense in it. */
static int start_program(struct gsym_decoded *d, struct cursor *c, struct line_run *ret)
{
	int64_t least = cursor_sleb(c), most = cursor_sleb(c);
	uint32_t line = (uint32_t)cursor_uleb(c);
	if (!cursor_ok(c) || least < INT32_MIN || most > INT32_MAX || most < least)
		return 0;
	d->least_step = (int32_t)least;
	d->step_range = (uint32_t)(most - least + 1);
	d->program = c->at;
	d->program_size = (uint32_t)MIN(cursor_left(c), PROGRAM_MAX);
	*ret = (struct line_run){.at = c->at, .end = c->at + d->program_size, .file = 1,
				 .line = line};
	return d->step_range > 0;
}

static int decode_lines(struct gsym_decoded *d, struct cursor c)
{
	struct line_run run;
	if (!start_program(d, &c, &run))
		return 0;
	for (uint32_t n = 0; n < GSYM_WORK_MAX; n++) {
		if (n % GSYM_MARK_ROWS == 0) {
			struct gsym_mark mark = {(uint32_t)run.address, run.file, run.line,
						 (uint32_t)(run.at - d->program)};
			int r = vec_push(&d->marks, mark);
			if (r < 0)
				return r;
		}
		run = next_row(run, d->least_step, d->step_range);
		if (!run.at || run.address > UINT32_MAX)
			break;
	}
	return 0;
}

/*
 * Runs on to the row that covers an offset: 1; or 0, if none did and `found` was none before. Of several
 * rows at exactly this offset it is the first, as for llvm-gsymutil.
 */
static int run_to(const struct gsym_decoded *d, struct line_run run, bool any, uint64_t offset,
		  struct gsym_row *ret)
{
	const int32_t least_step = d->least_step;
	const uint32_t step_range = d->step_range;
	struct line_run found = run;
	for (;;) {
		run = next_row(run, least_step, step_range);
		if (!run.at || run.address > offset)
			break;
		found = run;
		any = true;
		if (run.address == offset)
			break;
	}
	if (any)
		*ret = (struct gsym_row){d->start + found.address, found.file, found.line};
	return any;
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
	struct line_run run = {.at = d->program + mark->at,
			       .end = d->program + d->program_size,
			       .address = mark->address,
			       .file = mark->file,
			       .line = mark->line};
	return run_to(d, run, mark != d->marks.items, offset, ret);
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
	struct gsym_inlining call = {.name = cursor_u32(c), .caller = caller};
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

/* By start; callers before their callees, which come later in the list. */
static int sort_raw(struct tree_walk *w)
{
	struct raw_span *items = w->raw.items;
	size_t n = w->raw.n;
	if (n > INSERTION_MAX) {
		_cleanup_free_ struct sort_item *order = malloc(n * sizeof *order);
		_cleanup_free_ struct raw_span *copy = malloc(n * sizeof *copy);
		if (!order || !copy)
			return -ENOMEM;
		memcpy(copy, items, n * sizeof *copy);
		for (size_t i = 0; i < n; i++)
			order[i] = (struct sort_item){items[i].start, i};
		int r = sort_items(order, n);
		for (size_t i = 0; i < n && r == 0; i++)
			items[i] = copy[order[i].value];
		return r;
	}
	for (size_t i = 1; i < n; i++) {
		struct raw_span span = items[i];
		size_t at = i;
		for (; at && items[at - 1].start > span.start; at--)
			items[at] = items[at - 1];
		items[at] = span;
	}
	return 0;
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
	struct raw_span open[GSYM_DEPTH_MAX + 1];
	size_t n_open = 0;
	int r = sort_raw(w);
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

/* ---- a single question ----------------------------------------------------------------------- */

/* A call as it is read without keeping it. */
struct passing_call {
	struct gsym_inlining call;
	uint64_t first; /* start of its first range */
	bool covers;    /* the address that is asked for */
	bool has_callees;
};

/* 1; 0: the end of a level; -EBADMSG. */
static int pass_call(struct cursor *cursor, uint64_t base, uint64_t address, uint32_t *work,
		     struct passing_call *ret)
{
	struct cursor c = *cursor; /* for the registers */
	uint64_t n = next_uleb(&c);
	bool covers = false;
	if (!n || n > GSYM_WORK_MAX || (*work += (uint32_t)n) > GSYM_WORK_MAX) {
		*cursor = c;
		return n || !cursor_ok(&c) ? -EBADMSG : 0;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = base + next_uleb(&c);
		uint64_t size = next_uleb(&c);
		if (i == 0)
			ret->first = start;
		covers |= address - start < size;
	}
	ret->covers = covers;
	ret->has_callees = next_byte(&c);
	ret->call.name = cursor_u32(&c);
	ret->call.file = (uint32_t)next_uleb(&c);
	ret->call.line = (uint32_t)next_uleb(&c);
	*cursor = c;
	return cursor_ok(&c) ? 1 : -EBADMSG;
}

/* Leaves out all below a call that does not cover the address. */
static int pass_callees(struct cursor *c, uint32_t *work)
{
	struct passing_call passing;
	for (uint64_t depth = 1; depth;) {
		int r = pass_call(c, 0, 0, work, &passing);
		if (r < 0)
			return r;
		if (r == 0)
			depth--;
		else
			depth += passing.has_callees;
	}
	return 0;
}

/* Outermost first; how many. */
static size_t search_calls(struct cursor c, uint64_t start, uint64_t address,
			   struct gsym_inlining calls[GSYM_DEPTH_MAX])
{
	struct passing_call passing;
	uint32_t work = 0;
	size_t n = 0;
	if (pass_call(&c, start, address, &work, &passing) != 1 || !passing.covers)
		return 0;
	while (passing.has_callees && n < GSYM_DEPTH_MAX) {
		uint64_t base = passing.first;
		int r;
		while ((r = pass_call(&c, base, address, &work, &passing)) == 1 && !passing.covers) {
			if (passing.has_callees && pass_callees(&c, &work) < 0)
				return n;
		}
		if (r != 1)
			break;
		calls[n++] = passing.call;
	}
	return n;
}

/* The data of a kind of an entry; a failed cursor if it has none. */
static struct cursor find_info(const struct gsym *gsym, uint64_t info, enum info_type wanted)
{
	struct cursor c = cursor_init(gsym->data, gsym->size, gsym->swap);
	cursor_seek(&c, info + 8);
	for (;;) {
		uint32_t type = cursor_u32(&c), n = cursor_u32(&c);
		const uint8_t *data = cursor_bytes(&c, n);
		if (!cursor_ok(&c) || type == INFO_END)
			return (struct cursor){.failed = true};
		if (type == wanted)
			return cursor_init(data, n, gsym->swap);
	}
}

size_t gsym_search(const struct gsym *gsym, const struct gsym_entry *entry, uint64_t address,
		   struct gsym_row *ret_row, struct gsym_inlining *ret, size_t max)
{
	struct gsym_decoded d = {.start = entry->start};
	struct cursor lines = find_info(gsym, entry->info, INFO_LINES);
	struct line_run run;
	*ret_row = (struct gsym_row){};
	if (cursor_ok(&lines) && start_program(&d, &lines, &run))
		run_to(&d, run, false, address - entry->start, ret_row);
	struct cursor inlines = find_info(gsym, entry->info, INFO_INLINES);
	if (!cursor_ok(&inlines))
		return 0;
	struct gsym_inlining calls[GSYM_DEPTH_MAX];
	size_t n = search_calls(inlines, entry->start, address, calls);
	for (size_t i = 0; i < MIN(n, max); i++)
		ret[i] = calls[n - 1 - i];
	return n;
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
	int r = 0;
	struct cursor lines = find_info(gsym, entry.info, INFO_LINES);
	struct cursor inlines = find_info(gsym, entry.info, INFO_INLINES);
	if (cursor_ok(&lines))
		r = decode_lines(ret, lines);
	if (r == 0 && cursor_ok(&inlines))
		r = decode_inlines(ret, inlines, size);
	return r;
}

size_t gsym_decoded_bytes(const struct gsym_decoded *d)
{
	return sizeof *d + d->marks.capacity * sizeof *d->marks.items +
	       d->spans.capacity * sizeof *d->spans.items +
	       d->calls.capacity * sizeof *d->calls.items;
}
