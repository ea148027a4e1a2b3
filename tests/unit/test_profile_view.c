/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/profile_view.h"
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "profile/writer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_directory(void **state)
{
	char *directory = strdup("/tmp/mw-view.XXXXXX");
	*state = directory;
	if (!directory || !mkdtemp(directory) || chdir(directory) < 0)
		return -1;
	struct profile *p = build_sampler();
	int r = profile_save("good.mwp", p, NULL);
	profile_free(p);
	return r;
}

static int leave_directory(void **state)
{
	static const char *const names[] = {"good.mwp", "bad.mwp", "fifo", "out"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(names[i]);
	int r = chdir("/") < 0 ? -1 : rmdir(*state);
	free(*state);
	return r;
}

static int print_totals(const struct profile *p, const void *context, struct mw_error *e)
{
	printf("%s: %llu samples\n", (const char *)context, (unsigned long long)p->total_count);
	return 0;
}

/* What a view leaves on standard output, which is the file "out" meanwhile. */
static int view_into(const char *name, const char *file, profile_view_fn view, struct mw_error *e)
{
	fflush(stdout);
	int before = dup(STDOUT_FILENO);
	int out = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(before >= 0 && out >= 0);
	dup2(out, STDOUT_FILENO);
	int r = profile_view(file, view, "seen", e);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(out);
	return r;
}

static void assert_output_has_samples(void)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	unsigned long long n;
	assert_int_equal(io_read_text(AT_FDCWD, "out", 1000, &text, &size), 0);
	assert_int_equal(sscanf(text, "seen: %llu samples\n", &n), 1);
	assert_true(n > 0);
}

static void a_profile_is_shown_by_a_child(void **state)
{
	struct mw_error e = {};
	assert_int_equal(view_into("out", "good.mwp", print_totals, &e), 0);
	assert_output_has_samples();
}

static void a_profile_may_come_through_a_pipe(void **state)
{
	FILE *pipe = popen("cat good.mwp", "r");
	assert_non_null(pipe);
	int before = dup(STDIN_FILENO);
	dup2(fileno(pipe), STDIN_FILENO);
	struct mw_error e = {};
	int r = view_into("out", "-", print_totals, &e);
	if (before >= 0)
		dup2(before, STDIN_FILENO);
	close(before);
	pclose(pipe);
	assert_int_equal(r, 0);
	assert_output_has_samples();
}

static int open_a_path(const struct profile *p, const void *context, struct mw_error *e)
{
	return open("good.mwp", O_RDONLY) < 0 ? -errno : 0;
}

static void a_view_reaches_nothing_but_its_descriptors(void **state)
{
	struct mw_error e = {};
	assert_true(view_into("out", "good.mwp", open_a_path, &e) < 0);
}

static void what_is_no_profile_is_refused_by_name(void **state)
{
	int fd = open("bad.mwp", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(io_write(fd, "%PDF-1.4 and so on, which goes on and on and on and on and on "
				      "and on and on and on",
				  80),
			 0);
	close(fd);
	struct mw_error e = {};
	assert_int_equal(view_into("out", "bad.mwp", print_totals, &e), -ENOMSG);
	assert_int_equal(strncmp(e.msg, "bad.mwp: ", 9), 0);
}

static void what_is_missing_or_no_file_is_refused(void **state)
{
	struct mw_error e = {};
	assert_int_equal(view_into("out", "none.mwp", print_totals, &e), -ENOENT);
	assert_string_equal(e.msg, "none.mwp: No such file or directory");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(view_into("out", "fifo", print_totals, &e), -EINVAL);
	assert_string_equal(e.msg, "fifo: not a regular file");
	assert_int_equal(view_into("out", ".", print_totals, &e), -EINVAL);
}

static void a_full_disk_is_a_failure_that_is_named(void **state)
{
	struct mw_error e = {};
	assert_int_equal(view_into("/dev/full", "good.mwp", print_totals, &e), -ENOSPC);
	assert_string_equal(e.msg, "standard output: No space left on device");
}

static void a_reader_who_leaves_is_told_apart_from_a_crash(void **state)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	fflush(stdout);
	int before = dup(STDOUT_FILENO);
	dup2(ends[1], STDOUT_FILENO);
	struct mw_error e = {};
	int r = profile_view("good.mwp", print_totals, "seen", &e);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(ends[1]);
	assert_int_equal(r, -EPIPE);
}

static int crash(const struct profile *p, const void *context, struct mw_error *e)
{
	raise(SIGKILL);
	return 0;
}

static void a_child_that_dies_fails_with_the_name_of_the_file(void **state)
{
	struct mw_error e = {};
	assert_int_equal(view_into("out", "good.mwp", crash, &e), -ECANCELED);
	assert_int_equal(strncmp(e.msg, "good.mwp: ", 10), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_directory, leave_directory)
	const struct CMUnitTest tests[] = {
		TEST(a_profile_is_shown_by_a_child),
		TEST(a_profile_may_come_through_a_pipe),
		TEST(a_view_reaches_nothing_but_its_descriptors),
		TEST(what_is_no_profile_is_refused_by_name),
		TEST(what_is_missing_or_no_file_is_refused),
		TEST(a_full_disk_is_a_failure_that_is_named),
		TEST(a_reader_who_leaves_is_told_apart_from_a_crash),
		TEST(a_child_that_dies_fails_with_the_name_of_the_file),
	};
	return cmocka_run_group_tests_name("profile_view", tests, NULL, NULL);
}
