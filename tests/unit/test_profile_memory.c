/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each allocation fails in turn: an error each time, no crash, and (under ASan) no leak. */
#include "lib/failing_memory.h"
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "output/output.h"
#include "output/report.h"
#include "profile/reader.h"
#include "profile/writer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char path[] = "/tmp/mwtest-memory-XXXXXX.mwp";

static int make_path(void **state)
{
	int fd = mkstemps(path, 4);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int remove_path(void **state)
{
	char old[sizeof path + 4];
	snprintf(old, sizeof old, "%s.old", path);
	unlink(old);
	return unlink(path);
}

static void writing_survives_every_failing_allocation(void **state)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
		struct mw_error e = {};
		failing_memory_start(n);
		int r = profile_save(path, p, &e);
		failed = failing_memory_stop();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_true(!failed || strstr(e.msg, "Cannot allocate memory"));
	}
}

static void reading_survives_every_failing_allocation(void **state)
{
	static uint8_t data[1 << 20];
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	assert_int_equal(profile_save(path, p, NULL), 0);
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	size_t size = fread(data, 1, sizeof data, f);
	bool failed = true;
	for (long n = 0; failed; n++) {
		_cleanup_(cleanup_profile_free) struct profile *q = NULL;
		struct mw_error e = {};
		failing_memory_start(n);
		int r = profile_open_memory(data, size, "x", &q, &e);
		failed = failing_memory_stop();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_true(failed || q->total_count == 100);
	}
}

static void printing_survives_every_failing_allocation(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_fclose_ FILE *out = fopen("/dev/null", "w");
	for (int kind = 0; kind < 5; kind++) {
		bool failed = true;
		for (long n = 0; failed; n++) {
			struct report_options options = {.call_graph = kind > 0,
							 .no_children = kind == 2};
			failing_memory_start(n);
			int r = kind < 3 ? report_write(p, &options, out)
					 : output_format_at((size_t)kind - 3)->write(p, out);
			failed = failing_memory_stop();
			assert_int_equal(r, failed ? -ENOMEM : 0);
		}
	}
}

static void sampling_survives_every_failing_allocation(void **state)
{
	bool failed = true;
	for (long n = 0; failed; n++) {
		_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
		const struct frame frames[] = {FRAME_OF_RAW(1), FRAME_OF_RAW(2)};
		struct sample s = {.frames = frames, .n_frames = 2, .command = "a", .cgroup = 1};
		failing_memory_start(n);
		int r = profile_add_sample(p, &s);
		failed = failing_memory_stop();
		assert_int_equal(r, failed ? -ENOMEM : 1);
		assert_int_equal(profile_add_sample(p, &s), 1); /* and it goes on */
		assert_int_equal(p->total_count, failed ? 1 : 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sampling_survives_every_failing_allocation),
		cmocka_unit_test(writing_survives_every_failing_allocation),
		cmocka_unit_test(reading_survives_every_failing_allocation),
		cmocka_unit_test(printing_survives_every_failing_allocation),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
