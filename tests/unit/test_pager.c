/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/pager.h"
#include "lib/terminal.h"
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

static char text[4096];

static int write_three_lines(void)
{
	struct pager pager = pager_start();
	printf("one\ntwo\nthree\n");
	pager_finish(&pager);
	return 3;
}

static int clean_environment(void **state)
{
	unsetenv("MAPWRIGHT_PAGER");
	unsetenv("PAGER");
	unsetenv("LESS");
	return 0;
}

static void text_for_a_terminal_goes_through_the_pager(void **state)
{
	setenv("PAGER", "sed 's/^/paged: /'", 1);
	assert_int_equal(terminal_run(write_three_lines, text, sizeof text), 3);
	assert_string_equal(text, "paged: one\r\npaged: two\r\npaged: three\r\n");
}

static void our_own_variable_beats_the_common_one(void **state)
{
	setenv("PAGER", "false", 1);
	setenv("MAPWRIGHT_PAGER", "tail -n 1", 1);
	assert_int_equal(terminal_run(write_three_lines, text, sizeof text), 3);
	assert_string_equal(text, "three\r\n");
}

static void no_pager_is_started_for_an_empty_one_or_cat(void **state)
{
	static const char *const values[] = {"", "cat"};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		setenv("PAGER", values[i], 1);
		assert_int_equal(terminal_run(write_three_lines, text, sizeof text), 3);
		assert_string_equal(text, "one\r\ntwo\r\nthree\r\n");
	}
}

static void without_less_the_text_comes_without_a_pager(void **state)
{
	char *path = strdup(getenv("PATH"));
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(terminal_run(write_three_lines, text, sizeof text), 3);
	assert_string_equal(text, "one\r\ntwo\r\nthree\r\n");
	setenv("PATH", path, 1);
	free(path);
}

static int write_much(void)
{
	struct pager pager = pager_start();
	for (int i = 0; i < 100000; i++)
		printf("line %d\n", i);
	pager_finish(&pager);
	printf("after\n");
	return ferror(stdout) ? 9 : 3;
}

static void leaving_the_pager_early_is_no_failure(void **state)
{
	setenv("PAGER", "head -n 1", 1);
	assert_int_equal(terminal_run(write_much, text, sizeof text), 3);
	assert_string_equal(text, "line 0\r\nafter\r\n");
}

static void a_file_gets_the_text_without_a_pager(void **state)
{
	setenv("PAGER", "sed 's/^/paged: /'", 1);
	int before = dup(STDOUT_FILENO);
	FILE *file = tmpfile();
	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	struct pager pager = pager_start();
	dup2(before, STDOUT_FILENO);
	close(before);
	fclose(file);
	assert_int_equal(pager.pid, 0);
	pager_finish(&pager);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, clean_environment)
	const struct CMUnitTest tests[] = {
		TEST(text_for_a_terminal_goes_through_the_pager),
		TEST(our_own_variable_beats_the_common_one),
		TEST(no_pager_is_started_for_an_empty_one_or_cat),
		TEST(without_less_the_text_comes_without_a_pager),
		TEST(leaving_the_pager_early_is_no_failure),
		TEST(a_file_gets_the_text_without_a_pager),
	};
	return cmocka_run_group_tests_name("pager", tests, NULL, NULL);
}
