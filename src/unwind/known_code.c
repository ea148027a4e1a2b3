/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/known_code.h"

#include "base/cleanup.h"
#include "unwind/gaps.h"
#include "unwind/rule.h"

#include <string.h>

#define FOUND_MAX   64
#define PATTERN_MAX 9

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

/* syscall; test %rax, %rax; jl (the error); je to the new thread's code; ret */
static const uint8_t clone3_end[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c};
static const uint8_t clone3_return[] = {0x74, 0x01, 0xc3};
/* Before it, and with a rule: mov $435, %eax. clone, which ends alike, has other things on its
 * stack. */
static const uint8_t clone3_number[] = {0xb8, 0xb3, 0x01, 0x00, 0x00};
#define CLONE3_SIZE 10

struct search {
	const struct unwind_build *build;
	uint16_t machine;
	plain_list *ret;
};

static int search_for(struct search *s, const struct pattern *p, const struct gap *gap)
{
	const uint8_t *end = gap->data + gap->size;
	const uint8_t *at = gap->data;
	while ((at = memmem(at, (size_t)(end - at), p->bytes, p->n))) {
		uint64_t begin = gap->address + (uint64_t)(at - gap->data);
		if (s->ret->n == FOUND_MAX)
			return 0;
		int r = plain_add(s->ret, begin - 1, begin + p->n,
				  rule_of_signal_frame(s->machine));
		if (r < 0)
			return r;
		at += p->n;
	}
	return 0;
}

static bool is_clone3(const struct search *s, uint64_t address)
{
	const struct elf *elf = s->build->elf;
	uint8_t before[sizeof clone3_number];
	uint64_t offset;
	return elf_address_to_offset(elf, address - sizeof before, &offset) == 1 &&
	       source_read(&elf->source, offset, before, sizeof before) == 0 &&
	       memcmp(before, clone3_number, sizeof before) == 0;
}

static int search_clone3(struct search *s, const struct gap *gap)
{
	const uint8_t *end = gap->data + gap->size;
	const uint8_t *at = gap->data;
	while ((at = memmem(at, (size_t)(end - at), clone3_end, sizeof clone3_end))) {
		uint64_t begin = gap->address + (uint64_t)(at - gap->data);
		if (end - at >= CLONE3_SIZE && is_clone3(s, begin) &&
		    memcmp(at + CLONE3_SIZE - sizeof clone3_return, clone3_return,
			   sizeof clone3_return) == 0)
			return plain_add(s->ret, begin, begin + CLONE3_SIZE, rule_of_depth(8));
		at += sizeof clone3_end;
	}
	return 0;
}

static int search_gap(void *data, const struct gap *gap)
{
	struct search *s = data;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		int r = patterns[i].machine == s->machine ? search_for(s, &patterns[i], gap) : 0;
		if (r < 0)
			return r;
	}
	return s->machine == EM_X86_64 ? search_clone3(s, gap) : 0;
}

int known_code_find(const struct unwind_build *build, plain_list *ret)
{
	struct search s = {build, build->elf->machine, ret};
	return gaps_each(build, PATTERN_MAX - 2, search_gap, &s);
}
