/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "profile/codec.h"

#include <string.h>
#include <time.h>

static void equal_samples_of_a_bucket_are_one(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	build_samples(p, "a", 1, 0, 100, FRAMES(FRAME_OF_RAW(1)));
	assert_int_equal(p->samples.n, 1);
	assert_int_equal(p->samples.items[0].count, 100);
	assert_int_equal(p->samples.items[0].value, 100 * 1000000);
	build_samples(p, "a", 1, 100 * 1000000, 1, FRAMES(FRAME_OF_RAW(1)));
	assert_int_equal(p->samples.n, 2);
	assert_int_equal(p->total_count, 101);
}

static void each_part_of_the_key_makes_another_sample(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t event;
	assert_int_equal(profile_add_event(p, "other", "", 1, 0, &event), 0);
	const struct frame frame = FRAME_OF_RAW(1), other = FRAME_OF_RAW(2);
	const struct sample base = {.frames = &frame, .n_frames = 1, .command = "a"};
	struct sample variants[11];
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		variants[i] = base;
	variants[1].time = 1000000000;
	variants[2].task.pid = 1;
	variants[3].task.tid = 1;
	variants[4].task.start_time = 1;
	variants[5].task.exec_count = 1;
	variants[6].command[0] = 'b';
	variants[7].cgroup = 1;
	variants[8].mount_namespace = 1;
	variants[9].cpu = 1;
	variants[10].frames = &other;
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
			assert_int_equal(profile_add_sample(p, &variants[i]), 1);
	}
	assert_int_equal(p->samples.n, ARRAY_SIZE(variants));
	struct sample s = base;
	s.event = event;
	assert_int_equal(profile_add_sample(p, &s), 1);
	assert_int_equal(p->samples.n, ARRAY_SIZE(variants) + 1);
}

static void stacks_share_their_outer_part(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_RAW(3), FRAME_OF_RAW(2), FRAME_OF_RAW(1)));
	size_t n = p->nodes.n;
	build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_RAW(4), FRAME_OF_RAW(2), FRAME_OF_RAW(1)));
	assert_int_equal(p->nodes.n, n + 1);
	uint32_t frames[2];
	assert_int_equal(profile_stack_frames(p, p->samples.items[1].stack, frames, 2), 3);
	assert_int_equal(p->frames.items[frames[0]].at.address, 4);
	assert_int_equal(p->frames.items[frames[1]].at.address, 2);
	for (size_t i = 1; i < p->nodes.n; i++)
		assert_true(p->nodes.items[i].caller < i);
}

static void leaf_frames_count_their_own_samples(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	build_samples(p, "a", 1, 0, 7, FRAMES(FRAME_OF_RAW(2), FRAME_OF_RAW(1)));
	profile_drop_samples(p);
	build_samples(p, "a", 1, 0, 2, FRAMES(FRAME_OF_RAW(1)));
	assert_int_equal(p->frames.items[0].at.address, 1);
	assert_int_equal(p->frames.items[0].self_count, 2);
	assert_int_equal(p->frames.items[1].self_count, 7);
	assert_int_equal(p->samples.n, 1);
	assert_int_equal(p->total_count, 9);
}

static void a_sample_with_numbers_that_do_not_exist_is_refused(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	const struct frame frame = FRAME_OF_FILE(0, 1);
	struct sample s = {.frames = &frame, .n_frames = 1};
	assert_int_equal(profile_add_sample(p, &s), -EINVAL);
	s.n_frames = 0;
	s.event = 1;
	assert_int_equal(profile_add_sample(p, &s), -EINVAL);
	assert_int_equal(profile_set_name(p, 0, "x", NULL, 0, 0), -ENOENT);
	assert_int_equal(profile_set_file(p, 0, NULL, MW_REASON_FILE_GONE), -ENOENT);
}

