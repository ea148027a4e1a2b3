/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules from Go's table of functions, in each of its versions. */
#include "elf/elf.h"
#include "lib/elf_builder.h"
#include "lib/test.h"
#include "unwind/go.h"

#include <string.h>

#define TEXT 0x1000

struct go_function {
	uint32_t begin; /* from TEXT */
	uint8_t flags;
	uint8_t depths[16]; /* pairs, with the 0 that ends them */
	uint32_t name;	    /* offset in `names` */
};

static const char names[] = "main.f\0runtime.mcall\0time.now";

static const struct go_function functions[] = {
	/* 0 for 4 bytes, 24 for 16, 0 to the end */
	{0x00, 0, {2, 4, 48, 16, 47, 12, 0}},
	{0x40, 1, {2, 64, 0}},		   /* nobody calls it */
	{0x80, 2, {2, 64, 0}},		   /* writes to the stack pointer */
	{0xc0, 4, {2, 4, 16, 60, 0}},	   /* assembly */
	{0x100, 0, {3, 64, 0}},		   /* a depth below zero */
	{0x140, 0, {2, 4, 8, 60, 0}},	   /* a depth that is no multiple of 8 */
	{0x180, 2, {2, 64, 0}, 7},	   /* writes to the stack pointer, and never returns */
	{0x1c0, 2, {2, 4, 48, 60, 0}, 21}, /* keeps it in r12 at its 8th byte */
};
#define N ARRAY_SIZE(functions)

static void put_function(struct buffer *out, uint32_t magic, const struct go_function *f,
			 uint32_t depths)
{
	if (magic == 0xfffffffa)
		buffer_u64(out, TEXT + f->begin);
	else
		buffer_u32(out, f->begin);
	for (int i = 0; i < 3; i++)
		buffer_u32(out, i ? 0 : f->name); /* name, args, deferreturn */
	buffer_u32(out, depths);
	for (int i = 0; i < 4; i++)
		buffer_u32(out, 0);
	if (magic == 0xfffffff1)
		buffer_u32(out, 77); /* first line */
	buffer_u8(out, 0);
	buffer_u8(out, f->flags);
	buffer_u16(out, 0);
}

static void put_word(struct buffer *out, uint32_t magic, uint64_t v)
{
	if (magic == 0xfffffffa)
		buffer_u64(out, v);
	else
		buffer_u32(out, (uint32_t)v);
}

#define PCTAB	  0x60
#define FUNCTIONS 0x120

static void put_table(struct buffer *out, uint32_t magic)
{
	bool is_old = magic == 0xfffffffa;
	size_t word = is_old ? 8 : 4, size = magic == 0xfffffff0 ? 40 : 44;
	buffer_u32(out, magic);
	buffer_u16(out, 0);
	buffer_u8(out, 1);
	buffer_u8(out, 8);
	buffer_u64(out, N);
	buffer_u64(out, 1);
	if (!is_old)
		buffer_u64(out, TEXT);
	buffer_u64(out, PCTAB + 1 + N * 16);
	buffer_u64(out, 0);
	buffer_u64(out, 0);
	buffer_u64(out, PCTAB);
	buffer_u64(out, FUNCTIONS);
	buffer_align(out, PCTAB);
	buffer_u8(out, 0);
	for (size_t i = 0; i < N; i++)
		buffer_bytes(out, functions[i].depths, 16);
	buffer_bytes(out, names, sizeof names);
	buffer_align(out, FUNCTIONS);
	uint64_t at = (2 * N + 1) * word;
	for (size_t i = 0; i < N; i++) {
		put_word(out, magic, (is_old ? TEXT : 0) + functions[i].begin);
		put_word(out, magic, at + i * size);
	}
	put_word(out, magic, (is_old ? TEXT : 0) + 0x200);
	for (size_t i = 0; i < N; i++)
		put_function(out, magic, &functions[i], (uint32_t)(1 + i * 16));
}

