/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym_info.h"

#include "base/cleanup.h"
#include "base/cursor.h"

#include <string.h>

enum { OP_END, OP_FILE, OP_ADVANCE, OP_LINE, OP_SPECIAL };

/* The widest span of line differences that special opcodes are used for, as LLVM has it. */
#define SPAN_MAX 14
/* Differences that are counted to choose the span. */
#define COUNTED 64

/* The most bytes that a row, a call and a range take. */
#define ROW_BYTES   32
#define CALL_BYTES  32
#define RANGE_BYTES 20

void gsym_info_writer_deinit(struct gsym_info_writer *w)
{
	buffer_deinit(&w->out);
	vec_deinit(&w->name_places);
	vec_deinit(&w->lines);
	vec_deinit(&w->calls);
	owners_deinit(&w->owners);
	vec_deinit(&w->call_ranges);
	vec_deinit(&w->links);
	vec_deinit(&w->open);
}

void gsym_info_begin(struct gsym_info_writer *w)
{
	w->lines.n = w->calls.n = 0;
	w->owners.ranges.n = w->owners.pieces.n = 0;
}

int gsym_info_decide(struct gsym_info_writer *w)
{
	return owners_decide(&w->owners);
}

/* ---- bytes: into memory that was reserved before --------------------------------------------- */

static inline uint8_t *put_uleb(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline uint8_t *put_sleb(uint8_t *p, int64_t v)
{
	while (v < -64 || v > 63) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)(v & 0x7f);
	return p;
}

static inline uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
	return p + sizeof v;
}