static void a_full_table_of_stacks_gives_the_reason_evicted(void **state)
{
	const struct profile_options options = {.max_frames = 4, .max_nodes = 6};
	_cleanup_(cleanup_profile_free) struct profile *p = NULL;
	uint32_t event;
	assert_int_equal(profile_new(&options, &p), 0);
	assert_int_equal(profile_add_event(p, "e", "", 1, 0, &event), 0);
	build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_REASON(MW_REASON_EVICTED)));
	for (unsigned i = 1; i < 10; i++)
		build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_RAW(i), FRAME_OF_RAW(1)));
	assert_int_equal(p->total_count, 10);
	assert_true(p->frames.n <= 4 && p->nodes.n <= 6);
	assert_int_equal(p->samples.items[0].count, 1 + 9 - (p->samples.n - 1));
	assert_int_equal(profile_frame_reason(p, &p->frames.items[0]), MW_REASON_EVICTED);
}

static void room_for_evicted_is_there_when_the_tables_fill_first(void **state)
{
	const struct profile_options options = {.max_frames = 2, .max_nodes = 3};
	_cleanup_(cleanup_profile_free) struct profile *p = NULL;
	uint32_t event;
	assert_int_equal(profile_new(&options, &p), 0);
	assert_int_equal(profile_add_event(p, "e", "", 1, 0, &event), 0);
	for (unsigned i = 1; i < 10; i++)
		build_samples(p, "a", 1, 0, 1, FRAMES(FRAME_OF_RAW(i), FRAME_OF_RAW(i)));
	assert_int_equal(p->total_count, 9);
	assert_int_equal(profile_tally_sum(p, PROFILE_LOSS), 0);
}

static void samples_without_room_are_counted_as_lost(void **state)
{
	const struct profile_options options = {.max_samples = 3};
	_cleanup_(cleanup_profile_free) struct profile *p = NULL;
	uint32_t event;
	assert_int_equal(profile_new(&options, &p), 0);
	assert_int_equal(profile_add_event(p, "e", "", 1, 0, &event), 0);
	for (unsigned i = 0; i < 10; i++) {
		struct sample s = {.cpu = i};
		assert_int_equal(profile_add_sample(p, &s), i < 3);
	}
	assert_int_equal(profile_tally_sum(p, PROFILE_LOSS), 7);
	assert_int_equal(p->total_count, 3);
}

static void every_nameless_frame_has_a_reason(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	uint32_t known = build_file(p, "/a", "gnu:01", MW_REASON_NONE);
	uint32_t gone = build_file(p, "/b", NULL, MW_REASON_FILE_GONE);
	build_samples(p, "a", 1, 0, 1,
		      FRAMES(FRAME_OF_RAW(1), FRAME_OF_JIT(1), FRAME_OF_KERNEL(1),
			     FRAME_OF_FILE(gone, 1), FRAME_OF_FILE(known, 1)));
	const enum mw_reason expected[] = {MW_REASON_NO_SYMBOL_THERE, MW_REASON_FILE_GONE,
					   MW_REASON_NO_SYMBOL_THERE, MW_REASON_JIT_NO_MAP,
					   MW_REASON_NO_MAPPING};
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(profile_frame_reason(p, &p->frames.items[i]), expected[i]);
	assert_int_equal(profile_set_name(p, 0, NULL, NULL, 0, MW_REASON_STRIPPED), 0);
	assert_int_equal(profile_frame_reason(p, &p->frames.items[0]), MW_REASON_STRIPPED);
	assert_int_equal(profile_set_name(p, 0, "main", NULL, 0, 0), 0);
	assert_int_equal(profile_frame_reason(p, &p->frames.items[0]), MW_REASON_NONE);
}

static void facts_and_tallies_are_replaced_not_repeated(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	profile_set_fact(p, "hostname", "a");
	profile_set_fact(p, "hostname", "b");
	profile_set_fact_number(p, "cpus", UINT64_MAX);
	assert_int_equal(p->facts.n, 2);
	assert_string_equal(profile_fact(p, "hostname"), "b");
	assert_true(profile_fact_number(p, "cpus", 0) == UINT64_MAX);
	assert_int_equal(profile_fact_number(p, "hostname", 7), 7);
	assert_null(profile_fact(p, "nothing"));
	profile_set_tally(p, PROFILE_LOSS, "x", 1);
	profile_set_tally(p, PROFILE_LOSS, "x", 5);
	profile_set_tally(p, PROFILE_SKIPPED, "x", 9);
	assert_int_equal(profile_tally_sum(p, PROFILE_LOSS), 5);
}

