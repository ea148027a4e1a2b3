/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "profile/call_tree.h"

#include <string.h>

/*
 * Frames are raw addresses; the label of a frame is its address, so that tests say 10 for a function,
 * and two frames of one function are 10 and 10 + 1000 (labels are modulo 1000).
 */
struct fixture {
	struct profile *p;
	uint32_t *labels; /* by frame */
	struct stack_sums sums, scratch;
	struct stack_children children;
	uint32_t nodes[64];
	size_t n_nodes;
};

static void setup(struct fixture *f)
{
	f->labels = calloc(f->p->frames.n + 1, sizeof *f->labels);
	for (size_t i = 0; i < f->p->frames.n; i++)
		f->labels[i] = (uint32_t)(f->p->frames.items[i].at.address % 1000);
	assert_int_equal(stack_sums_init(&f->sums, f->p), 0);
	assert_int_equal(stack_sums_init(&f->scratch, f->p), 0);
	assert_int_equal(stack_children_init(&f->children, f->p), 0);
	vec_foreach(s, &f->p->samples)
		assert_int_equal(stack_sums_add(&f->sums, s->stack, s->count), 0);
	stack_sums_finish(&f->sums);
}

static void teardown(struct fixture *f)
{
	free(f->labels);
	stack_sums_deinit(&f->sums);
	stack_sums_deinit(&f->scratch);
	stack_children_deinit(&f->children);
	profile_free(f->p);
}

static struct call_source source_of(struct fixture *f, uint32_t row, uint64_t limit)
{
	f->n_nodes = 0;
	for (size_t i = 1; i < f->p->nodes.n; i++) {
		if (f->labels[f->p->nodes.items[i].frame] == row)
			f->nodes[f->n_nodes++] = (uint32_t)i;
	}
	return (struct call_source){.p = f->p,
				    .sums = &f->sums,
				    .children = &f->children,
				    .rows = f->labels,
				    .calls = f->labels,
				    .limit = limit,
				    .scratch = &f->scratch};
}

/* "1:10(2:7 3:3)": label:weight, and what is below it in brackets. */
static void print_calls(const struct call_tree *t, uint32_t at, char *text)
{
	const struct call *call = &t->calls.items[at];
	for (uint32_t i = 0; i < call->n_children; i++) {
		const struct call *child = &t->calls.items[call->first_child + i];
		sprintf(text + strlen(text), "%s%u:%d", i ? " " : "", child->label,
			(int)child->weight);
		if (child->n_children) {
			strcat(text, "(");
			print_calls(t, call->first_child + i, text);
			strcat(text, ")");
		}
	}
}

static void assert_tree(struct fixture *f, bool callers, uint32_t row, uint64_t limit,
			const char *expected)
{
	char text[2000] = "";
	struct call_tree t = {};
	struct call_source source = source_of(f, row, limit);
	int r = callers ? call_tree_callers(&t, &source, f->nodes, f->n_nodes)
			: call_tree_callees(&t, &source, f->nodes, f->n_nodes);
	assert_int_equal(r, 0);
	print_calls(&t, 0, text);
	assert_string_equal(text, expected);
	assert_int_equal(f->scratch.touched.n, 0); /* it is as empty as before */
	call_tree_deinit(&t);
}

/* main(1) calls work(2) and idle(3); work calls leaf(4) from two places. */
static struct profile *build_program(void)
{
	struct profile *p = build_empty();
	build_samples(p, "a", 1, 0, 5, FRAMES(FRAME_OF_RAW(4), FRAME_OF_RAW(2), FRAME_OF_RAW(1)));
	build_samples(p, "a", 1, 0, 2, FRAMES(FRAME_OF_RAW(1004), FRAME_OF_RAW(1002), FRAME_OF_RAW(1)));
	build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_RAW(2), FRAME_OF_RAW(1)));
	build_samples(p, "a", 1, 0, 2, FRAMES(FRAME_OF_RAW(3), FRAME_OF_RAW(1)));
	return p;
}

