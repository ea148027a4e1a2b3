/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bpf/records.h"
#include "capture/join.h"
#include "lib/test.h"

#include <string.h>

/* What was delivered, in order: for each sample its time, frame count, and last frame's reason. */
struct delivered {
	size_t n;
	uint64_t times[64];
	uint32_t n_frames[64];
	uint8_t last_reason[64];
	uint8_t last_kind[64];
};

static int on_sample(void *data, const struct sample *sample)
{
	struct delivered *d = data;
	assert_true(d->n < ARRAY_SIZE(d->times));
	d->times[d->n] = sample->time;
	d->n_frames[d->n] = sample->n_frames;
	if (sample->n_frames) {
		d->last_reason[d->n] = sample->frames[sample->n_frames - 1].reason;
		d->last_kind[d->n] = sample->frames[sample->n_frames - 1].kind;
	}
	d->n++;
	return 0;
}

static void sample(struct join *join, uint64_t time, uint64_t ticket, uint16_t n_kernel,
		   uint8_t reason)
{
	struct sample_record r = {.time = time, .ticket = ticket, .n_kernel = n_kernel,
				  .user_reason = reason};
	assert_int_equal(join_sample(join, &r), 0);
}

/* As it lies in the ring. */
struct user_part {
	struct user_record record;
	struct user_frame frames[USER_FRAMES_MAX + 1];
};

static void user(struct join *join, uint64_t ticket, uint32_t n_frames)
{
	struct user_part u = {.record = {.ticket = ticket, .n_frames = n_frames}};
	for (uint32_t i = 0; i < n_frames; i++)
		u.frames[i] = (struct user_frame){.value = i, .file = 2, .kind = USER_FRAME_FILE};
	assert_int_equal(join_user(join, &u.record), 0);
}

static void a_sample_waits_for_its_user_part(void **state)
{
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(4, on_sample, &d, &join), 0);
	sample(join, 10, 1, 2, 0);
	assert_int_equal(d.n, 0);
	user(join, 1, 3);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.n_frames[0], 5);
	assert_int_equal(d.last_kind[0], FRAME_FILE);
	join_free(join);
}

static void samples_of_one_stay_in_the_kernel_share_a_user_part(void **state)
{
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(8, on_sample, &d, &join), 0);
	for (uint64_t time = 1; time <= 5; time++)
		sample(join, time, 7, 1, 0);
	sample(join, 6, 8, 1, 0);
	user(join, 7, 2);
	assert_int_equal(d.n, 5);
	for (size_t i = 0; i < d.n; i++)
		assert_int_equal(d.n_frames[i], 3);
	join_free(join);
}

static void a_sample_may_come_just_after_its_user_part(void **state)
{
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(4, on_sample, &d, &join), 0);
	user(join, 1, 2);
	sample(join, 10, 1, 0, 0);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.n_frames[0], 2);
	join_free(join);
}

static void a_sample_without_ticket_has_its_reason(void **state)
{
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(4, on_sample, &d, &join), 0);
	sample(join, 1, 0, 1, MW_REASON_EXITING);
	sample(join, 2, 0, 1, 0); /* a kernel thread: there is no user part to miss */
	assert_int_equal(d.n, 2);
	assert_int_equal(d.last_reason[0], MW_REASON_EXITING);
	assert_int_equal(d.n_frames[1], 1);
	join_free(join);
}

static void too_many_waiting_samples_cost_the_oldest_its_user_part(void **state)
{
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(3, on_sample, &d, &join), 0);
	for (uint64_t ticket = 1; ticket <= 5; ticket++)
		sample(join, ticket, ticket, 0, 0);
	assert_int_equal(d.n, 2);
	assert_int_equal(d.times[0], 1);
	assert_int_equal(d.last_reason[0], MW_REASON_NO_USER_STACK);
	user(join, 4, 1); /* in the middle: its place stays free until it is the oldest */
	for (uint64_t ticket = 6; ticket <= 9; ticket++)
		sample(join, ticket, ticket, 0, 0);
	assert_int_equal(join_flush(join), 0);
	assert_int_equal(d.n, 9);
	assert_int_equal(join_counts(join).delivered, 9);
	assert_int_equal(join_counts(join).without_user, 8);
	join_free(join);
}