/* ---- records --------------------------------------------------------------------------------- */

static void decode_all(const struct profile *from, struct codec_mark *mark, struct codec_decoder *d)
{
	struct buffer b = {};
	while (codec_encode(from, mark, &b)) {
		struct mw_error e = {};
		int r = codec_decode(d, b.data, b.n, &e);
		if (r < 0)
			fail_msg("%s", e.msg);
		b.n = 0;
	}
	buffer_deinit(&b);
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->files.n, b->files.n);
	for (size_t i = 0; i < a->files.n; i++) {
		const struct profile_file *x = &a->files.items[i], *y = &b->files.items[i];
		assert_memory_equal(&x->id, &y->id, sizeof x->id);
		assert_string_equal(profile_string(a, x->path), profile_string(b, y->path));
		assert_true(x->device == y->device && x->inode == y->inode && x->reason == y->reason);
	}
	assert_int_equal(a->tasks.n, b->tasks.n);
	for (size_t i = 0; i < a->tasks.n; i++) {
		assert_memory_equal(&a->tasks.items[i].key, &b->tasks.items[i].key,
				    sizeof a->tasks.items[i].key);
		assert_string_equal(profile_string(a, a->tasks.items[i].command),
				    profile_string(b, b->tasks.items[i].command));
	}
	assert_int_equal(a->frames.n, b->frames.n);
	for (size_t i = 0; i < a->frames.n; i++) {
		const struct profile_frame *x = &a->frames.items[i], *y = &b->frames.items[i];
		assert_memory_equal(&x->at, &y->at, sizeof x->at);
		assert_string_equal(profile_string(a, x->name.name), profile_string(b, y->name.name));
		assert_string_equal(profile_string(a, x->name.module),
				    profile_string(b, y->name.module));
		assert_true(x->name.start == y->name.start && x->name.reason == y->name.reason);
		assert_true(x->self_count == y->self_count && x->self_value == y->self_value);
	}
	assert_int_equal(a->nodes.n, b->nodes.n);
	assert_memory_equal(a->nodes.items, b->nodes.items, a->nodes.n * sizeof *a->nodes.items);
	assert_int_equal(a->cgroups.n, b->cgroups.n);
	assert_int_equal(a->events.n, b->events.n);
	assert_int_equal(a->facts.n, b->facts.n);
	vec_foreach(fact, &a->facts)
		assert_string_equal(profile_string(a, fact->value),
				    profile_fact(b, profile_string(a, fact->key)));
	for (int kind = 0; kind < PROFILE_N_TALLY_KINDS; kind++)
		assert_int_equal(profile_tally_sum(a, kind), profile_tally_sum(b, kind));
	assert_int_equal(a->total_count, b->total_count);
	assert_int_equal(a->total_value, b->total_value);
}

static void records_round_trip(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	assert_int_equal(profile_new(NULL, &q), 0);
	struct codec_decoder d = {.p = q};
	struct codec_mark mark = {};
	decode_all(p, &mark, &d);
	assert_same(p, q);
	assert_int_equal(p->samples.n, q->samples.n);
	assert_memory_equal(p->samples.items, q->samples.items,
			    p->samples.n * sizeof *p->samples.items);
	assert_int_equal(q->unknown_references, 0);
	assert_string_equal(profile_string(q, q->cgroups.items[0].path),
			    "/user.slice/session-1.scope");
	codec_decoder_deinit(&d);
}

