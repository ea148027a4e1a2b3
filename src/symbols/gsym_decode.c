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
	vec_deinit(&d->ranges);
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

struct tree_walk {
	struct gsym_decoded *d;
	uint32_t function_size;
	uint32_t work;
	/* What encloses the place in the tree. */
	struct {
		uint64_t base; /* what the ranges of its callees are relative to */
		uint32_t call;
	} levels[GSYM_DEPTH_MAX];
	uint32_t depth;
};

/* Cut to the function, which alone can be asked for; an empty one covers nothing. */
static struct gsym_range cut_range(const struct tree_walk *w, uint64_t start, uint64_t end)
{
	uint64_t first = MAX(start, w->d->start) - w->d->start;
	uint64_t last = end < w->d->start ? 0 : MIN(end - w->d->start, w->function_size);
	if (end < start || first >= last)
		return (struct gsym_range){};
	return (struct gsym_range){(uint32_t)first, (uint32_t)last};
}

/* 1 and the start of the first range; 0: there is none, which ends a level. */
static int read_ranges(struct tree_walk *w, struct cursor *cursor, uint64_t base,
		       struct gsym_range *ret_range, uint64_t *ret_first)
{
	struct cursor c = *cursor; /* for the registers */
	uint64_t n = next_uleb(&c);
	if (n > GSYM_WORK_MAX || (w->work += (uint32_t)n) > GSYM_WORK_MAX)
		return -E2BIG;
	int r = 0;
	for (uint64_t i = 0; i < n && r == 0; i++) {
		uint64_t start = base + next_uleb(&c);
		uint64_t size = next_uleb(&c);
		struct gsym_range range = cut_range(w, start, start + size);
		if (i == 0) {
			*ret_first = start;
			*ret_range = range;
		} else if (range.end) {
			r = vec_push(&w->d->ranges, range);
		}
	}
	*cursor = c;
	if (r < 0)
		return r;
	return cursor_ok(&c) ? n > 0 : -EBADMSG;
}

/* One call and, where it has callees, the level they are on. 1; 0: the end of a level. */
static int read_call(struct tree_walk *w, struct cursor *c, bool is_root)
{
	uint64_t base = is_root ? w->d->start : w->levels[w->depth - 1].base, first = 0;
	struct gsym_inlining call = {.caller = is_root ? GSYM_NO_CALL
						       : w->levels[w->depth - 1].call,
				     .first_range = (uint32_t)w->d->ranges.n};
	int r = read_ranges(w, c, base, &call.range, &first);
	if (r == 0)
		return 0;
	bool has_callees = next_byte(c);
	call.name = cursor_u32(c);
	call.file = (uint32_t)next_uleb(c);
	call.line = (uint32_t)next_uleb(c);
	if (r > 0 && !cursor_ok(c))
		r = -EBADMSG;
	if (r < 0) {
		w->d->ranges.n = call.first_range; /* they are nobody's */
		return r;
	}
	uint32_t number = GSYM_NO_CALL;
	if (is_root)
		w->d->ranges.n = 0; /* those of the function itself are not asked for */
	if (!is_root) {
		number = (uint32_t)w->d->calls.n;
		call.end = number + 1;
		r = vec_push(&w->d->calls, call);
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

static void end_level(struct tree_walk *w)
{
	uint32_t call = w->levels[--w->depth].call;
	if (call != GSYM_NO_CALL)
		w->d->calls.items[call].end = (uint32_t)w->d->calls.n;
}

/*
 * What was read before the damage stays: a call is told by its own data and those of its callers, which
 * come before it. A last entry, which is no call, is where the ranges end.
 */
static int decode_inlines(struct gsym_decoded *d, struct cursor c, uint32_t function_size)
{
	struct tree_walk w;
	w.d = d;
	w.function_size = function_size;
	w.work = w.depth = 0;
	int r = read_call(&w, &c, true);
	while (r >= 0 && w.depth) {
		r = read_call(&w, &c, false);
		if (r == 0)
			end_level(&w);
	}
	while (w.depth)
		end_level(&w);
	if (r == -ENOMEM)
		return r;
	struct gsym_inlining last = {.first_range = (uint32_t)d->ranges.n};
	return vec_push(&d->calls, last);
}

static inline bool is_in(const struct gsym_range *range, uint32_t offset)
{
	return offset - range->start < range->end - range->start;
}

static inline bool covers(const struct gsym_decoded *d, const struct gsym_inlining *call,
			  uint32_t offset)
{
	if (is_in(&call->range, offset))
		return true;
	for (uint32_t i = call[0].first_range; i < call[1].first_range; i++) {
		if (is_in(&d->ranges.items[i], offset))
			return true;
	}
	return false;
}

uint32_t gsym_decoded_call(const struct gsym_decoded *d, uint64_t address)
{
	uint32_t found = GSYM_NO_CALL, end = d->calls.n ? (uint32_t)d->calls.n - 1 : 0;
	if (address - d->start > UINT32_MAX)
		return found;
	const struct gsym_inlining *calls = d->calls.items;
	const uint32_t offset = (uint32_t)(address - d->start);
	for (uint32_t call = 0; call < end;) {
		if (!covers(d, &calls[call], offset)) {
			call = calls[call].end;
			continue;
		}
		found = call;
		end = MIN(end, calls[call].end);
		call++;
	}
	return found;
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
	ret->marks.n = ret->ranges.n = ret->calls.n = 0;
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
	       d->ranges.capacity * sizeof *d->ranges.items +
	       d->calls.capacity * sizeof *d->calls.items;
}
