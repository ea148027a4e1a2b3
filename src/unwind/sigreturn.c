/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sigreturn.h"

#include "base/cleanup.h"
#include "unwind/rule.h"

#include <string.h>

/* Code that is read for this; more is not looked through. */
#define CODE_MAX    (UINT64_C(256) << 20)
#define CHUNK	    ((size_t)1 << 20)
#define FOUND_MAX   64
#define PATTERN_MAX 9

/* What is common to all, where in it the code begins, and how long it is. */
struct pattern {
	uint16_t machine;
	uint8_t bytes[PATTERN_MAX];
	uint8_t n;
};

static const struct pattern patterns[] = {
	/* mov $15, %rax; syscall */
	{EM_X86_64, {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}, 9},
	/* mov $15, %eax; syscall */
	{EM_X86_64, {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}, 7},
	/* mov x8, #139; svc #0 */
	{EM_AARCH64, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}, 8},
};

struct search {
	const struct unwind_build *build;
	plain_list *ret;
	uint8_t *chunk;
	uint64_t budget;
};

static int search_bytes(struct search *s, const uint8_t *data, size_t size, uint64_t address)
{
	uint16_t machine = s->build->elf->machine;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		const struct pattern *p = &patterns[i];
		const uint8_t *at = data;
		if (p->machine != machine)
			continue;
		while ((at = memmem(at, size - (size_t)(at - data), p->bytes, p->n))) {
			uint64_t begin = address + (uint64_t)(at - data);
			int r = plain_add(s->ret, begin - 1, begin + p->n,
					  rule_of_signal_frame(machine));
			if (r < 0 || s->ret->n >= FOUND_MAX)
				return r < 0 ? r : -EFBIG;
			at += p->n;
		}
	}
	return 0;
}

/* Chunks overlap by what a pattern may be cut by; one found twice begins at one place, and is one. */
static int search_range(struct search *s, uint64_t begin, uint64_t end, uint64_t address)
{
	while (end - begin >= PATTERN_MAX - 2 && s->budget) {
		size_t n = (size_t)MIN(MIN(end - begin, CHUNK), s->budget);
		if (source_read(&s->build->elf->source, begin, s->chunk, n) < 0)
			return 0;
		int r = search_bytes(s, s->chunk, n, address);
		if (r < 0)
			return r;
		s->budget -= n;
		if (n < CHUNK)
			break;
		begin += n - PATTERN_MAX;
		address += n - PATTERN_MAX;
	}
	return 0;
}

/* What of a segment no span covers. */
static int search_segment(struct search *s, const struct elf_program_header *h)
{
	uint64_t begin = h->offset, end;
	if (__builtin_add_overflow(h->offset, h->file_size, &end))
		return 0;
	int r = 0;
	vec_foreach(span, &s->build->spans) {
		if (span->end <= begin || r < 0)
			continue;
		if (span->begin >= end)
			break;
		if (span->begin > begin)
			r = search_range(s, begin, span->begin, h->vaddr + (begin - h->offset));
		begin = span->end;
	}
	if (r == 0 && begin < end)
		r = search_range(s, begin, end, h->vaddr + (begin - h->offset));
	return r;
}

int sigreturn_find(const struct unwind_build *build, plain_list *ret)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK);
	if (!chunk)
		return -ENOMEM;
	struct search s = {.build = build, .ret = ret, .chunk = chunk, .budget = CODE_MAX};
	for (size_t i = 0; i < build->code.n && i < 16; i++) {
		int r = search_segment(&s, &build->code.items[i]);
		if (r < 0)
			return r == -EFBIG ? 0 : r;
	}
	return 0;
}
