/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/option.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

struct values {
	bool all;
	bool graph;
	bool children;
	uint64_t freq;
	uint64_t ring;
	uint64_t time;
	double limit;
	const char *output;
	const char *order;
	int colour;
	struct option_numbers pids;
	struct option_texts events;
};

#define AT(field) .offset = offsetof(struct values, field)

static const struct option_choice colours[] = {{"auto", NULL}, {"always", NULL}, {"never", NULL}, {}};

static const struct option_spec specs[] = {
	{OPTION_FLAG, 'a', "all-cpus", AT(all)},
	{OPTION_FLAG, 'g', NULL, AT(graph)},
	{OPTION_FLAG, 0, "children", AT(children), .negatable = true},
	{OPTION_NUMBER, 'F', "freq", "HZ", AT(freq), .min = 1, .max = 1000},
	{OPTION_BYTES, 'm', "ring-size", "SIZE", AT(ring), .unit = 4096},
	{OPTION_TIME, 0, "duration", "TIME", AT(time), .min = 1000000},
	{OPTION_PERCENT, 0, "percent-limit", "PERCENT", AT(limit)},
	{OPTION_TEXT, 'o', "output", "FILE", AT(output)},
	{OPTION_TEXT, 'G', "order", "ORDER", AT(order), .value_optional = true, .absent = "caller"},
	{OPTION_CHOICE, 0, "color", "WHEN", AT(colour), .choices = colours},
	{OPTION_NUMBERS, 'p', "pid", "LIST", AT(pids), .min = 1},
	{OPTION_TEXTS, 'e', "event", "LIST", AT(events)},
	{},
};

#define WORDS_MAX 16

/* A command line that was read: what option_parse() got and gave. */
struct line {
	struct values values;
	char *words[WORDS_MAX];
	struct option_problem problem;
	int left;
};

static void parse_some(struct line *l, bool stop_early, const char *const *words)
{
	*l = (struct line){.values = {.children = true, .freq = 7}};
	int n = 0;
	for (; words[n]; n++)
		l->words[n] = (char *)words[n];
	const struct option_set set = {specs, &l->values};
	l->left = option_parse(&set, 1, stop_early, n, l->words, &l->problem);
}

static void release(struct line *l)
{
	const struct option_set set = {specs, &l->values};
	option_set_deinit(&set);
}

#define PARSE(l, ...)       parse_some(l, false, (const char *const[]){__VA_ARGS__, NULL})
#define PARSE_EARLY(l, ...) parse_some(l, true, (const char *const[]){__VA_ARGS__, NULL})
#define _line_              _cleanup_(release) struct line

static void a_value_may_be_attached_or_follow(void **state)
{
	static const char *const forms[][3] = {
		{"-F", "99"}, {"-F99"}, {"--freq", "99"}, {"--freq=99"}, {"--fre=99"}, {"--f", "99"}};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_line_ l;
		parse_some(&l, false, forms[i]);
		assert_int_equal(l.left, 0);
		assert_int_equal(l.values.freq, 99);
	}
}

static void flags_may_stand_in_a_cluster_that_ends_in_a_value(void **state)
{
	_line_ l;
	PARSE(&l, "-agF", "99", "file");
	assert_true(l.values.all && l.values.graph);
	assert_int_equal(l.values.freq, 99);
	assert_int_equal(l.left, 1);
	assert_string_equal(l.words[0], "file");
	_line_ attached;
	PARSE(&attached, "-gaF99");
	assert_int_equal(attached.values.freq, 99);
}

static void flags_are_negated_where_the_table_allows(void **state)
{
	_line_ l;
	PARSE(&l, "--no-children");
	assert_false(l.values.children);
	_line_ again;
	PARSE(&again, "--no-children", "--children");
	assert_true(again.values.children);
	_line_ refused;
	PARSE(&refused, "--no-all-cpus");
	assert_int_equal(refused.left, -EINVAL);
}

static void options_and_arguments_may_be_mixed(void **state)
{
	_line_ l;
	PARSE(&l, "one", "-a", "two", "-o", "out", "three");
	assert_int_equal(l.left, 3);
	assert_string_equal(l.words[2], "three");
	assert_string_equal(l.values.output, "out");
	assert_null(l.words[3]);
}

static void two_dashes_end_the_options(void **state)
{
	_line_ l;
	PARSE(&l, "-a", "--", "-F", "--", "-g");
	assert_int_equal(l.left, 3);
	assert_string_equal(l.words[0], "-F");
	assert_string_equal(l.words[1], "--");
	assert_false(l.values.graph);
}

static void a_program_to_run_keeps_its_own_options(void **state)
{
	_line_ l;
	PARSE_EARLY(&l, "-a", "make", "-F", "x", "-g");
	assert_int_equal(l.left, 4);
	assert_string_equal(l.words[0], "make");
	assert_string_equal(l.words[3], "-g");
	assert_int_equal(l.values.freq, 7);
	assert_false(l.values.graph);
}

static void a_single_dash_is_an_argument(void **state)
{
	_line_ l;
	PARSE(&l, "-", "-o", "-");
	assert_int_equal(l.left, 1);
	assert_string_equal(l.words[0], "-");
	assert_string_equal(l.values.output, "-");
}

