/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walks over stacks made in memory, by rules made by hand: right ones and hostile ones. */
#include "lib/test.h"
#include "unwind/rule.h"
#include "unwind/unwind_image.h"
#include "unwind/walk.h"

#include <elf.h>
#include <string.h>

#define STACK 0x7000
#define WORDS 512
#define CODE  0x10000 /* where offset 0 of the table is mapped */
#define JIT   0x50000 /* code without a file */

struct world {
	uint64_t stack[WORDS]; /* at STACK */
	struct unwind_image image;
	struct buffer bytes;
	struct unwind_table table;
	struct unwind_registers r;
	struct walk_frame frames[128];
	struct walk_result result;
	uint16_t machine;
	unsigned long reads;
};

static int read_word(void *data, uint64_t address, uint64_t *ret)
{
	struct world *w = data;
	w->reads++;
	if (address % 8 || address < STACK || address >= STACK + sizeof w->stack)
		return -EFAULT;
	*ret = w->stack[(address - STACK) / 8];
	return 0;
}

static void find_code(void *data, uint64_t address, struct walk_code *ret)
{
	struct world *w = data;
	if (address >= CODE && address < CODE + 0x10000)
		*ret = (struct walk_code){WALK_BY_TABLE, &w->table, address - CODE, 1};
	else if (address >= JIT && address < JIT + 0x1000)
		*ret = (struct walk_code){WALK_BY_FRAME_POINTER, NULL, 0, 0};
	else if (address >= JIT + 0x1000 && address < JIT + 0x2000)
		*ret = (struct walk_code){WALK_WITHOUT_TABLE, NULL, 0, 2};
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	w->machine = EM_X86_64;
	w->r = (struct unwind_registers){.ip = CODE + 4, .known = 0xffff, .exact = 1};
	w->r.value[7] = STACK;
	assert_int_equal(unwind_image_init(&w->image, EM_X86_64), 0);
	return w;
}

static void world_free(struct world *w)
{
	unwind_image_deinit(&w->image);
	buffer_deinit(&w->bytes);
	free(w);
}

/* Functions of 16 bytes, in order. */
static void add(struct world *w, uint64_t at, struct unwind_rule rule)
{
	assert_int_equal(unwind_image_add(&w->image, at, at + 16, &rule), 0);
}

static void walk(struct world *w)
{
	if (!w->bytes.n)
		assert_int_equal(unwind_image_finish(&w->image, &w->bytes), 0);
	assert_int_equal(unwind_table_open_memory(&w->table, w->bytes.data, w->bytes.n, NULL), 0);
	struct walk_task task = {w->machine, w, read_word, find_code};
	walk_stack(&task, &w->r, w->frames, ARRAY_SIZE(w->frames), &w->result);
}

static void ends(const struct world *w, size_t n, enum mw_reason reason)
{
	assert_int_equal(w->result.n, n);
	assert_int_equal(w->result.reason, reason);
	assert_int_equal(w->result.is_whole, reason == MW_REASON_NONE);
}

static const struct unwind_rule end_rule = {.kind = UNWIND_END};

static void walks_to_the_bottom_and_reads_only_return_addresses(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(24));
	add(w, 16, rule_of_depth(16));
	add(w, 32, end_rule);
	w->stack[2] = CODE + 16 + 5;
	w->stack[4] = CODE + 32 + 5;
	walk(w);
	ends(w, 3, MW_REASON_NONE);
	assert_int_equal(w->reads, 2);
	assert_int_equal(w->frames[0].address, CODE + 4);
	assert_false(w->frames[0].is_return);
	assert_int_equal(w->frames[1].address, CODE + 21);
	assert_int_equal(w->frames[1].offset, 21);
	assert_int_equal(w->frames[1].file, 1);
	assert_true(w->frames[1].is_return);
	assert_int_equal(w->r.value[7], STACK + 40);
	world_free(w);
}

/* A call at a function's very end returns to where the next one begins. */
static void looks_return_addresses_up_one_byte_before(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(8));
	add(w, 16, rule_of_depth(8));
	add(w, 32, end_rule);
	w->stack[0] = CODE + 32; /* a call in the function at 16 that does not come back */
	w->stack[1] = CODE + 48;
	walk(w);
	ends(w, 3, MW_REASON_NONE);
	world_free(w);
}

static struct unwind_rule rbp_rule(void)
{
	struct unwind_rule rule = rule_of_depth(16);
	rule.cfa_register = 6;
	rule.saved[0] = -2;
	return rule;
}