static void what_is_learned_later_supersedes(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	assert_int_equal(profile_new(NULL, &q), 0);
	struct codec_decoder d = {.p = q};
	struct codec_mark mark = {};
	uint32_t file = build_file(p, "/a", NULL, MW_REASON_NONE);
	build_samples(p, "a", 1, 0, 3, FRAMES(FRAME_OF_FILE(file, 1)));
	decode_all(p, &mark, &d);
	assert_int_equal(q->files.items[0].id.kind, MW_FILE_ID_NONE);

	struct mw_file_id id;
	mw_file_id_from_text("gnu:0102", &id);
	profile_set_file(p, file, &id, MW_REASON_NONE);
	profile_set_name(p, 0, "late", NULL, 0, 0);
	profile_set_cgroup(p, 42, "/late");
	profile_set_tally(p, PROFILE_LOSS, "x", 3);
	profile_drop_samples(p);
	mark.samples = mark.changed_files = 0;
	decode_all(p, &mark, &d);
	assert_same(p, q);
	assert_int_equal(q->samples.n, 1);
	codec_decoder_deinit(&d);
}

/* Both of a large profile: it comes in several chunks, and each of them may be missing. */
static void a_missing_chunk_gives_reasons_not_names(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	VEC(struct buffer) chunks = {};
	struct codec_mark mark = {};
	uint32_t file = build_file(p, "/a", "gnu:01", MW_REASON_NONE);
	for (unsigned i = 0; i < 5; i++) {
		char name[20];
		snprintf(name, sizeof name, "f%u", i);
		build_samples(p, name, i, i * 1000000000ull, 10,
			      FRAMES(FRAME_OF_FILE(file, 100 + i), FRAME_OF_FILE(file, 1)));
		build_name(p, FRAME_FILE, file, 100 + i, name, NULL);
		struct buffer b = {};
		assert_true(codec_encode(p, &mark, &b));
		assert_int_equal(vec_push(&chunks, b), 0);
	}
	for (size_t missing = 0; missing < chunks.n; missing++) {
		_cleanup_(cleanup_profile_free) struct profile *q = NULL;
		assert_int_equal(profile_new(NULL, &q), 0);
		struct codec_decoder d = {.p = q};
		for (size_t i = 0; i < chunks.n; i++) {
			if (i != missing)
				assert_int_equal(codec_decode(&d, chunks.items[i].data,
							      chunks.items[i].n, NULL),
						 0);
		}
		assert_int_equal(q->total_count, 40);
		assert_true(missing == chunks.n - 1 || q->unknown_references > 0);
		vec_foreach(s, &q->samples) {
			const struct profile_frame *leaf =
				&q->frames.items[q->nodes.items[s->stack].frame];
			const char *command = profile_string(q, q->tasks.items[s->task].command);
			if (profile_frame_reason(q, leaf) == MW_REASON_NONE)
				assert_string_equal(profile_string(q, leaf->name.name), command);
		}
		codec_decoder_deinit(&d);
	}
	vec_foreach(b, &chunks)
		buffer_deinit(b);
	vec_deinit(&chunks);
}

static void records_cut_anywhere_are_refused_or_whole(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct codec_mark mark = {};
	struct buffer b = {};
	assert_true(codec_encode(p, &mark, &b));
	for (size_t n = 0; n < b.n; n++) {
		_cleanup_(cleanup_profile_free) struct profile *q = NULL;
		assert_int_equal(profile_new(NULL, &q), 0);
		struct codec_decoder d = {.p = q};
		uint8_t *copy = malloc(n + 1); /* so that a sanitizer sees reads past n */
		memcpy(copy, b.data, n);
		int r = codec_decode(&d, copy, n, NULL);
		assert_true(r == 0 || r == -EBADMSG);
		assert_true(q->total_count == 0 || q->total_count == p->total_count || r < 0);
		free(copy);
		codec_decoder_deinit(&d);
	}
	buffer_deinit(&b);
}

