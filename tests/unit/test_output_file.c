/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"
#include "cli/output_file.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_directory(void **state)
{
	char *directory = strdup("/tmp/mw-output.XXXXXX");
	*state = directory;
	return directory && mkdtemp(directory) ? chdir(directory) : -1;
}

static int leave_directory(void **state)
{
	unlink("out");
	int r = chdir("/") < 0 ? -1 : rmdir(*state); /* fails if a test left a file behind */
	free(*state);
	return r;
}

static void write_text(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, text, strlen(text)), 0);
	close(fd);
}

static void assert_file_is(const char *name, const char *text)
{
	_cleanup_free_ char *content = NULL;
	size_t size;
	assert_int_equal(io_read_text(AT_FDCWD, name, 1000, &content, &size), 0);
	assert_string_equal(content, text);
}

static void a_file_appears_once_it_is_whole(void **state)
{
	write_text("out", "old");
	struct output_file file;
	assert_int_equal(output_file_open(&file, "out", NULL), 0);
	printf("new");
	fflush(stdout);
	assert_file_is("out", "old");
	assert_int_equal(output_file_keep(&file, NULL), 0);
	assert_file_is("out", "new");
}

static void a_file_that_failed_leaves_the_old_one(void **state)
{
	write_text("out", "old");
	struct output_file file;
	assert_int_equal(output_file_open(&file, "out", NULL), 0);
	printf("half");
	fflush(stdout);
	output_file_discard(&file);
	assert_file_is("out", "old");
}

static void files_get_the_mode_of_the_mask(void **state)
{
	mode_t mask = umask(027);
	struct output_file file;
	assert_int_equal(output_file_open(&file, "out", NULL), 0);
	assert_int_equal(output_file_keep(&file, NULL), 0);
	umask(mask);
	struct stat st;
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void devices_are_written_to_directly(void **state)
{
	struct output_file file;
	assert_int_equal(output_file_open(&file, "/dev/null", NULL), 0);
	assert_null(file.temporary);
	assert_int_equal(output_file_keep(&file, NULL), 0);
	struct stat st;
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void a_directory_that_is_missing_is_named(void **state)
{
	struct output_file file;
	struct mw_error e;
	assert_int_equal(output_file_open(&file, "none/out", &e), -ENOENT);
	assert_string_equal(e.msg, "none/out: No such file or directory");
	assert_int_equal(output_file_keep(&file, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_directory, leave_directory)
	const struct CMUnitTest tests[] = {
		TEST(a_file_appears_once_it_is_whole),
		TEST(a_file_that_failed_leaves_the_old_one),
		TEST(files_get_the_mode_of_the_mask),
		TEST(devices_are_written_to_directly),
		TEST(a_directory_that_is_missing_is_named),
	};
	return cmocka_run_group_tests_name("output_file", tests, NULL, NULL);
}
