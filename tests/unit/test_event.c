/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/event.h"
#include "lib/test.h"

#include <linux/perf_event.h>
#include <string.h>

static void every_name_of_the_table_is_an_event(void **state)
{
	struct mw_error e;
	unsigned n = 0;
	for (; event_name(n); n++) {
		struct event event = {.frequency = 99};
		assert_int_equal(event_parse(event_name(n), &event, &e), 0);
		assert_string_equal(event.name, event_name(n));
		/* Each wait is one: it has no rate. */
		assert_int_equal(event.frequency, event.is_off_cpu ? 0 : 99);
	}
	assert_true(n > 10);
}

static void perfs_short_forms_are_known(void **state)
{
	struct event event = {};
	struct mw_error e;
	assert_int_equal(event_parse("cs", &event, &e), 0);
	assert_string_equal(event.name, "context-switches");
	assert_int_equal(event_parse("faults", &event, &e), 0);
	assert_int_equal(event.config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(event_parse("cpu-cycles", &event, &e), 0);
	assert_int_equal(event.type, PERF_TYPE_HARDWARE);
}

static void modifiers_choose_the_mode(void **state)
{
	struct event event = {};
	struct mw_error e;
	assert_int_equal(event_parse("cpu-clock:u", &event, &e), 0);
	assert_true(event.user_only && !event.kernel_only && event.counts_time);
	assert_int_equal(event_parse("cycles:k", &event, &e), 0);
	assert_true(event.kernel_only && !event.user_only && !event.counts_time);
	assert_int_equal(event_parse("cycles:uk", &event, &e), 0);
	assert_false(event.kernel_only || event.user_only);
}

static void an_unknown_event_is_refused_with_the_names_that_exist(void **state)
{
	const char *names[] = {"", "cycle", "cyclesx", ":u", "nonsense"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct event event = {};
		struct mw_error e = {};
		assert_int_equal(event_parse(names[i], &event, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "cpu-clock"));
	}
	struct event event = {};
	struct mw_error e = {};
	assert_int_equal(event_parse("cycles:x", &event, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "modifier"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_of_the_table_is_an_event),
		cmocka_unit_test(perfs_short_forms_are_known),
		cmocka_unit_test(modifiers_choose_the_mode),
		cmocka_unit_test(an_unknown_event_is_refused_with_the_names_that_exist),
	};
	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