static void any_flipped_byte_leaves_tables_that_hold_together(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct codec_mark mark = {};
	struct buffer b = {};
	assert_true(codec_encode(p, &mark, &b));
	for (size_t i = 0; i < b.n * 3; i++) {
		_cleanup_(cleanup_profile_free) struct profile *q = NULL;
		assert_int_equal(profile_new(NULL, &q), 0);
		struct codec_decoder d = {.p = q};
		const uint8_t flips[] = {0x01, 0x80, 0xff};
		b.data[i / 3] ^= flips[i % 3];
		codec_decode(&d, b.data, b.n, NULL);
		b.data[i / 3] ^= flips[i % 3];
		vec_foreach(s, &q->samples) {
			assert_true(s->task < q->tasks.n && s->cgroup < q->cgroups.n);
			assert_true(s->event < q->events.n && s->stack < q->nodes.n);
		}
		for (size_t k = 1; k < q->nodes.n; k++) {
			assert_true(q->nodes.items[k].caller < k);
			assert_true(q->nodes.items[k].frame < q->frames.n);
		}
		vec_foreach(f, &q->frames)
			assert_true(f->at.kind != FRAME_FILE || f->at.file < q->files.n);
		codec_decoder_deinit(&d);
	}
	buffer_deinit(&b);
}

static void a_number_far_behind_its_table_is_refused(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	assert_int_equal(profile_new(NULL, &q), 0);
	struct codec_decoder d = {.p = q};
	struct buffer b = {};
	for (int i = 0; i < 100; i++) { /* frames 600,000, 1,200,000, ... */
		struct buffer s = {};
		buffer_uleb(&s, (uint64_t)(i + 1) * 600000);
		buffer_bytes(&s, "\x03\x00\x01\x00\x00", 5);
		buffer_u8(&b, 6);
		buffer_uleb(&b, s.n);
		buffer_bytes(&b, s.data, s.n);
		buffer_deinit(&s);
	}
	struct mw_error e;
	assert_int_equal(codec_decode(&d, b.data, b.n, &e), -EBADMSG);
	assert_true(q->frames.n < 2000000);
	buffer_deinit(&b);
	codec_decoder_deinit(&d);
}

static void sections_of_later_versions_are_skipped(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	assert_int_equal(profile_new(NULL, &q), 0);
	struct codec_decoder d = {.p = q};
	const uint8_t later[] = {200, 3, 1, 2, 3, 1, 4, 1, 2, 'h', 'i'};
	assert_int_equal(codec_decode(&d, later, sizeof later, NULL), 0);
	assert_string_equal(profile_string(q, d.strings.items[1]), "hi");
	codec_decoder_deinit(&d);
}

static void takes_a_hundred_thousand_samples_a_second(void **state)
{
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	_cleanup_(cleanup_profile_free) struct profile *p = build_compile(40000);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	double seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	print_message("%.0f samples a second, %zu frames, %zu nodes, %zu samples\n",
		      40000 / seconds, p->frames.n, p->nodes.n, p->samples.n);
#if !defined(__SANITIZE_ADDRESS__)
	assert_true(seconds < 4); /* ten times slower than it should be: something grew quadratic */
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_samples_of_a_bucket_are_one),
		cmocka_unit_test(each_part_of_the_key_makes_another_sample),
		cmocka_unit_test(stacks_share_their_outer_part),
		cmocka_unit_test(leaf_frames_count_their_own_samples),
		cmocka_unit_test(a_sample_with_numbers_that_do_not_exist_is_refused),
		cmocka_unit_test(a_full_table_of_stacks_gives_the_reason_evicted),
		cmocka_unit_test(room_for_evicted_is_there_when_the_tables_fill_first),
		cmocka_unit_test(samples_without_room_are_counted_as_lost),
		cmocka_unit_test(every_nameless_frame_has_a_reason),
		cmocka_unit_test(facts_and_tallies_are_replaced_not_repeated),
		cmocka_unit_test(records_round_trip),
		cmocka_unit_test(what_is_learned_later_supersedes),
		cmocka_unit_test(a_missing_chunk_gives_reasons_not_names),
		cmocka_unit_test(records_cut_anywhere_are_refused_or_whole),
		cmocka_unit_test(any_flipped_byte_leaves_tables_that_hold_together),
		cmocka_unit_test(a_number_far_behind_its_table_is_refused),
		cmocka_unit_test(sections_of_later_versions_are_skipped),
		cmocka_unit_test(takes_a_hundred_thousand_samples_a_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
