/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/inlines.h"

#include "lib/profile_builder.h"
#include "lib/test.h"

#include <string.h>

static uint32_t string_of(struct profile *p, const char *text)
{
	uint32_t number;
	assert_int_equal(profile_add_string(p, text, &number), 0);
	return number;
}

static uint32_t frame_at(const struct profile *p, uint64_t address)
{
	for (size_t i = 0; i < p->frames.n; i++) {
		if (p->frames.items[i].at.address == address)
			return (uint32_t)i;
	}
	fail_msg("no frame at %llx", (unsigned long long)address);
	return 0;
}

/* main at 0x100 has cube inlined, and that square; start at 0x50 calls it, and nothing is in it. */
static struct profile *build(unsigned samples)
{
	struct profile *p = build_empty();
	uint32_t file = build_file(p, "/bin/calc", "gnu:aabb", MW_REASON_NONE);
	build_samples(p, "calc", 7, 0, samples,
		      FRAMES(FRAME_OF_FILE(file, 0x100), FRAME_OF_FILE(file, 0x50)));
	build_name(p, FRAME_FILE, file, 0x100, "main", NULL);
	build_name(p, FRAME_FILE, file, 0x50, "_start", NULL);
	const struct profile_line lines[] = {
		{string_of(p, "square"), string_of(p, "/src/b.h"), 2},
		{string_of(p, "cube"), string_of(p, "/src/b.h"), 3},
		{0, string_of(p, "/src/a.c"), 9},
	};
	assert_int_equal(profile_set_lines(p, frame_at(p, 0x100), lines, 3), 0);
	return p;
}

static void inlined_calls_become_frames_of_their_own(void **state)
{
	struct profile *p = build(5);
	uint32_t frames[8], function = frame_at(p, 0x100);
	assert_int_equal(profile_expand_inlines(p), 0);
	assert_int_equal(profile_stack_frames(p, p->samples.items[0].stack, frames, 8), 4);
	static const char *const names[] = {"square", "cube", "main", "_start"};
	static const uint32_t lines[] = {2, 3, 9};
	for (size_t i = 0; i < 4; i++) {
		const struct profile_frame *f = &p->frames.items[frames[i]];
		assert_string_equal(profile_string(p, f->name.name), names[i]);
		assert_int_equal(!!(f->at.flags & FRAME_INLINED), i < 2);
		assert_int_equal(f->n_lines, i < 3);
		if (i < 3)
			assert_int_equal(p->lines.items[f->first_line].line, lines[i]);
		assert_int_equal(f->self_count, i == 0 ? 5 : 0);
	}
	assert_int_equal(frames[2], function); /* the function keeps its number */
	profile_free(p);
}

static void a_profile_without_inlined_calls_stays_as_it_is(void **state)
{
	struct profile *p = build_sampler();
	size_t frames = p->frames.n, nodes = p->nodes.n;
	uint32_t stack = p->samples.items[0].stack;
	assert_int_equal(profile_expand_inlines(p), 0);
	assert_int_equal(p->frames.n, frames);
	assert_int_equal(p->nodes.n, nodes);
	assert_int_equal(p->samples.items[0].stack, stack);
	profile_free(p);
}

static void a_stack_of_the_greatest_depth_stays_within_it(void **state)
{
	struct profile *p = build(1);
	struct frame *deep = calloc(PROFILE_DEPTH_MAX, sizeof *deep);
	assert_non_null(deep);
	for (size_t i = 0; i < PROFILE_DEPTH_MAX; i++)
		deep[i] = FRAME_OF_FILE(0, 0x100);
	build_samples(p, "calc", 7, 1000000000, 1, deep, PROFILE_DEPTH_MAX);
	assert_int_equal(profile_expand_inlines(p), 0);
	for (size_t i = 0; i < p->samples.n; i++) {
		uint32_t frame;
		assert_in_range(profile_stack_frames(p, p->samples.items[i].stack, &frame, 1), 1,
				PROFILE_DEPTH_MAX);
	}
	free(deep);
	profile_free(p);
}

static void of_too_many_lines_the_function_stays(void **state)
{
	struct profile *p = build(1);
	struct profile_line lines[PROFILE_LINES_MAX + 10] = {};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		lines[i].line = (uint32_t)i + 1;
	assert_int_equal(profile_set_lines(p, 0, lines, ARRAY_SIZE(lines)), 0);
	const struct profile_frame *f = &p->frames.items[0];
	assert_int_equal(f->n_lines, PROFILE_LINES_MAX);
	assert_int_equal(p->lines.items[f->first_line].line, 1);
	assert_int_equal(p->lines.items[f->first_line + PROFILE_LINES_MAX - 1].line,
			 ARRAY_SIZE(lines));
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_calls_become_frames_of_their_own),
		cmocka_unit_test(a_profile_without_inlined_calls_stays_as_it_is),
		cmocka_unit_test(a_stack_of_the_greatest_depth_stays_within_it),
		cmocka_unit_test(of_too_many_lines_the_function_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
