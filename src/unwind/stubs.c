/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/stubs.h"

#include "base/cleanup.h"
#include "unwind/gaps.h"
#include "unwind/rule.h"

#include <string.h>

#define SECTION_MAX (UINT64_C(16) << 20)

enum effect {
	EFFECT_NONE,
	EFFECT_PUSH,
	EFFECT_POP,
	EFFECT_JUMP,   /* through memory, or a return: the stub is over */
	EFFECT_DIRECT, /* to another place in the section */
	EFFECT_FILL,   /* between stubs */
};

struct instruction {
	uint8_t bytes[4];
	uint8_t n;    /* of those that tell it */
	uint8_t size; /* all of it */
	uint8_t effect;
};

/* Longer ones that begin with the same bytes first. */
static const struct instruction instructions[] = {
	{{0xf3, 0x0f, 0x1e, 0xfa}, 4, 4, EFFECT_NONE}, /* endbr64 */
	{{0xf2, 0xff, 0x25}, 3, 7, EFFECT_JUMP},       /* bnd jmp *disp32(%rip) */
	{{0xff, 0x25}, 2, 6, EFFECT_JUMP},	       /* jmp *disp32(%rip) */
	{{0xff, 0x35}, 2, 6, EFFECT_PUSH},	       /* push disp32(%rip) */
	{{0x68}, 1, 5, EFFECT_PUSH},		       /* push $imm32 */
	{{0x41, 0x53}, 2, 2, EFFECT_PUSH},	       /* push %r11 */
	{{0x41, 0xbb}, 2, 6, EFFECT_NONE},	       /* mov $imm32, %r11d */
	{{0x4c, 0x8b, 0x1d}, 3, 7, EFFECT_NONE},       /* mov disp32(%rip), %r11 */
	{{0x41, 0xff, 0xe3}, 3, 3, EFFECT_JUMP},       /* jmp *%r11 */
	{{0xf2, 0xe9}, 2, 6, EFFECT_DIRECT},	       /* bnd jmp rel32 */
	{{0xe9}, 1, 5, EFFECT_DIRECT},		       /* jmp rel32 */
	{{0x48, 0x83, 0xec, 0x08}, 4, 4, EFFECT_PUSH}, /* sub $8, %rsp */
	{{0x48, 0x83, 0xc4, 0x08}, 4, 4, EFFECT_POP},  /* add $8, %rsp */
	{{0x48, 0x8b, 0x05}, 3, 7, EFFECT_NONE},       /* mov disp32(%rip), %rax */
	{{0x48, 0x85, 0xc0}, 3, 3, EFFECT_NONE},       /* test %rax, %rax */
	{{0x74}, 1, 2, EFFECT_NONE},		       /* je */
	{{0xff, 0xd0}, 2, 2, EFFECT_NONE},	       /* call *%rax */
	{{0xe8}, 1, 5, EFFECT_NONE},		       /* call rel32 */
	{{0xc3}, 1, 1, EFFECT_JUMP},		       /* ret */
	{{0x0f, 0x1f, 0x44, 0x00}, 4, 5, EFFECT_FILL}, /* nops */
	{{0x0f, 0x1f, 0x40}, 3, 4, EFFECT_FILL},
	{{0x0f, 0x1f, 0x00}, 3, 3, EFFECT_FILL},
	{{0x0f, 0x1f, 0x80}, 3, 7, EFFECT_FILL},
	{{0x0f, 0x1f, 0x84}, 3, 8, EFFECT_FILL},
	{{0x66, 0x0f, 0x1f, 0x44}, 4, 6, EFFECT_FILL},
	{{0x66, 0x0f, 0x1f, 0x84}, 4, 9, EFFECT_FILL},
	{{0x66, 0x90}, 2, 2, EFFECT_FILL},
	{{0x90}, 1, 1, EFFECT_FILL},
	{{0xcc}, 1, 1, EFFECT_FILL},
};

static const struct instruction *decode(const uint8_t *at, uint64_t left)
{
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
		const struct instruction *known = &instructions[i];
		if (known->size <= left && memcmp(known->bytes, at, known->n) == 0)
			return known;
	}
	return NULL;
}

/* Of a lazy stub the push is behind the jump through memory, which leads there at first. */
static int32_t depth_after(const struct instruction *known, int32_t depth)
{
	switch (known->effect) {
	case EFFECT_NONE:
		return depth;
	case EFFECT_PUSH:
		return depth + 8;
	case EFFECT_POP:
		return depth - 8;
	default:
		return 8;
	}
}