/* Type and size in front of the bytes from `at` to `end`. */
static void end_part(struct gsym_info_writer *w, uint8_t *at, uint8_t *end, uint32_t type)
{
	put_u32(put_u32(at, type), (uint32_t)(end - at - 8));
	w->out.n += (size_t)(end - at);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct span {
	int64_t least;
	int64_t most;
};

/* The span of SPAN_MAX with the most of the differences. */
static struct span choose_span(const struct gsym_line *lines, size_t n)
{
	uint32_t counts[2 * COUNTED + 1] = {};
	int64_t least = 0, most = 0;
	for (size_t i = 1; i < n; i++) {
		int64_t difference = (int64_t)lines[i].line - lines[i - 1].line;
		if (difference < -COUNTED || difference > COUNTED)
			continue;
		counts[difference + COUNTED]++;
		least = MIN(least, difference);
		most = MAX(most, difference);
	}
	if (most - least <= SPAN_MAX)
		return (struct span){least, most};
	uint32_t sum = 0, best = 0;
	int64_t at = least;
	for (int64_t d = least; d <= most; d++) {
		sum += counts[d + COUNTED];
		if (d - SPAN_MAX - 1 >= least)
			sum -= counts[d - SPAN_MAX - 1 + COUNTED];
		if (sum > best) {
			best = sum;
			at = MAX(least, d - SPAN_MAX);
		}
	}
	return (struct span){at, MIN(at + SPAN_MAX, most)};
}

static uint8_t *put_row(uint8_t *p, const struct span *span, int64_t line_step, uint64_t step)
{
	if (line_step >= span->least && line_step <= span->most && step < 256) {
		uint64_t width = (uint64_t)(span->most - span->least + 1);
		uint64_t opcode = (uint64_t)(line_step - span->least) + step * width + OP_SPECIAL;
		if (opcode <= UINT8_MAX) {
			*p++ = (uint8_t)opcode;
			return p;
		}
	}
	if (line_step) {
		*p++ = OP_LINE;
		p = put_sleb(p, line_step);
	}
	*p++ = OP_ADVANCE;
	return put_uleb(p, step);
}

static int write_lines(struct gsym_info_writer *w, uint64_t start)
{
	size_t n = w->lines.n;
	const struct gsym_line *lines = w->lines.items;
	if (!n)
		return 0;
	uint8_t *at = buffer_reserve(&w->out, (n + 2) * ROW_BYTES);
	if (!at)
		return -ENOMEM;
	struct span span = choose_span(lines, n);
	uint8_t *p = put_sleb(at + 8, span.least);
	p = put_sleb(p, span.most);
	p = put_uleb(p, lines[0].line);
	struct gsym_line before = {start, 1, lines[0].line};
	for (size_t i = 0; i < n; i++) {
		if (lines[i].file != before.file) {
			*p++ = OP_FILE;
			p = put_uleb(p, lines[i].file);
		}
		p = put_row(p, &span, (int64_t)lines[i].line - before.line,
			    lines[i].address - before.address);
		before = lines[i];
	}
	*p++ = OP_END;
	end_part(w, at, p, GSYM_INFO_LINES);
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call gets a range, at the end of those it has. */
static int give(struct gsym_info_writer *w, uint32_t call, uint64_t start, uint64_t end)
{
	struct gsym_call_ranges *ranges = &w->call_ranges.items[call];
	if (ranges->round != w->round)
		*ranges = (struct gsym_call_ranges){.round = w->round};
	if (ranges->last) {
		struct gsym_range_link *last = &w->links.items[ranges->last - 1];
		if (last->end == start) {
			last->end = end;
			return 0;
		}
		last->next = (uint32_t)w->links.n + 1;
	} else {
		ranges->first = (uint32_t)w->links.n + 1;
	}
	ranges->last = (uint32_t)w->links.n + 1;
	ranges->n++;
	return vec_push(&w->links, (struct gsym_range_link){start, end, 0});
}

static int give_with_parents(struct gsym_info_writer *w, uint32_t call, uint64_t start,
			     uint64_t end)
{
	int r = 0;
	for (; call && r == 0; call = w->calls.items[call].parent)
		r = give(w, call, start, end);
	return r;
}

static bool is_there(const struct gsym_info_writer *w, uint32_t call)
{
	return w->call_ranges.items[call].round == w->round;
}

/* Which calls have what of the piece; *ret_last is the highest of them, 0 if none has any. */
static int distribute(struct gsym_info_writer *w, uint64_t start, uint64_t end, uint32_t *ret_first,
		      uint32_t *ret_last)
{
	int r = vec_reserve(&w->call_ranges, w->calls.n);
	if (r < 0)
		return r;
	for (size_t i = w->call_ranges.n; i < w->calls.n; i++)
		w->call_ranges.items[i] = (struct gsym_call_ranges){};
	w->call_ranges.n = MAX(w->call_ranges.n, w->calls.n);
	w->round++;
	w->links.n = 0;
	*ret_first = UINT32_MAX;
	*ret_last = 0;
	for (size_t i = owners_from(&w->owners, start); i < w->owners.pieces.n && r == 0; i++) {
		const struct owned_piece *piece = &w->owners.pieces.items[i];
		if (piece->start >= end)
			break;
		r = give_with_parents(w, piece->owner, MAX(piece->start, start),
				      MIN(piece->end, end));
		*ret_last = MAX(*ret_last, piece->owner);
		*ret_first = MIN(*ret_first, piece->owner);
	}
	return r;
}

/* A parent is there if its child is, so going backwards finds all parents of the first one, too. */
static uint32_t mark_parents(struct gsym_info_writer *w, uint32_t first, uint32_t last)
{
	for (uint32_t call = last; call >= first && call; call--) {
		if (!is_there(w, call))
			continue;
		uint32_t parent = w->calls.items[call].parent;
		if (parent)
			w->call_ranges.items[parent].has_children = true;
		first = parent ? MIN(first, parent) : first;
	}
	return first;
}

static uint64_t first_address(const struct gsym_info_writer *w, uint32_t call)
{
	return w->links.items[w->call_ranges.items[call].first - 1].start;
}

static uint8_t *put_call(struct gsym_info_writer *w, uint8_t *p, uint32_t number, uint64_t base)
{
	const struct gsym_call *call = &w->calls.items[number];
	const struct gsym_call_ranges *ranges = &w->call_ranges.items[number];
	p = put_uleb(p, ranges->n);
	for (uint32_t link = ranges->first; link; link = w->links.items[link - 1].next) {
		const struct gsym_range_link *range = &w->links.items[link - 1];
		p = put_uleb(p, range->start - base);
		p = put_uleb(p, range->end - range->start);
	}
	*p++ = ranges->has_children;
	w->name_places.items[w->name_places.n++] = (uint32_t)(p - w->out.data);
	p = put_u32(p, call->name);
	p = put_uleb(p, call->file);
	return put_uleb(p, call->line);
}

/* Calls in their order; a call's children end where the next one is no child of it. */
static uint8_t *put_calls(struct gsym_info_writer *w, uint8_t *p, uint64_t start, uint32_t first,
			  uint32_t last)
{
	w->open.n = 0;
	for (uint32_t call = first; call <= last; call++) {
		if (!is_there(w, call))
			continue;
		uint32_t parent = w->calls.items[call].parent;
		while (w->open.n && w->open.items[w->open.n - 1] != parent) {
			*p++ = 0;
			w->open.n--;
		}
		p = put_call(w, p, call, parent ? first_address(w, parent) : start);
		if (w->call_ranges.items[call].has_children)
			w->open.items[w->open.n++] = call;
	}
	for (; w->open.n; w->open.n--)
		*p++ = 0;
	return p;
}

static int write_calls(struct gsym_info_writer *w, uint64_t start, uint64_t end)
{
	uint32_t first, last;
	int r = distribute(w, start, end, &first, &last);
	if (r < 0 || !last)
		return r;
	first = mark_parents(w, first, last);
	size_t n = (size_t)last - first + 2;
	uint8_t *at =
		buffer_reserve(&w->out, n * CALL_BYTES + w->links.n * RANGE_BYTES + RANGE_BYTES);
	if (!at || vec_reserve(&w->open, n) < 0 || w->out.n > UINT32_MAX ||
	    vec_reserve(&w->name_places, w->name_places.n + n) < 0)
		return -ENOMEM;
	uint8_t *p = put_uleb(at + 8, 1);
	p = put_uleb(p, 0);
	p = put_uleb(p, end - start);
	*p++ = 1;
	w->name_places.items[w->name_places.n++] = (uint32_t)(p - w->out.data);
	p = put_u32(p, w->calls.items[0].name);
	p = put_uleb(p, 0);
	p = put_uleb(p, 0);
	p = put_calls(w, p, start, first, last);
	*p++ = 0;
	end_part(w, at, p, GSYM_INFO_CALLS);
	return 0;
}

int gsym_info_write(struct gsym_info_writer *w, uint64_t start, uint64_t end)
{
	int r = write_lines(w, start);
	return r < 0 || w->owners.pieces.n == 0 ? r : write_calls(w, start, end);
}

/* ---- reading back ---------------------------------------------------------------------------- */

static int read_lines(struct gsym_info_writer *w, struct cursor *c, uint64_t start)
{
	int64_t least = cursor_sleb(c), most = cursor_sleb(c);
	struct gsym_line row = {start, 1, (uint32_t)cursor_uleb(c)};
	uint64_t width = (uint64_t)(most - least + 1);
	for (;;) {
		uint8_t opcode = cursor_u8(c);
		switch (opcode) {
		case OP_END:
			return cursor_ok(c) ? 0 : -EBADMSG;
		case OP_FILE:
			row.file = (uint32_t)cursor_uleb(c);
			continue;
		case OP_LINE:
			row.line += (uint32_t)cursor_sleb(c);
			continue;
		case OP_ADVANCE:
			row.address += cursor_uleb(c);
			break;
		default:
			if (!width || width > SPAN_MAX + 1)
				return -EBADMSG;
			row.line += (uint32_t)(least + (opcode - OP_SPECIAL) % (int64_t)width);
			row.address += (opcode - OP_SPECIAL) / width;
		}
		int r = vec_push(&w->lines, row);
		if (r < 0)
			return r;
	}
}

/* Ranges of one call; the first one's start is what its children count from. */
static int read_ranges(struct gsym_info_writer *w, struct cursor *c, uint64_t base, uint64_t *ret_n,
		       uint64_t *ret_base)
{
	uint32_t call = (uint32_t)w->calls.n;
	*ret_n = cursor_uleb(c);
	for (uint64_t i = 0; i < *ret_n && cursor_ok(c); i++) {
		uint64_t start = base + cursor_uleb(c);
		uint64_t end = start + cursor_uleb(c);
		if (i == 0)
			*ret_base = start;
		if (!call || start >= end)
			continue;
		int r = vec_push(&w->owners.ranges, (struct owner_range){start, end, call, call});
		if (r < 0)
			return r;
	}
	return cursor_ok(c) ? 0 : -EBADMSG;
}

struct open_call {
	uint32_t number;
	uint64_t base;
};

static int read_calls(struct gsym_info_writer *w, struct cursor *c, uint64_t start)
{
	VEC(struct open_call) open = {};
	uint64_t n, base = 0;
	int r = 0;
	do {
		struct open_call parent = open.n ? open.items[open.n - 1]
						 : (struct open_call){0, start};
		r = read_ranges(w, c, parent.base, &n, &base);
		if (r == 0 && !n) {
			r = open.n ? 0 : -EBADMSG;
			open.n -= r == 0;
			continue;
		}
		bool has_children = cursor_u8(c);
		struct gsym_call call = {.parent = parent.number, .name = cursor_u32(c)};
		call.file = (uint32_t)cursor_uleb(c);
		call.line = (uint32_t)cursor_uleb(c);
		uint32_t number = (uint32_t)w->calls.n;
		if (r == 0)
			r = cursor_ok(c) ? vec_push(&w->calls, call) : -EBADMSG;
		if (r == 0 && has_children)
			r = vec_push(&open, (struct open_call){number, base});
	} while (r == 0 && open.n);
	vec_deinit(&open);
	return r;
}

int gsym_info_read(struct gsym_info_writer *w, uint64_t start, const uint8_t *info, size_t size)
{
	struct cursor c = cursor_init(info, size, false);
	gsym_info_begin(w);
	int r = 0;
	while (r == 0 && cursor_left(&c)) {
		uint32_t type = cursor_u32(&c);
		uint64_t bytes = cursor_u32(&c);
		struct cursor part = cursor_slice(&c, cursor_offset(&c), bytes);
		cursor_bytes(&c, bytes);
		if (!cursor_ok(&c))
			return -EBADMSG;
		r = type == GSYM_INFO_LINES ? read_lines(w, &part, start)
					    : read_calls(w, &part, start);
	}
	return r < 0 ? r : gsym_info_decide(w);
}
