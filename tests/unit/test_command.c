/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables are the one source of what people read: help, manual pages, completions. */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/man.h"
#include "cli/wrap.h"
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

typedef void (*write_fn)(FILE *out, const struct command *command);

#define TEXT_MAX (1 << 17)

/* What a function writes, as text that the caller frees. */
static char *text_of(write_fn write, const struct command *command)
{
	char *text = calloc(1, TEXT_MAX);
	assert_non_null(text);
	FILE *out = fmemopen(text, TEXT_MAX, "w");
	assert_non_null(out);
	write(out, command);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void write_bash(FILE *out, const struct command *command)
{
	completion_bash(out);
}

static void write_zsh(FILE *out, const struct command *command)
{
	completion_zsh(out);
}

typedef void (*check_fn)(const struct command *command, const struct option_spec *spec);

static void for_each_option(check_fn check)
{
	for (const struct command *const *c = commands; *c; c++) {
		for (const struct option_spec *s = (*c)->options; !option_is_end(s); s++)
			check(*c, s);
		for (const struct option_spec *s = command_common_options; !option_is_end(s); s++)
			check(*c, s);
	}
}

static void assert_contains(const char *text, const char *format, const char *before,
			    const char *name)
{
	char wanted[128];
	snprintf(wanted, sizeof wanted, format, before, name);
	if (!strstr(text, wanted))
		fail_msg("\"%s\" is missing in:\n%s", wanted, text);
}

static void check_help(const struct command *command, const struct option_spec *spec)
{
	_cleanup_free_ char *text = text_of(help_command, command);
	const char letter[] = {spec->short_name, 0};
	if (spec->short_name)
		assert_contains(text, "  %s%s", "-", letter);
	if (spec->long_name)
		assert_contains(text, " --%s%s", spec->negatable ? "[no-]" : "", spec->long_name);
}

static void every_option_is_in_the_help(void **state)
{
	for_each_option(check_help);
}

static void check_man(const struct command *command, const struct option_spec *spec)
{
	_cleanup_free_ char *text = text_of(man_command, command);
	const char letter[] = {spec->short_name, 0};
	if (spec->short_name)
		assert_contains(text, "\n.It Fl %s%s", letter, "");
	if (spec->long_name)
		assert_contains(text, " Fl Fl %s%s", "", spec->long_name);
	if (spec->negatable)
		assert_contains(text, " Fl Fl %s%s", "no-", spec->long_name);
}

static void every_option_is_in_the_manual_page(void **state)
{
	for_each_option(check_man);
}

/* The part of the bash script that lists a command's options. */
static char *bash_options_of(const struct command *command)
{
	_cleanup_free_ char *text = text_of(write_bash, NULL);
	const char *start = strstr(text, "_mapwright_options()");
	char row[64];
	snprintf(row, sizeof row, "\t%s) echo '", command->name);
	start = start ? strstr(start, row) : NULL;
	assert_non_null(start);
	char *line = strndup(start, strcspn(start, "\n"));
	assert_non_null(line);
	*strrchr(line, '\'') = ' ';
	return line;
}

static void check_bash(const struct command *command, const struct option_spec *spec)
{
	_cleanup_free_ char *line = bash_options_of(command);
	const char letter[] = {spec->short_name, 0};
	if (spec->short_name)
		assert_contains(line, " %s%s ", "-", letter);
	if (spec->long_name)
		assert_contains(line, " %s%s ", "--", spec->long_name);
	if (spec->negatable)
		assert_contains(line, " %s%s ", "--no-", spec->long_name);
}

static void every_option_is_in_the_bash_completion(void **state)
{
	for_each_option(check_bash);
}

static char *zsh_options_of(const struct command *command)
{
	_cleanup_free_ char *text = text_of(write_zsh, NULL);
	char row[64];
	snprintf(row, sizeof row, "\t\t%s)\n", command->name);
	const char *start = strstr(text, row);
	assert_non_null(start);
	const char *end = strstr(start, "\t\t\t;;");
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

static void check_zsh(const struct command *command, const struct option_spec *spec)
{
	_cleanup_free_ char *rows = zsh_options_of(command);
	bool list = spec->type == OPTION_TEXTS || spec->type == OPTION_NUMBERS;
	const char letter[] = {spec->short_name, 0};
	if (spec->short_name)
		assert_contains(rows, "'%s%s", list ? "*-" : "-", letter);
	if (spec->long_name)
		assert_contains(rows, "'%s%s", list ? "*--" : "--", spec->long_name);
	if (spec->negatable)
		assert_contains(rows, "'%s%s", "--no-", spec->long_name);
}

static void every_option_is_in_the_zsh_completion(void **state)
{
	for_each_option(check_zsh);
}

static void check_spec(const struct command *command, const struct option_spec *spec)
{
	size_t n = spec->help ? strlen(spec->help) : 0;
	if (!n || !strchr(".:", spec->help[n - 1]))
		fail_msg("%s: the help of --%s is no sentence", command->name, spec->long_name);
	assert_true((spec->type == OPTION_FLAG) == (spec->value == NULL));
	struct option_choice c;
	assert_true(spec->type != OPTION_CHOICE || option_choice_at(spec, 0, &c));
	assert_true(!spec->value_optional || spec->absent);
	assert_true(!spec->negatable || (spec->type == OPTION_FLAG && spec->long_name));
	if (spec < command->options || spec >= command->options + 64)
		return;
	assert_true(spec->offset < command->options_size);
}

static void every_table_is_whole(void **state)
{
	for_each_option(check_spec);
}

/* Two options of one name would hide each other. */
static void no_option_is_written_twice(void **state)
{
	for (const struct command *const *c = commands; *c; c++) {
		for (const struct option_spec *a = (*c)->options; !option_is_end(a); a++) {
			for (const struct option_spec *b = (*c)->options; b < a; b++) {
				assert_false(a->short_name && a->short_name == b->short_name);
				assert_false(a->long_name && b->long_name &&
					     strcmp(a->long_name, b->long_name) == 0);
			}
			for (const struct option_spec *b = command_common_options; !option_is_end(b);
			     b++) {
				assert_false(a->short_name && a->short_name == b->short_name);
				assert_false(a->long_name && strcmp(a->long_name, b->long_name) == 0);
			}
		}
	}
}

static void every_command_says_what_it_does(void **state)
{
	for (const struct command *const *c = commands; *c; c++) {
		assert_ptr_equal(command_find((*c)->name), *c);
		assert_non_null((*c)->run);
		assert_non_null((*c)->description[0]);
		assert_true((*c)->summary[strlen((*c)->summary) - 1] != '.');
	}
	assert_null(command_find("rec"));
}

static void help_fits_the_width_and_loses_no_word(void **state)
{
	static const char text[] = "one two three-four five, sixseveneightnineteneleventwelvethirteen x";
	char wrapped[256];
	FILE *out = fmemopen(wrapped, sizeof wrapped, "w");
	assert_non_null(out);
	wrap_text(out, text, 0, 4, 24);
	fclose(out);
	assert_string_equal(wrapped, "    one two three-four\n    five,\n"
				     "    sixseveneightnineteneleventwelvethirteen\n    x\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_is_in_the_help),
		cmocka_unit_test(every_option_is_in_the_manual_page),
		cmocka_unit_test(every_option_is_in_the_bash_completion),
		cmocka_unit_test(every_option_is_in_the_zsh_completion),
		cmocka_unit_test(every_table_is_whole),
		cmocka_unit_test(no_option_is_written_twice),
		cmocka_unit_test(every_command_says_what_it_does),
		cmocka_unit_test(help_fits_the_width_and_loses_no_word),
	};
	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
