/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/plt.h"

#include "base/cleanup.h"
#include "unwind/rule.h"

#include <string.h>

#define PLT_MAX (UINT64_C(16) << 20)

enum effect {
	EFFECT_NONE,
	EFFECT_PUSH,
	EFFECT_JUMP,   /* through memory: the stub is over */
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

/* How much is on the stack when the stub in front is jumped to: 8 if nobody does. */
static int32_t depth_at_front(const uint8_t *data, uint64_t size)
{
	int32_t depth = 8;
	for (uint64_t at = 0; at < size;) {
		const struct instruction *known = decode(data + at, size - at);
		if (!known)
			break;
		if (known->effect == EFFECT_PUSH)
			depth += 8;
		at += known->size;
		if (known->effect == EFFECT_DIRECT) {
			int32_t distance;
			memcpy(&distance, data + at - 4, sizeof distance);
			if (at + (uint64_t)(int64_t)distance == 0)
				return depth;
		}
		if (known->effect == EFFECT_JUMP) {
			/* Of a lazy stub the push is behind the jump, which leads there at first. */
			depth = 8;
		} else if (known->effect == EFFECT_DIRECT) {
			depth = 8;
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
		int32_t next = depth;
		if (known->effect == EFFECT_PUSH)
			next += 8;
		else if (known->effect != EFFECT_NONE)
			next = 8;
		if (next == depth)
			continue;
		r = plain_add(ret, address + begin, address + at, rule_of_depth(depth));
		begin = at;
		depth = next;
	}
	return r < 0 ? r : plain_add(ret, address + begin, address + size, rule_of_depth(depth));
}

int plt_find(struct elf *elf, plain_list *ret)
{
	static const char *const names[] = {".plt", ".plt.got", ".plt.sec", ".iplt"};
	if (elf->machine != EM_X86_64)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_find_section(elf, names[i]);
		_cleanup_free_ uint8_t *data = NULL;
		uint64_t size;
		if (!section || !(section->flags & SHF_EXECINSTR) || section->type != SHT_PROGBITS)
			continue;
		int r = elf_section_data(elf, section, PLT_MAX, &data, &size, NULL);
		if (r == -ENOMEM)
			return r;
		if (r == 0 && size)
			r = add_stubs(data, size, section->address, ret);
		if (r < 0 && r != -EBADMSG && r != -EFBIG && r != -ENODATA)
			return r;
	}
	return 0;
}