/* The ranges that come of a table; n bytes of it, at most. */
static void find(uint32_t magic, size_t n, plain_list *ret)
{
	struct elf_builder b = elf_builder_init();
	struct buffer table = {}, file = {};
	struct unwind_build build;
	struct elf elf;
	put_table(&table, magic);
	uint32_t text = elf_builder_text(&b, TEXT, 0x200);
	memcpy(b.sections.items[text].copy + 0x1c8, (const uint8_t[]){0x49, 0x89, 0xe4}, 3);
	elf_builder_section(&b, (struct builder_section){.name = ".gopclntab",
							 .type = SHT_PROGBITS,
							 .data = table.data,
							 .size = MIN(n, table.n),
							 .align = 8});
	elf_builder_finish(&b, &file);
	assert_int_equal(elf_open_memory(&elf, file.data, file.n, NULL), 0);
	assert_int_equal(unwind_build_init(&build, &elf, NULL), 0);
	assert_int_equal(go_find(&build, ret), 0);
	unwind_build_deinit(&build);
	elf_deinit(&elf);
	buffer_deinit(&file);
	buffer_deinit(&table);
	elf_builder_deinit(&b);
}

static struct unwind_rule rule_at(const plain_list *list, uint64_t address)
{
	vec_foreach(range, list)
	{
		if (address >= range->address && address < range->end)
			return range->rule;
	}
	return (struct unwind_rule){};
}

static void is_depth(const plain_list *list, uint64_t address, int depth)
{
	struct unwind_rule rule = rule_at(list, address);
	assert_int_equal(rule.kind, UNWIND_RULE);
	assert_int_equal(rule.cfa_offset, depth + 8);
	assert_int_equal(rule.return_at, -1);
}

static void gives_each_instruction_its_depth_in_every_version(void **state)
{
	static const uint32_t magics[] = {0xfffffffa, 0xfffffff0, 0xfffffff1};
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		plain_list list = {};
		find(magics[i], SIZE_MAX, &list);
		is_depth(&list, TEXT, 0);
		is_depth(&list, TEXT + 3, 0);
		is_depth(&list, TEXT + 4, 24);
		assert_int_equal(rule_at(&list, TEXT + 4).saved[0], -2);
		is_depth(&list, TEXT + 19, 24);
		is_depth(&list, TEXT + 20, 0);
		assert_int_equal(rule_at(&list, TEXT + 20).saved[0], UNWIND_SAME);
		assert_int_equal(rule_at(&list, TEXT + 32).kind, UNWIND_NO_RULE);
		assert_int_equal(rule_at(&list, TEXT + 0x40).kind, UNWIND_END);
		assert_int_equal(rule_at(&list, TEXT + 0x80).kind, UNWIND_UNSUPPORTED);
		is_depth(&list, TEXT + 0xc4, 8);
		assert_int_equal(rule_at(&list, TEXT + 0xc4).saved[0], UNWIND_UNDEFINED);
		assert_int_equal(rule_at(&list, TEXT + 0x100).kind, UNWIND_NO_RULE);
		assert_int_equal(rule_at(&list, TEXT + 0x180).kind, UNWIND_END);
		is_depth(&list, TEXT + 0x1c3, 0);
		is_depth(&list, TEXT + 0x1ca, 24);
		assert_int_equal(rule_at(&list, TEXT + 0x1ca).flags, 0);
		is_depth(&list, TEXT + 0x1cb, 24);
		assert_int_equal(rule_at(&list, TEXT + 0x1cb).cfa_register, 12);
		assert_int_equal(rule_at(&list, TEXT + 0x1ff).flags, UNWIND_RULE_SWITCHES);
		is_depth(&list, TEXT + 0x140, 0);
		assert_int_equal(rule_at(&list, TEXT + 0x144).kind, UNWIND_NO_RULE);
		vec_deinit(&list);
	}
}

static void survives_a_table_cut_at_any_byte(void **state)
{
	for (size_t n = 0; n < 0x280; n++) {
		plain_list list = {};
		find(0xfffffff1, n, &list);
		vec_foreach(range, &list)
			assert_true(range->address >= TEXT && range->end <= TEXT + 0x200);
		vec_deinit(&list);
	}
}

static void passes_over_versions_it_does_not_know(void **state)
{
	plain_list list = {};
	find(0xfffffff2, SIZE_MAX, &list);
	assert_int_equal(list.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_each_instruction_its_depth_in_every_version),
		cmocka_unit_test(survives_a_table_cut_at_any_byte),
		cmocka_unit_test(passes_over_versions_it_does_not_know),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
