/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "profile/stack_ends.h"

static struct profile *p;

static int setup(void **state)
{
	p = build_empty();
	build_file(p, "/bin/prog", "gnu:0102", MW_REASON_NONE);
	return 0;
}

static int teardown(void **state)
{
	profile_free(p);
	return 0;
}

static struct frame guessed(uint64_t offset)
{
	struct frame f = FRAME_OF_FILE(0, offset);
	f.flags = FRAME_GUESSED;
	return f;
}

static struct stack_ends ends(void)
{
	struct stack_ends e;
	assert_int_equal(stack_ends_count(p, &e), 0);
	return e;
}

static void a_stack_without_a_reason_is_whole(void **state)
{
	build_samples(p, "prog", 1, 0, 3, FRAMES(FRAME_OF_KERNEL(1), FRAME_OF_FILE(0, 1), FRAME_OF_FILE(0, 2)));
	build_samples(p, "prog", 1, 0, 2, FRAMES(FRAME_OF_FILE(0, 2)));
	assert_int_equal(ends().stacks, 5);
	assert_int_equal(ends().whole, 5);
}

static void the_outermost_frame_has_the_reason(void **state)
{
	build_samples(p, "prog", 1, 0, 4,
		      FRAMES(FRAME_OF_FILE(0, 1), FRAME_OF_REASON(MW_REASON_NO_TABLE)));
	build_samples(p, "prog", 1, 0, 1,
		      FRAMES(FRAME_OF_REASON(MW_REASON_GHOST), FRAME_OF_FILE(0, 1)));
	assert_int_equal(ends().reasons[MW_REASON_NO_TABLE], 4);
	assert_int_equal(ends().reasons[MW_REASON_GHOST], 0);
	assert_int_equal(ends().whole, 1);
}

static void guesses_anywhere_make_a_stack_a_guess(void **state)
{
	build_samples(p, "prog", 1, 0, 2,
		      FRAMES(FRAME_OF_FILE(0, 1), guessed(5), FRAME_OF_FILE(0, 9)));
	build_samples(p, "prog", 1, 0, 1,
		      FRAMES(FRAME_OF_FILE(0, 1), guessed(5), FRAME_OF_REASON(MW_REASON_NO_TABLE)));
	assert_int_equal(ends().guessed, 2);
	assert_int_equal(ends().reasons[MW_REASON_NO_TABLE], 1);
	assert_int_equal(ends().whole, 0);
}

static void kernel_threads_and_lost_stacks_are_apart(void **state)
{
	build_samples(p, "kworker", 2, 0, 7, FRAMES(FRAME_OF_KERNEL(1), FRAME_OF_KERNEL(2)));
	build_samples(p, "prog", 1, 0, 3,
		      FRAMES(FRAME_OF_KERNEL(1), FRAME_OF_REASON(MW_REASON_EXITING)));
	build_samples(p, "prog", 1, 0, 2,
		      FRAMES(FRAME_OF_KERNEL(1), FRAME_OF_REASON(MW_REASON_EXEC_RACED)));
	assert_int_equal(ends().stacks, 0);
	assert_int_equal(ends().exiting, 3);
	assert_int_equal(ends().exec_raced, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_stack_without_a_reason_is_whole),
		CASE(the_outermost_frame_has_the_reason),
		CASE(guesses_anywhere_make_a_stack_a_guess),
		CASE(kernel_threads_and_lost_stacks_are_apart),
	};
	return cmocka_run_group_tests_name("stack_ends", tests, NULL, NULL);
}