static void frames_that_are_callers_are_marked_as_returns(void **state)
{
	struct sample_record r = {.ticket = 0, .n_kernel = 3};
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(3, on_sample, &d, &join), 0);
	assert_int_equal(join_sample(join, &r), 0);
	assert_int_equal(d.n_frames[0], 3);
	struct frame leaf = {.address = 100}, caller = {.address = 100, .flags = FRAME_RETURN};
	assert_int_equal(frame_lookup_address(&leaf), 100);
	assert_int_equal(frame_lookup_address(&caller), 99);
	join_free(join);
}

static int keep_checks(void *data, const struct sample *sample)
{
	memcpy(data, sample->checks, sample->n_frames * sizeof *sample->checks);
	for (uint32_t i = 0; i < sample->n_frames; i++)
		assert_int_equal(sample->frames[i].file,
				 sample->frames[i].kind == FRAME_FILE ? 7 : 0);
	return 0;
}

static void each_frame_keeps_the_check_of_its_bytes(void **state)
{
	uint32_t checks[5] = {1, 1, 1, 1, 1};
	struct join *join;
	assert_int_equal(join_new(3, keep_checks, checks, &join), 0);
	struct sample_record s = {.n_kernel = 1, .ticket = 1};
	struct user_part u = {.record = {.ticket = 1, .n_frames = 4}};
	u.frames[0] = (struct user_frame){.file = 0x12345678, .kind = USER_FRAME_CODE};
	u.frames[1] = (struct user_frame){.file = 7, .kind = USER_FRAME_FILE, .check = 0xabcd};
	u.frames[2] = (struct user_frame){.file = 7, .kind = USER_FRAME_FILE};
	u.frames[3] = (struct user_frame){.file = 0x9abcdef0, .kind = USER_FRAME_RAW};
	assert_int_equal(join_sample(join, &s), 0);
	assert_int_equal(join_user(join, &u.record), 0);
	const uint32_t expected[] = {0, 0x12345678, 0xabcd, 0, 0x9abcdef0};
	assert_memory_equal(checks, expected, sizeof expected);
	join_free(join);
}

static int keep_flags(void *data, const struct sample *sample)
{
	for (uint32_t i = 0; i < sample->n_frames; i++)
		((uint8_t *)data)[i] = sample->frames[i].flags;
	return 0;
}

static void what_a_signal_interrupted_is_no_return_and_guesses_are_marked(void **state)
{
	uint8_t flags[4] = {};
	struct join *join;
	assert_int_equal(join_new(3, keep_flags, flags, &join), 0);
	struct sample_record s = {.ticket = 1};
	struct user_part u = {.record = {.ticket = 1, .n_frames = 4}};
	u.frames[1].kind = USER_FRAME_FILE | USER_FRAME_EXACT;
	u.frames[3].kind = USER_FRAME_CODE | USER_FRAME_GUESSED;
	assert_int_equal(join_sample(join, &s), 0);
	assert_int_equal(join_user(join, &u.record), 0);
	const uint8_t expected[] = {0, 0, FRAME_RETURN, FRAME_RETURN | FRAME_GUESSED};
	assert_memory_equal(flags, expected, sizeof expected);
	join_free(join);
}

static void counts_beyond_the_record_are_cut(void **state)
{
	struct delivered d = {};
	struct join *join;
	assert_int_equal(join_new(3, on_sample, &d, &join), 0);
	struct sample_record s = {.n_kernel = UINT16_MAX, .ticket = 1};
	struct user_part u = {.record = {.ticket = 1, .n_frames = UINT32_MAX}};
	assert_int_equal(join_sample(join, &s), 0);
	assert_int_equal(join_user(join, &u.record), 0);
	assert_int_equal(d.n_frames[0], MAX_FRAMES + USER_FRAMES_MAX + 1);
	join_free(join);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_waits_for_its_user_part),
		cmocka_unit_test(samples_of_one_stay_in_the_kernel_share_a_user_part),
		cmocka_unit_test(a_sample_may_come_just_after_its_user_part),
		cmocka_unit_test(a_sample_without_ticket_has_its_reason),
		cmocka_unit_test(too_many_waiting_samples_cost_the_oldest_its_user_part),
		cmocka_unit_test(frames_that_are_callers_are_marked_as_returns),
		cmocka_unit_test(each_frame_keeps_the_check_of_its_bytes),
		cmocka_unit_test(what_a_signal_interrupted_is_no_return_and_guesses_are_marked),
		cmocka_unit_test(counts_beyond_the_record_are_cut),
	};
	return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