static void finds_registers_that_were_saved_some_frames_below(void **state)
{
	struct world *w = world_new();
	struct unwind_rule saves = rule_of_depth(24), needs = rule_of_depth(8);
	saves.saved[0] = -2;	/* rbp */
	saves.saved[1] = -3;	/* rbx */
	needs.cfa_register = 3; /* as the dynamic linker's resolver */
	add(w, 0, saves);
	add(w, 16, rule_of_depth(8));
	add(w, 32, rbp_rule());
	add(w, 48, needs);
	add(w, 64, end_rule);
	w->stack[0] = STACK + 20 * 8; /* rbx */
	w->stack[1] = STACK + 8 * 8;  /* rbp */
	w->stack[2] = CODE + 16 + 1;
	w->stack[3] = CODE + 32 + 1;
	w->stack[9] = CODE + 48 + 1;
	w->stack[20] = CODE + 64 + 1;
	walk(w);
	ends(w, 5, MW_REASON_NONE);
	assert_int_equal(w->r.value[7], STACK + 21 * 8);
	world_free(w);
}

static void ends_where_a_rule_needs_a_register_that_no_call_keeps(void **state)
{
	struct world *w = world_new();
	struct unwind_rule by_rax = rule_of_depth(8);
	by_rax.cfa_register = 0;
	add(w, 0, by_rax);
	add(w, 16, by_rax);
	w->r.value[0] = STACK + 32;
	w->stack[4] = CODE + 16 + 1;
	walk(w);
	ends(w, 2, MW_REASON_NO_TABLE); /* in the leaf it is known */
	world_free(w);
}

static void follows_a_realigned_stack(void **state)
{
	struct world *w = world_new();
	struct unwind_rule rule = rule_of_depth(0);
	rule.cfa = UNWIND_CFA_MEMORY;
	rule.cfa_register = 6;
	rule.cfa_offset = -8;
	rule.base_register = 6;
	rule.base_mask = 1;
	rule.saved[0] = 0;
	add(w, 0, rule);
	add(w, 16, rbp_rule());
	add(w, 32, end_rule);
	w->r.value[6] = STACK + 8 * 8;
	w->stack[7] = STACK + 12 * 8; /* the base */
	w->stack[8] = STACK + 16 * 8; /* rbp of the caller */
	w->stack[11] = CODE + 16 + 1;
	w->stack[17] = CODE + 32 + 1;
	walk(w);
	ends(w, 3, MW_REASON_NONE);
	world_free(w);
}

static void knows_how_deep_a_stub_of_the_plt_is(void **state)
{
	for (unsigned i = 0; i < 16; i++) {
		struct world *w = world_new();
		struct unwind_rule rule = rule_of_depth(8);
		rule.cfa = UNWIND_CFA_PLT;
		rule.cfa_offset2 = 11;
		add(w, 0, rule);
		add(w, 16, end_rule);
		w->r.ip = CODE + i;
		w->stack[i >= 11] = CODE + 16 + 1;
		walk(w);
		ends(w, 2, MW_REASON_NONE);
		world_free(w);
	}
}

static void goes_through_a_signal_frame_with_all_registers(void **state)
{
	struct world *w = world_new();
	struct unwind_rule by_rax = rule_of_depth(8);
	by_rax.cfa_register = 0;
	add(w, 0, rule_of_depth(8));		     /* the handler */
	add(w, 16, rule_of_signal_frame(EM_X86_64)); /* where it returns to, one byte early */
	add(w, 32, by_rax);			     /* what was interrupted */
	add(w, 48, end_rule);
	w->stack[0] = CODE + 17;
	uint64_t *saved = w->stack + 1 + 40 / 8; /* from the stack pointer after the return */
	saved[13] = STACK + 100 * 8;		 /* rax */
	saved[15] = STACK + 90 * 8;		 /* rsp */
	saved[16] = CODE + 32;			 /* rip: a function's first instruction */
	w->stack[100] = CODE + 49;
	walk(w);
	ends(w, 4, MW_REASON_NONE);
	assert_false(w->frames[2].is_return);
	assert_true(w->frames[3].is_return);
	world_free(w);
}

static void signal_frames_that_lead_to_each_other_end(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_signal_frame(EM_X86_64));
	uint64_t *saved = w->stack + 40 / 8;
	saved[15] = STACK;
	saved[16] = CODE;
	walk(w);
	ends(w, UNWIND_SIGNALS_MAX + 1, MW_REASON_BROKEN_UNWIND);
	world_free(w);
}

static struct unwind_rule switch_rule(void)
{
	struct unwind_rule rule = rule_of_depth(8);
	rule.cfa_register = 12;
	rule.flags = UNWIND_RULE_SWITCHES;
	return rule;
}