static void lists_grow_over_commas_and_repetitions(void **state)
{
	_line_ l;
	PARSE(&l, "-p", "1,2", "--pid=3", "-e", "cycles", "-e", "cpu/event=1,umask=2/,cpu-clock");
	assert_int_equal(l.values.pids.n, 3);
	assert_int_equal(l.values.pids.items[2], 3);
	assert_int_equal(l.values.events.n, 3);
	assert_string_equal(l.values.events.items[1], "cpu/event=1,umask=2/");
	assert_string_equal(l.values.events.items[2], "cpu-clock");
}

static void lists_refuse_empty_and_foreign_items(void **state)
{
	static const char *const texts[] = {"", ",", "1,", ",1", "1,,2", "1,x", "0", "4294967296", "-1"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_line_ l;
		PARSE(&l, "-p", texts[i]);
		assert_int_equal(l.left, -EINVAL);
		assert_non_null(strstr(l.problem.text, "--pid") ?: strstr(l.problem.text, "-p"));
	}
}

static void an_optional_value_is_only_taken_attached(void **state)
{
	_line_ l;
	PARSE(&l, "-G", "file");
	assert_string_equal(l.values.order, "caller");
	assert_int_equal(l.left, 1);
	_line_ attached;
	PARSE(&attached, "--order=callee");
	assert_string_equal(attached.values.order, "callee");
	_line_ letter;
	PARSE(&letter, "-Gcallee");
	assert_string_equal(letter.values.order, "callee");
}

static void values_out_of_range_are_refused_with_the_range(void **state)
{
	_line_ l;
	PARSE(&l, "-F", "1001");
	assert_int_equal(l.left, -EINVAL);
	assert_string_equal(l.problem.text, "-F: 1001 is not from 1 to 1000");
	_line_ shorter;
	PARSE(&shorter, "--duration", "1us");
	assert_string_equal(shorter.problem.text, "--duration: \"1us\" is too short");
	_line_ word;
	PARSE(&word, "--freq=fast");
	assert_string_equal(word.problem.text, "--freq: \"fast\" is not a number");
	_line_ percent;
	PARSE(&percent, "--percent-limit", "101");
	assert_int_equal(percent.left, -EINVAL);
}

static void a_missing_value_is_named(void **state)
{
	_line_ l;
	PARSE(&l, "-a", "--output");
	assert_int_equal(l.left, -EINVAL);
	assert_string_equal(l.problem.text, "--output needs a value: FILE");
	_line_ flag;
	PARSE(&flag, "--all-cpus=yes");
	assert_string_equal(flag.problem.text, "--all-cpus takes no value");
}

static void a_choice_is_one_of_its_list(void **state)
{
	_line_ l;
	PARSE(&l, "--color", "never");
	assert_int_equal(l.values.colour, 2);
	_line_ near;
	PARSE(&near, "--color=alwyas");
	assert_int_equal(near.left, -EINVAL);
	assert_string_equal(near.problem.hint, "did you mean always?");
	_line_ far;
	PARSE(&far, "--color=purple");
	assert_string_equal(far.problem.hint, "possible are auto, always, never");
}

static void an_unknown_option_gets_the_nearest_as_a_hint(void **state)
{
	static const struct {
		const char *typed;
		const char *hint;
	} cases[] = {
		{"--frequncy", "did you mean --freq?"},
		{"--frequ", "did you mean --freq?"},
		{"--ferq", "did you mean --freq?"},
		{"--ouptut=x", "did you mean --output?"},
		{"-freq", "did you mean --freq?"},
		{"--no-childern", "did you mean --no-children?"},
		{"--zebra", ""},
		{"-Z", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_line_ l;
		PARSE(&l, cases[i].typed);
		assert_int_equal(l.left, -EINVAL);
		assert_string_equal(l.problem.hint, cases[i].hint);
	}
}

static void a_beginning_of_two_options_is_refused(void **state)
{
	_line_ l;
	PARSE(&l, "--o", "x");
	assert_int_equal(l.left, -EINVAL);
	assert_string_equal(l.problem.text, "--o could be more than one option");
}

static void lines_of_any_length_are_refused_in_one_piece(void **state)
{
	char *word = test_malloc(100001);
	memset(word, 'x', 100000);
	word[100000] = '\0';
	memcpy(word, "--", 2);
	_line_ l;
	PARSE(&l, word);
	assert_int_equal(l.left, -EINVAL);
	assert_true(strlen(l.problem.text) < sizeof l.problem.text);
	test_free(word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_may_be_attached_or_follow),
		cmocka_unit_test(flags_may_stand_in_a_cluster_that_ends_in_a_value),
		cmocka_unit_test(flags_are_negated_where_the_table_allows),
		cmocka_unit_test(options_and_arguments_may_be_mixed),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_program_to_run_keeps_its_own_options),
		cmocka_unit_test(a_single_dash_is_an_argument),
		cmocka_unit_test(lists_grow_over_commas_and_repetitions),
		cmocka_unit_test(lists_refuse_empty_and_foreign_items),
		cmocka_unit_test(an_optional_value_is_only_taken_attached),
		cmocka_unit_test(values_out_of_range_are_refused_with_the_range),
		cmocka_unit_test(a_missing_value_is_named),
		cmocka_unit_test(a_choice_is_one_of_its_list),
		cmocka_unit_test(an_unknown_option_gets_the_nearest_as_a_hint),
		cmocka_unit_test(a_beginning_of_two_options_is_refused),
		cmocka_unit_test(lines_of_any_length_are_refused_in_one_piece),
	};
	return cmocka_run_group_tests_name("option", tests, NULL, NULL);
}
