/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/gaps.h"

#include "base/cleanup.h"

/* Bytes that are read for this, and of them at once. */
#define GAPS_MAX     (UINT64_C(256) << 20)
#define GAP_MAX	     (UINT64_C(64) << 20)
#define SEGMENTS_MAX 64
/* Most gaps are some bytes between functions: they are read many at once. */
#define WINDOW_SIZE ((size_t)1 << 20)

struct visit {
	const struct unwind_build *build;
	size_t least;
	int (*fn)(void *data, const struct gap *gap);
	void *data;
	uint64_t budget;
	uint8_t *window; /* WINDOW_SIZE bytes */
	uint64_t window_at;
	size_t window_size;
};

static int read_window(struct visit *v, uint64_t begin)
{
	const struct source *source = &v->build->elf->source;
	v->window_at = begin;
	v->window_size = begin < source->size ? (size_t)MIN(source->size - begin, WINDOW_SIZE) : 0;
	int r = source_read(source, begin, v->window, v->window_size);
	if (r < 0)
		v->window_size = 0;
	return r;
}

static int visit_small(struct visit *v, uint64_t begin, size_t size, uint64_t address)
{
	bool is_there = begin >= v->window_at && begin - v->window_at <= v->window_size &&
			size <= v->window_size - (begin - v->window_at);
	if (!is_there && (read_window(v, begin) < 0 || size > v->window_size))
		return 0;
	struct gap gap = {v->window + (begin - v->window_at), size, address};
	return v->fn(v->data, &gap);
}

static int visit_large(struct visit *v, uint64_t begin, size_t size, uint64_t address)
{
	uint8_t *data;
	int r = source_read_new(&v->build->elf->source, begin, size, GAP_MAX, &data);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	struct gap gap = {data, size, address};
	r = v->fn(v->data, &gap);
	free(data);
	return r;
}

/* What cannot be read is left out. */
static int visit_range(struct visit *v, uint64_t begin, uint64_t end, uint64_t address)
{
	uint64_t size = MIN(end - begin, GAP_MAX);
	if (size < v->least || size > v->budget)
		return 0;
	v->budget -= size;
	return size <= WINDOW_SIZE ? visit_small(v, begin, (size_t)size, address)
				   : visit_large(v, begin, (size_t)size, address);
}

static int visit_segment(struct visit *v, const struct elf_program_header *h)
{
	uint64_t at = h->offset, end;
	if (__builtin_add_overflow(h->offset, h->file_size, &end))
		return 0;
	vec_foreach(span, &v->build->spans)
	{
		if (span->end <= at)
			continue;
		if (span->begin >= end)
			break;
		int r = span->begin > at
				? visit_range(v, at, span->begin, h->vaddr + (at - h->offset))
				: 0;
		if (r != 0)
			return r;
		at = span->end;
	}
	return at < end ? visit_range(v, at, end, h->vaddr + (at - h->offset)) : 0;
}

int gaps_each(const struct unwind_build *build, size_t least,
	      int (*fn)(void *data, const struct gap *gap), void *data)
{
	_cleanup_free_ uint8_t *window = malloc(WINDOW_SIZE);
	struct visit v = {build, least, fn, data, GAPS_MAX, window, 0, 0};
	if (!window)
		return -ENOMEM;
	for (size_t i = 0; i < build->code.n && i < SEGMENTS_MAX; i++) {
		int r = visit_segment(&v, &build->code.items[i]);
		if (r != 0)
			return r;
	}
	return 0;
}