/* How much is on the stack when the stub in front is jumped to: 8 if nobody does. */
static int32_t depth_at_front(const uint8_t *data, uint64_t size)
{
	int32_t depth = 8;
	for (uint64_t at = 0; at < size;) {
		const struct instruction *known = decode(data + at, size - at);
		if (!known)
			break;
		int32_t before = depth;
		depth = depth_after(known, depth);
		at += known->size;
		if (known->effect == EFFECT_DIRECT) {
			int32_t distance;
			memcpy(&distance, data + at - 4, sizeof distance);
			if (at + (uint64_t)(int64_t)distance == 0)
				return before;
		}
	}
	return 8;
}

static int add_stubs(const uint8_t *data, uint64_t size, uint64_t address, plain_list *ret)
{
	int32_t depth = depth_at_front(data, size);
	uint64_t begin = 0;
	int r = 0;
	for (uint64_t at = 0; r == 0 && at < size;) {
		const struct instruction *known = decode(data + at, size - at);
		if (!known)
			return plain_add(ret, address + begin, address + at, rule_of_depth(depth));
		at += known->size;
		int32_t next = depth_after(known, depth);
		if (next == depth)
			continue;
		r = plain_add(ret, address + begin, address + at, rule_of_depth(depth));
		begin = at;
		depth = next;
	}
	return r < 0 ? r : plain_add(ret, address + begin, address + size, rule_of_depth(depth));
}

int stubs_find(const struct unwind_build *build, plain_list *ret)
{
	static const char *const names[] = {".plt",  ".plt.got", ".plt.sec",
					    ".iplt", ".init",	 ".fini"};
	struct elf *elf = build->elf;
	if (elf->machine != EM_X86_64)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_find_section(elf, names[i]);
		_cleanup_free_ uint8_t *data = NULL;
		uint64_t size;
		if (!section || !(section->flags & SHF_EXECINSTR) || section->type != SHT_PROGBITS)
			continue;
		int r = elf_section_data(elf, section, SECTION_MAX, &data, &size, NULL);
		if (r == 0 && size)
			r = add_stubs(data, size, section->address, ret);
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

/* ---- __do_global_dtors_aux ------------------------------------------------------------------- */

/*
 *	[endbr64]
 *	80 3d .. .. .. .. 00	cmpb $0, completed(%rip)
 *	75 ..			jne to a ret; or je
 *	55			push %rbp
 *	...			calls
 *	5d c3			pop %rbp; ret
 *	...
 *	c3
 */
#define DESTRUCTORS_PUSH 9
#define DESTRUCTORS_MAX	 128

static bool is_destructors(const uint8_t *at, size_t left)
{
	return left > DESTRUCTORS_PUSH + 1 && at[6] == 0 && (at[7] == 0x75 || at[7] == 0x74) &&
	       at[8] < DESTRUCTORS_MAX && at[DESTRUCTORS_PUSH] == 0x55 &&
	       left > (size_t)DESTRUCTORS_PUSH + at[8] && at[DESTRUCTORS_PUSH + at[8]] == 0xc3;
}

static int add_destructors(const struct gap *gap, size_t begin, plain_list *ret)
{
	static const uint8_t leaving[] = {0x5d, 0xc3}, landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const uint8_t *at = gap->data + begin;
	size_t push = DESTRUCTORS_PUSH + 1, end = DESTRUCTORS_PUSH + (size_t)at[8] + 1;
	const uint8_t *pop = memmem(at + push, end - push, leaving, sizeof leaving);
	uint64_t address = gap->address + begin, first = address;
	if (!pop)
		return 0;
	if (begin >= 4 && memcmp(at - 4, landing, sizeof landing) == 0)
		first -= 4;
	struct unwind_rule pushed = rule_of_depth(16);
	pushed.saved[0] = -2; /* %rbp */
	size_t popped = (size_t)(pop - at) + 1;
	int r = plain_add(ret, first, address + push, rule_of_depth(8));
	if (r == 0)
		r = plain_add(ret, address + push, address + popped, pushed);
	return r < 0 ? r : plain_add(ret, address + popped, address + end, rule_of_depth(8));
}

static int search_destructors(void *data, const struct gap *gap)
{
	static const uint8_t comparison[] = {0x80, 0x3d};
	const uint8_t *at = gap->data, *end = gap->data + gap->size;
	while ((at = memmem(at, (size_t)(end - at), comparison, sizeof comparison))) {
		if (is_destructors(at, (size_t)(end - at)))
			return add_destructors(gap, (size_t)(at - gap->data), data);
		at += sizeof comparison;
	}
	return 0;
}

int stubs_find_destructors(const struct unwind_build *build, plain_list *ret)
{
	return build->elf->machine == EM_X86_64 ? gaps_each(build, 32, search_destructors, ret) : 0;
}
