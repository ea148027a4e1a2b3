/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/progress.h"
#include "lib/terminal.h"
#include "lib/test.h"

#include <string.h>

static char text[4096];

static int show_two_lines(void)
{
	struct progress p = progress_init(STDERR_FILENO, false);
	progress_show(&p, "1 sample");
	progress_show(&p, "2 samples");
	progress_clear(&p);
	progress_clear(&p);
	return 0;
}

static void a_line_replaces_the_one_before_and_leaves_nothing(void **state)
{
	assert_int_equal(terminal_run(show_two_lines, text, sizeof text), 0);
	assert_string_equal(text, "\r1 sample\x1b[K\r2 samples\x1b[K\r\x1b[K");
}

static int show_a_long_line(void)
{
	char line[1000];
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\0';
	struct progress p = progress_init(STDERR_FILENO, false);
	progress_show(&p, line);
	return 0;
}

static void a_line_is_cut_to_the_terminal(void **state)
{
	assert_int_equal(terminal_run(show_a_long_line, text, sizeof text), 0);
	assert_int_equal(strspn(text + 1, "x"), 39);
}

static int show_quietly(void)
{
	struct progress p = progress_init(STDERR_FILENO, true);
	progress_show(&p, "1 sample");
	progress_clear(&p);
	return 0;
}

static void quiet_shows_nothing(void **state)
{
	assert_int_equal(terminal_run(show_quietly, text, sizeof text), 0);
	assert_string_equal(text, "");
}

static int show_on_a_dumb_terminal(void)
{
	setenv("TERM", "dumb", 1);
	return show_two_lines();
}

static void a_dumb_terminal_gets_no_escapes(void **state)
{
	assert_int_equal(terminal_run(show_on_a_dumb_terminal, text, sizeof text), 0);
	assert_string_equal(text, "");
}

static void nothing_is_written_where_no_terminal_is(void **state)
{
	FILE *file = tmpfile();
	assert_non_null(file);
	struct progress p = progress_init(fileno(file), false);
	progress_show(&p, "1 sample");
	progress_clear(&p);
	assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_replaces_the_one_before_and_leaves_nothing),
		cmocka_unit_test(a_line_is_cut_to_the_terminal),
		cmocka_unit_test(quiet_shows_nothing),
		cmocka_unit_test(a_dumb_terminal_gets_no_escapes),
		cmocka_unit_test(nothing_is_written_where_no_terminal_is),
	};
	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