static void follows_a_switch_to_a_lower_stack(void **state)
{
	struct world *w = world_new();
	struct unwind_rule saves = rule_of_depth(16);
	saves.saved[2] = -2; /* r12 */
	add(w, 0, saves);
	add(w, 16, switch_rule());
	add(w, 32, end_rule);
	w->r.value[7] = STACK + 100 * 8;
	w->stack[100] = STACK + 10 * 8;
	w->stack[101] = CODE + 16 + 1;
	w->stack[10] = CODE + 32 + 1;
	walk(w);
	ends(w, 3, MW_REASON_NONE);
	assert_int_equal(w->r.value[7], STACK + 11 * 8);
	world_free(w);
}

static void switches_of_stacks_that_lead_to_each_other_end(void **state)
{
	struct world *w = world_new();
	add(w, 0, switch_rule());
	w->r.value[12] = STACK;
	w->stack[0] = CODE + 1;
	walk(w);
	ends(w, UNWIND_SIGNALS_MAX + 1, MW_REASON_BROKEN_UNWIND);
	world_free(w);
}

static void a_caller_that_is_not_above_ends_it(void **state)
{
	static const int32_t depths[] = {0, -8, -1000, 4, INT32_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		struct world *w = world_new();
		add(w, 0, rule_of_depth(depths[i]));
		for (int j = 0; j < WORDS; j++)
			w->stack[j] = CODE + 1;
		walk(w);
		ends(w, 1, MW_REASON_BROKEN_UNWIND);
		world_free(w);
	}
}

static void a_return_address_in_a_register_is_used_once(void **state)
{
	struct world *w = world_new();
	struct unwind_rule rule = rule_of_depth(0);
	rule.return_in = UNWIND_RETURN_REGISTER;
	rule.return_register = 5;
	add(w, 0, rule);
	w->r.value[5] = CODE + 1; /* itself */
	walk(w);
	ends(w, 2, MW_REASON_NO_TABLE);
	world_free(w);
}

static void says_where_memory_cannot_be_read(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(WORDS * 8 + 8));
	walk(w);
	ends(w, 1, MW_REASON_STACK_UNREADABLE);
	world_free(w);
}

static void says_where_there_is_no_rule(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(8));
	add(w, 32, (struct unwind_rule){.kind = UNWIND_UNSUPPORTED});
	w->stack[0] = CODE + 16 + 1;
	walk(w);
	ends(w, 2, MW_REASON_NO_TABLE);
	w->r.ip = CODE + 33;
	w->r.exact = 1;
	walk(w);
	ends(w, 1, MW_REASON_NO_TABLE);
	w->r.ip = JIT + 0x1800;
	w->r.exact = 1;
	walk(w);
	ends(w, 1, MW_REASON_NO_TABLE);
	world_free(w);
}

static void says_where_it_left_the_code(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(8));
	w->stack[0] = 0x1234;
	walk(w);
	ends(w, 1, MW_REASON_BROKEN_UNWIND);
	w->r.ip = 0x1234;
	w->r.exact = 1;
	walk(w);
	ends(w, 0, MW_REASON_NO_MAPPING);
	world_free(w);
}

static void a_stack_deeper_than_the_room_is_cut(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(8));
	for (int i = 0; i < WORDS; i++)
		w->stack[i] = CODE + 1;
	walk(w);
	ends(w, ARRAY_SIZE(w->frames), MW_REASON_CUT_DEPTH);
	world_free(w);
}

static void goes_through_generated_code_by_frame_pointers(void **state)
{
	struct world *w = world_new();
	add(w, 0, rule_of_depth(8));
	add(w, 16, rule_of_depth(16));
	add(w, 32, (struct unwind_rule){.kind = UNWIND_FRAME_POINTER});
	add(w, 48, end_rule);
	w->stack[0] = JIT + 10;
	w->r.value[6] = STACK + 4 * 8;
	w->stack[4] = STACK + 10 * 8;
	w->stack[5] = JIT + 20;
	w->stack[10] = STACK + 14 * 8;
	w->stack[11] = CODE + 16 + 1; /* by its table again */
	w->stack[13] = CODE + 32 + 1; /* a file's code with frame pointers */
	w->stack[15] = CODE + 48 + 1;
	walk(w);
	ends(w, 6, MW_REASON_NONE);
	assert_int_equal(w->frames[1].kind, WALK_BY_FRAME_POINTER);
	assert_int_equal(w->frames[3].kind, WALK_BY_TABLE);
	world_free(w);
}

static void frame_pointers_that_lead_down_end_it(void **state)
{
	static const uint64_t wrong[] = {STACK - 8, STACK + 12, 8};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct world *w = world_new();
		add(w, 0, end_rule);
		w->r.ip = JIT;
		w->r.value[6] = wrong[i];
		walk(w);
		ends(w, 1, MW_REASON_BROKEN_UNWIND);
		world_free(w);
	}
}