static void sums_are_those_of_all_stacks_through_a_node(void **state)
{
	struct fixture f = {.p = build_program()};
	setup(&f);
	assert_int_equal(f.sums.weight, 10);
	assert_int_equal(f.sums.total[0], 10);
	for (size_t i = 1; i < f.p->nodes.n; i++) {
		uint64_t below = f.sums.self[i];
		for (uint32_t c = f.children.first[i]; c; c = f.children.next[c])
			below += f.sums.total[c];
		assert_int_equal(below, f.sums.total[i]);
	}
	stack_sums_clear(&f.sums);
	for (size_t i = 0; i < f.p->nodes.n; i++)
		assert_true(!f.sums.self[i] && !f.sums.total[i] && !f.sums.seen[i]);
	teardown(&f);
}

static void callees_go_from_the_row_inwards(void **state)
{
	struct fixture f = {.p = build_program()};
	setup(&f);
	assert_tree(&f, false, 1, 1, "1:10(2:8(4:7) 3:2)");
	teardown(&f);
}

static void stacks_that_end_in_the_row_come_with_their_callers(void **state)
{
	struct fixture f = {.p = build_program()};
	setup(&f);
	assert_tree(&f, false, 4, 1, "1:7(2:7(4:7))");
	/* one of the eight ends in 2, the others go on below it */
	assert_tree(&f, false, 2, 1, "2:7(4:7) 1:1(2:1)");
	teardown(&f);
}

static void callers_go_from_the_row_outwards(void **state)
{
	struct fixture f = {.p = build_program()};
	setup(&f);
	assert_tree(&f, true, 4, 1, "4:7(2:7(1:7))");
	assert_tree(&f, true, 2, 1, "2:1(1:1)");
	teardown(&f);
}

static void calls_below_the_limit_are_left_out_but_only_once_merged(void **state)
{
	struct fixture f = {.p = build_program()};
	setup(&f);
	assert_tree(&f, false, 1, 3, "1:10(2:8(4:7))");
	assert_tree(&f, false, 1, 7, "1:10(2:8(4:7))"); /* 5 and 2 are 7 */
	assert_tree(&f, false, 1, 8, "1:10(2:8)");
	assert_tree(&f, true, 4, 8, "");
	teardown(&f);
}

static void a_recursive_row_begins_at_its_outermost_frame(void **state)
{
	struct fixture f = {.p = build_empty()};
	build_samples(f.p, "a", 1, 0, 3,
		      FRAMES(FRAME_OF_RAW(5), FRAME_OF_RAW(2), FRAME_OF_RAW(1002), FRAME_OF_RAW(1)));
	setup(&f);
	assert_tree(&f, false, 2, 1, "2:3(2:3(5:3))");
	teardown(&f);
}

/* However deep a hostile stack is, the tree ends where whoever walks it by recursion can. */
static void deep_stacks_end_at_a_depth(void **state)
{
	static struct frame frames[PROFILE_DEPTH_MAX + 100];
	struct fixture f = {.p = build_empty()};
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = FRAME_OF_RAW(i + 1);
	build_samples(f.p, "a", 1, 0, 1, frames, ARRAY_SIZE(frames));
	setup(&f);
	for (size_t i = 0; i < f.p->frames.n; i++)
		f.labels[i] = (uint32_t)i;
	uint32_t leaf = f.p->samples.items[0].stack;
	struct call_tree t = {};
	struct call_source source = source_of(&f, UINT32_MAX, 1);
	assert_int_equal(call_tree_callees(&t, &source, &leaf, 1), 0);
	assert_int_equal(t.calls.n, CALL_TREE_DEPTH + 1);
	call_tree_deinit(&t);
	assert_int_equal(profile_stack_frames(f.p, leaf, NULL, 0), PROFILE_DEPTH_MAX);
	assert_int_equal(f.p->frames.items[0].at.reason, MW_REASON_CUT_DEPTH);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_all_stacks_through_a_node),
		cmocka_unit_test(callees_go_from_the_row_inwards),
		cmocka_unit_test(stacks_that_end_in_the_row_come_with_their_callers),
		cmocka_unit_test(callers_go_from_the_row_outwards),
		cmocka_unit_test(calls_below_the_limit_are_left_out_but_only_once_merged),
		cmocka_unit_test(a_recursive_row_begins_at_its_outermost_frame),
		cmocka_unit_test(deep_stacks_end_at_a_depth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
