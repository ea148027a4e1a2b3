/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/colour.h"
#include "lib/test.h"

static int clean_environment(void **state)
{
	unsetenv("NO_COLOR");
	unsetenv("CLICOLOR_FORCE");
	return setenv("TERM", "xterm", 1);
}

static void a_terminal_is_coloured_and_a_file_is_not(void **state)
{
	assert_true(colour_wanted(COLOUR_AUTO, true));
	assert_false(colour_wanted(COLOUR_AUTO, false));
}

static void the_command_line_beats_the_environment(void **state)
{
	setenv("NO_COLOR", "1", 1);
	assert_true(colour_wanted(COLOUR_ALWAYS, false));
	unsetenv("NO_COLOR");
	setenv("CLICOLOR_FORCE", "1", 1);
	assert_false(colour_wanted(COLOUR_NEVER, true));
}

static void no_color_counts_if_it_is_not_empty(void **state)
{
	setenv("NO_COLOR", "", 1);
	assert_true(colour_wanted(COLOUR_AUTO, true));
	setenv("NO_COLOR", "0", 1);
	assert_false(colour_wanted(COLOUR_AUTO, true));
	setenv("CLICOLOR_FORCE", "1", 1);
	assert_false(colour_wanted(COLOUR_AUTO, true));
}

static void clicolor_force_colours_files_unless_it_is_0(void **state)
{
	setenv("CLICOLOR_FORCE", "1", 1);
	assert_true(colour_wanted(COLOUR_AUTO, false));
	setenv("CLICOLOR_FORCE", "0", 1);
	assert_false(colour_wanted(COLOUR_AUTO, false));
}

static void a_dumb_terminal_is_not_coloured(void **state)
{
	setenv("TERM", "dumb", 1);
	assert_false(colour_wanted(COLOUR_AUTO, true));
	unsetenv("TERM");
	assert_false(colour_wanted(COLOUR_AUTO, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_terminal_is_coloured_and_a_file_is_not, clean_environment),
		cmocka_unit_test_setup(the_command_line_beats_the_environment, clean_environment),
		cmocka_unit_test_setup(no_color_counts_if_it_is_not_empty, clean_environment),
		cmocka_unit_test_setup(clicolor_force_colours_files_unless_it_is_0, clean_environment),
		cmocka_unit_test_setup(a_dumb_terminal_is_not_coloured, clean_environment),
	};
	return cmocka_run_group_tests_name("colour", tests, NULL, NULL);
}
