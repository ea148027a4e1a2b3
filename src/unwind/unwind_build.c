/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unwind_build.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "unwind/entry.h"
#include "unwind/framed.h"
#include "unwind/go.h"
#include "unwind/known_code.h"
#include "unwind/rule.h"
#include "unwind/stubs.h"

#include <string.h>

/* In span.source, above the numbers of sections. */
#define SOURCE_PLAIN UNWIND_SOURCES_MAX

void unwind_build_deinit(struct unwind_build *build)
{
	for (uint32_t i = 0; i < build->n_sections; i++)
		frame_section_deinit(&build->sections[i]);
	vec_deinit(&build->code);
	vec_deinit(&build->spans);
	vec_deinit(&build->plain);
	unwind_image_deinit(&build->image);
	*build = (struct unwind_build){};
}

static int compare_segments(const void *a, const void *b)
{
	const struct elf_program_header *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

int unwind_build_init(struct unwind_build *build, struct elf *elf, struct mw_error *e)
{
	*build = (struct unwind_build){.elf = elf};
	if (!elf->is64 || elf->swap || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64))
		return error_set(e, -ENOTSUP, "no unwinding tables for machine %u%s", elf->machine,
				 elf->is64 ? "" : " with 32 bits");
	if (elf_load_sections(elf, NULL) == -ENOMEM)
		return error_set(e, -ENOMEM, "out of memory");
	vec_foreach(h, &elf->program_headers)
	{
		if (h->type == PT_LOAD && h->flags & PF_X && h->file_size &&
		    vec_push(&build->code, *h) < 0)
			return error_set(e, -ENOMEM, "out of memory");
	}
	if (build->code.n)
		qsort(build->code.items, build->code.n, sizeof *build->code.items,
		      compare_segments);
	if (unwind_image_init(&build->image, elf->machine) < 0)
		return error_set(e, -ENOMEM, "out of memory");
	return 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The last executable segment that begins at or below an address. */
static const struct elf_program_header *segment_of(const struct unwind_build *build,
						   uint64_t address)
{
	size_t low = 0, high = build->code.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (build->code.items[middle].vaddr <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &build->code.items[low - 1] : NULL;
}

/* A range of addresses as one of the file; what of it is not loaded from there is left out. */
static int push_span(const struct unwind_build *build, span_list *list, uint64_t begin,
		     uint64_t end, struct span span)
{
	const struct elf_program_header *h = segment_of(build, begin);
	if (!h || begin - h->vaddr >= h->file_size)
		return 0;
	uint64_t into = begin - h->vaddr;
	uint64_t size = MIN(end - begin, h->file_size - into);
	if (list->n >= SPANS_MAX)
		return -EFBIG;
	span.address = begin;
	if (__builtin_add_overflow(h->offset, into, &span.begin) ||
	    __builtin_add_overflow(span.begin, size, &span.end))
		return 0;
	return vec_push(list, span);
}

static int list_functions(struct unwind_build *build, uint32_t source, span_list *ret)
{
	struct cfi *cfi = &build->sections[source].cfi;
	struct cfi_fde fde;
	int r;
	while ((r = cfi_next(cfi, &fde)) == 1) {
		struct span span = {.source = source, .entry = fde.offset};
		r = push_span(build, ret, fde.begin, fde.end, span);
		if (r < 0)
			break;
	}
	return r;
}

/* All FDEs of a section that was just opened in the next place. */
static int add_section(struct unwind_build *build, uint32_t from)
{
	span_list list = {};
	int r = list_functions(build, build->n_sections++, &list);
	if (r < 0) {
		vec_deinit(&list);
		return r;
	}
	build->image.header.n_functions += (uint32_t)list.n;
	if (list.n)
		build->image.header.sources |= from;
	return spans_add(&build->spans, &list);
}

static int add_plain(struct unwind_build *build, plain_list *ranges, uint32_t from)
{
	span_list list = {};
	int r = 0;
	vec_foreach(range, ranges)
	{
		struct span span = {.source = SOURCE_PLAIN, .entry = (uint32_t)build->plain.n};
		if (r == 0)
			r = vec_push(&build->plain, *range);
		if (r == 0)
			r = push_span(build, &list, range->address, range->end, span);
	}
	vec_deinit(ranges);
	if (r < 0) {
		vec_deinit(&list);
		return r;
	}
	if (list.n)
		build->image.header.sources |= from;
	return spans_add(&build->spans, &list);
}

int plain_add(plain_list *list, uint64_t address, uint64_t end, struct unwind_rule rule)
{
	if (list->n >= SPANS_MAX)
		return -EFBIG;
	return vec_push(list, (struct plain_range){address, end, rule});
}

/* ---- sources --------------------------------------------------------------------------------- */

/* What a section gives, or cannot: only want of memory or of room is an error. */
static int take_section(struct unwind_build *build, int opened, uint32_t from, struct mw_error *e)
{
	int r = opened == 0 ? add_section(build, from) : opened;
	if (r == -ENOMEM)
		return error_set(e, r, "out of memory");
	if (r == -EFBIG)
		return error_set(e, r, "too many functions, or too large a section of them");
	build->image.header.n_damaged += r == -EBADMSG;
	return 0;
}

static struct frame_section *next_section(struct unwind_build *build)
{
	return &build->sections[build->n_sections];
}

/* What is found by looking at the code itself, in what is free when its turn comes. */
static int add_code(struct unwind_build *build, struct mw_error *e)
{
	static const struct {
		int (*find)(const struct unwind_build *build, plain_list *ret);
		uint32_t from;
	} finders[] = {
		{stubs_find, UNWIND_FROM_STUBS},
		{stubs_find_destructors, UNWIND_FROM_STUBS},
		{known_code_find, UNWIND_FROM_KNOWN_CODE},
		{go_find, UNWIND_FROM_GO},
		{entry_find, UNWIND_FROM_ENTRY},
		{framed_find, UNWIND_FROM_FRAMES},
	};
	for (size_t i = 0; i < ARRAY_SIZE(finders); i++) {
		plain_list ranges = {};
		int r = finders[i].find(build, &ranges);
		if (r == 0)
			r = add_plain(build, &ranges, finders[i].from);
		vec_deinit(&ranges);
		if (r < 0)
			return error_errno(e, r, "cannot look through the code");
	}
	return 0;
}

int unwind_build_add_file(struct unwind_build *build, struct mw_error *e)
{
	int opened = frame_section_open_eh(next_section(build), build->elf, NULL);
	int r = take_section(build, opened, UNWIND_FROM_EH_FRAME, e);
	if (r < 0)
		return r;
	opened = frame_section_open_debug(next_section(build), build->elf, NULL);
	return take_section(build, opened, UNWIND_FROM_DEBUG_FRAME, e);
}

int unwind_build_add_debug(struct unwind_build *build, struct elf *debug, struct mw_error *e)
{
	if (build->n_sections == UNWIND_SOURCES_MAX || debug->machine != build->elf->machine ||
	    debug->is64 != build->elf->is64 || debug->swap != build->elf->swap)
		return 0;
	int opened = frame_section_open_debug(next_section(build), debug, NULL);
	return take_section(build, opened, UNWIND_FROM_DEBUG_FRAME, e);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct filling {
	struct unwind_build *build;
	const struct span *span;
	const struct cfi *cfi;
	const struct cfi_cie *cie;
};

static int add_state(void *data, uint64_t begin, uint64_t end, const struct cfi_state *state)
{
	const struct filling *f = data;
	uint64_t last = f->span->address + (f->span->end - f->span->begin);
	begin = MAX(begin, f->span->address);
	end = MIN(end, last);
	if (begin >= end)
		return 0;
	struct unwind_rule rule = rule_of(f->cfi, f->cie, state);
	uint64_t to_offset = f->span->begin - f->span->address; /* wraps as it may */
	return unwind_image_add(&f->build->image, begin + to_offset, end + to_offset, &rule);
}

static int fill_span(struct unwind_build *build, const struct span *span)
{
	if (span->source == SOURCE_PLAIN)
		return unwind_image_add(&build->image, span->begin, span->end,
					&build->plain.items[span->entry].rule);
	struct cfi *cfi = &build->sections[span->source].cfi;
	struct cfi_fde fde;
	int r = cfi_read(cfi, span->entry, &fde);
	if (r < 0)
		return r;
	struct filling f = {build, span, cfi, &cfi->cies.items[fde.cie]};
	r = cfi_run(cfi, &fde, add_state, &f);
	if (r != -EBADMSG)
		return r;
	build->image.header.n_damaged++;
	return 0;
}

int unwind_build_finish(struct unwind_build *build, struct buffer *ret, struct mw_error *e)
{
	int r = add_code(build, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < build->n_sections; i++)
		build->image.header.n_damaged += (uint32_t)build->sections[i].cfi.n_damaged;
	if (!build->spans.n)
		return error_set(e, build->image.header.n_damaged ? -EBADMSG : -ENODATA,
				 build->image.header.n_damaged ? "its unwinding rules are damaged"
							       : "it has no unwinding rules");
	vec_foreach(span, &build->spans)
	{
		r = fill_span(build, span);
		if (r < 0)
			return error_set(e, r,
					 r == -EFBIG ? "too many rows for an unwinding table"
						     : "out of memory");
	}
	r = unwind_image_finish(&build->image, ret);
	return r < 0 ? error_set(e, r, "out of memory") : 0;
}