static void strips_the_authentication_code_of_a_return_address(void **state)
{
	struct world *w = world_new();
	struct unwind_rule rule = rule_of_depth(16);
	w->machine = EM_AARCH64;
	w->r = (struct unwind_registers){.ip = CODE + 4, .known = UINT32_MAX, .exact = 1};
	w->r.value[31] = STACK;
	rule.cfa_register = 31;
	rule.return_at = -2;
	rule.flags = UNWIND_RULE_SIGNED;
	add(w, 0, rule);
	add(w, 16, end_rule);
	w->stack[0] = UINT64_C(0x00ab000000000000) | (CODE + 16 + 4);
	walk(w);
	ends(w, 2, MW_REASON_NONE);
	assert_int_equal(w->frames[1].address, CODE + 20);
	world_free(w);
}

static void follows_a_leaf_of_aarch64_by_its_link_register(void **state)
{
	struct world *w = world_new();
	struct unwind_rule leaf = rule_of_depth(0), framed = rule_of_depth(32);
	w->machine = EM_AARCH64;
	w->r = (struct unwind_registers){.ip = CODE + 4, .known = UINT32_MAX, .exact = 1};
	w->r.value[31] = STACK;
	w->r.value[30] = CODE + 16 + 4;
	w->r.value[29] = STACK + 8;
	leaf.cfa_register = 31;
	leaf.return_in = UNWIND_RETURN_REGISTER;
	leaf.return_register = 30;
	framed.cfa_register = 29;
	framed.return_at = -3;
	framed.saved[0] = -4;
	add(w, 0, leaf);
	add(w, 16, framed);
	add(w, 32, leaf); /* that it did not save its return address is not true here */
	w->stack[2] = CODE + 32 + 4;
	walk(w);
	ends(w, 3, MW_REASON_NO_TABLE);
	assert_int_equal(w->r.value[31], STACK + 8 + 32);
	world_free(w);
}

/* Rules of any bytes: a walk ends, soon, and inside its bounds. */
static void ends_whatever_the_rules_are(void **state)
{
	unsigned seed = 1;
	for (int i = 0; i < 3000; i++) {
		struct world *w = world_new();
		for (uint64_t at = 0; at < 0x400; at += 16) {
			struct unwind_rule rule;
			uint8_t *bytes = (void *)&rule;
			for (size_t j = 0; j < sizeof rule; j++)
				bytes[j] = (uint8_t)rand_r(&seed);
			rule.kind = (uint8_t)(rule.kind % 7);
			if (i % 2) { /* nearly right */
				rule.cfa_offset %= 128;
				rule.return_at %= 16;
				rule.cfa_register = 7;
				rule.cfa %= 3;
				rule.cfa_offset &= ~7;
			}
			add(w, at, rule);
		}
		for (int j = 0; j < WORDS; j++)
			w->stack[j] = rand_r(&seed) % 2 ? CODE + (uint64_t)rand_r(&seed) % 0x400
							: STACK + (uint64_t)rand_r(&seed) % 0x1000;
		w->machine = i % 4 < 2 ? EM_X86_64 : EM_AARCH64;
		w->r.known = UINT32_MAX;
		w->r.value[31] = STACK;
		walk(w);
		assert_true(w->result.n <= ARRAY_SIZE(w->frames));
		assert_true(w->reads <= 4 * ARRAY_SIZE(w->frames));
		world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_to_the_bottom_and_reads_only_return_addresses),
		cmocka_unit_test(looks_return_addresses_up_one_byte_before),
		cmocka_unit_test(finds_registers_that_were_saved_some_frames_below),
		cmocka_unit_test(ends_where_a_rule_needs_a_register_that_no_call_keeps),
		cmocka_unit_test(follows_a_realigned_stack),
		cmocka_unit_test(knows_how_deep_a_stub_of_the_plt_is),
		cmocka_unit_test(goes_through_a_signal_frame_with_all_registers),
		cmocka_unit_test(signal_frames_that_lead_to_each_other_end),
		cmocka_unit_test(follows_a_switch_to_a_lower_stack),
		cmocka_unit_test(switches_of_stacks_that_lead_to_each_other_end),
		cmocka_unit_test(a_caller_that_is_not_above_ends_it),
		cmocka_unit_test(a_return_address_in_a_register_is_used_once),
		cmocka_unit_test(says_where_memory_cannot_be_read),
		cmocka_unit_test(says_where_there_is_no_rule),
		cmocka_unit_test(says_where_it_left_the_code),
		cmocka_unit_test(a_stack_deeper_than_the_room_is_cut),
		cmocka_unit_test(goes_through_generated_code_by_frame_pointers),
		cmocka_unit_test(frame_pointers_that_lead_down_end_it),
		cmocka_unit_test(strips_the_authentication_code_of_a_return_address),
		cmocka_unit_test(follows_a_leaf_of_aarch64_by_its_link_register),
		cmocka_unit_test(ends_whatever_the_rules_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
