/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "content/still_files.h"
#include "lib/test.h"
#include "lib/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPPED	  "7/map_files/1000-2000"
#define MOUNTINFO "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"

/* A dumped /proc with one process and one mapping; what it leads to is the file itself. */
struct fixture {
	struct tree tree;
	struct proc proc;
	struct still_files *still;
	struct file_request request;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	tree_init(&f->tree);
	tree_write(&f->tree, "7/mountinfo", MOUNTINFO);
	tree_write(&f->tree, MAPPED, "first");
	assert_int_equal(proc_init(&f->proc, f->tree.path, NULL), 0);
	assert_int_equal(still_files_new(&f->proc, NULL, &f->still), 0);
	f->request = (struct file_request){.pid = 7, .tid = 7, .map_start = 0x1000, .map_end = 0x2000};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	still_files_free(f->still);
	proc_deinit(&f->proc);
	tree_deinit(&f->tree);
	free(f);
	return 0;
}

static uint32_t look(struct fixture *f)
{
	uint32_t number = UINT32_MAX;
	assert_int_equal(still_files_look(f->still, &f->request, &number), 0);
	return number;
}

static int open_file(struct fixture *f, int flags)
{
	int fd = openat(f->proc.dir, MAPPED, flags);
	assert_true(fd >= 0);
	return fd;
}

/* Looks until a change at that moment would show: the file was made just now. Returns the moment. */
static uint64_t wait_until_proved(struct fixture *f, uint32_t number)
{
	uint64_t moment;
	do {
		moment = clock_now_ns();
		assert_int_equal(look(f), number);
	} while (still_files_at(f->still, number, moment) != STILL_YES);
	return moment;
}

static void a_file_between_two_looks_at_one_state_stood_still(void **state)
{
	struct fixture *f = *state;
	uint32_t number = look(f);
	wait_until_proved(f, number);
	uint64_t between = clock_now_ns();
	assert_int_equal(still_files_at(f->still, number, between), STILL_UNKNOWN);
	assert_int_equal(look(f), number);
	assert_int_equal(still_files_at(f->still, number, between), STILL_YES);
}

static void a_file_that_changed_just_before_the_sample_proves_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t before = clock_now_ns();
	assert_int_equal(still_files_at(f->still, look(f), before), STILL_NO);
}

static void a_file_that_was_written_over_is_in_another_state(void **state)
{
	struct fixture *f = *state;
	uint32_t first = look(f);
	wait_until_proved(f, first);
	uint64_t between = clock_now_ns();
	tree_write(&f->tree, MAPPED, "other");
	uint32_t second = look(f);
	assert_int_not_equal(first, second);
	assert_int_equal(still_files_at(f->still, first, between), STILL_UNKNOWN);
	assert_int_equal(still_files_at(f->still, second, between), STILL_NO);
	/* However old its change is by then: it was seen to change. */
	wait_until_proved(f, second);
	assert_int_equal(still_files_at(f->still, second, between), STILL_NO);
}

static void a_file_that_is_open_for_writing_is_memory(void **state)
{
	struct fixture *f = *state;
	int writer = open_file(f, O_RDWR);
	uint64_t moment = clock_now_ns();
	uint32_t number = look(f);
	assert_int_equal(still_files_at(f->still, number, moment), STILL_MEMORY);
	close(writer);
	/* What was written through memory meanwhile left no trace: what it was then is not known. */
	assert_int_equal(look(f), number);
	assert_int_equal(still_files_at(f->still, number, moment), STILL_NO);
	wait_until_proved(f, number);
	assert_int_equal(still_files_at(f->still, number, moment), STILL_NO);
}

static void a_file_that_is_open_for_reading_stands_still(void **state)
{
	struct fixture *f = *state;
	int reader = open_file(f, O_RDONLY);
	wait_until_proved(f, look(f));
	close(reader);
}

static void a_mapping_that_is_gone_is_an_error(void **state)
{
	struct fixture *f = *state;
	uint32_t number;
	f->request.map_end = 0x3000;
	assert_int_equal(still_files_look(f->still, &f->request, &number), -ENOENT);
}

static void a_file_whose_process_is_gone_is_looked_at_by_its_path(void **state)
{
	struct fixture *f = *state;
	uint32_t number = look(f);
	wait_until_proved(f, number);
	uint64_t between = clock_now_ns();
	assert_int_equal(still_files_look_again(f->still, number), 0);
	assert_int_equal(still_files_at(f->still, number, between), STILL_YES);
}

static void another_file_at_that_path_proves_nothing(void **state)
{
	struct fixture *f = *state;
	uint32_t number = look(f);
	wait_until_proved(f, number);
	uint64_t between = clock_now_ns();
	tree_write(&f->tree, "7/new", "first");
	assert_int_equal(renameat(f->proc.dir, "7/new", f->proc.dir, MAPPED), 0);
	assert_int_equal(still_files_look_again(f->still, number), -ESTALE);
	assert_int_equal(still_files_at(f->still, number, between), STILL_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_between_two_looks_at_one_state_stood_still, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_changed_just_before_the_sample_proves_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_was_written_over_is_in_another_state, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_open_for_writing_is_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_open_for_reading_stands_still, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_mapping_that_is_gone_is_an_error, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_whose_process_is_gone_is_looked_at_by_its_path, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_file_at_that_path_proves_nothing, set_up,
						tear_down),
	};
	return cmocka_run_group_tests_name("still_files", tests, NULL, NULL);
}
