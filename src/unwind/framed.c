/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/framed.h"

#include "base/cleanup.h"
#include "unwind/gaps.h"
#include "unwind/rule.h"

#include <string.h>

#define GAP_LEAST	 4096
#define FUNCTIONS_LEAST	 16
#define FUNCTION_AVERAGE 4096 /* bytes for each beginning that is found, at most */

static const uint8_t beginning[] = {0x55, 0x48, 0x89, 0xe5}; /* push %rbp; mov %rsp, %rbp */

static size_t count_beginnings(const struct gap *gap)
{
	const uint8_t *at = gap->data, *end = gap->data + gap->size;
	size_t n = 0;
	while ((at = memmem(at, (size_t)(end - at), beginning, sizeof beginning))) {
		at += sizeof beginning;
		n++;
	}
	return n;
}

/* pop %rbp or leave, then ret: at the ret only the return address is left of the frame. */
static bool is_return_at(const struct gap *gap, size_t at)
{
	uint8_t before = at ? gap->data[at - 1] : 0, here = gap->data[at];
	return (before == 0x5d || before == 0xc9) && (here == 0xc3 || here == 0xc2);
}

struct marking {
	const struct gap *gap;
	plain_list *ret;
	size_t begin; /* of what is not in the list yet */
};

/* [at, at + size) has this rule, and what is before it frame pointers. */
static int mark(struct marking *m, size_t at, size_t size, struct unwind_rule rule)
{
	const struct unwind_rule framed = {.kind = UNWIND_FRAME_POINTER};
	uint64_t address = m->gap->address;
	int r = 0;
	if (at > m->begin)
		r = plain_add(m->ret, address + m->begin, address + at, framed);
	if (r == 0 && size)
		r = plain_add(m->ret, address + at, address + at + size, rule);
	m->begin = at + size;
	return r;
}

static int mark_function(struct marking *m, size_t at)
{
	struct unwind_rule pushed = rule_of_depth(16);
	pushed.saved[0] = -2; /* %rbp */
	int r = mark(m, at, 1, rule_of_depth(8));
	return r < 0 ? r : mark(m, at + 1, 3, pushed);
}

static int mark_gap(void *data, const struct gap *gap)
{
	struct marking m = {.gap = gap, .ret = data};
	size_t n = count_beginnings(gap);
	if (n < FUNCTIONS_LEAST || gap->size / n > FUNCTION_AVERAGE)
		return 0;
	int r = 0;
	for (size_t at = 0; at < gap->size && r == 0; at++) {
		if (at + sizeof beginning <= gap->size &&
		    memcmp(gap->data + at, beginning, sizeof beginning) == 0) {
			r = mark_function(&m, at);
			at += sizeof beginning - 1;
		} else if (is_return_at(gap, at)) {
			r = mark(&m, at, 1, rule_of_depth(8));
		}
	}
	return r < 0 ? r : mark(&m, gap->size, 0, (struct unwind_rule){});
}

int framed_find(const struct unwind_build *build, plain_list *ret)
{
	if (build->elf->machine != EM_X86_64)
		return 0;
	return gaps_each(build, GAP_LEAST, mark_gap, ret);
}
