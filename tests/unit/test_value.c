/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/value.h"
#include "lib/test.h"

#include <errno.h>

static void numbers_take_suffixes_of_1000(void **state)
{
	uint64_t n;
	assert_int_equal(value_read_number("99", &n), 0);
	assert_int_equal(n, 99);
	assert_int_equal(value_read_number("4k", &n), 0);
	assert_int_equal(n, 4000);
	assert_int_equal(value_read_number("1.5M", &n), 0);
	assert_int_equal(n, 1500000);
}

static void bytes_take_suffixes_of_1024_and_a_unit_for_bare_numbers(void **state)
{
	uint64_t n;
	assert_int_equal(value_read_bytes("8M", 4096, &n), 0);
	assert_int_equal(n, 8 << 20);
	assert_int_equal(value_read_bytes("128", 4096, &n), 0);
	assert_int_equal(n, 128 * 4096);
	assert_int_equal(value_read_bytes("128", 0, &n), 0);
	assert_int_equal(n, 128);
	assert_int_equal(value_read_bytes("128B", 4096, &n), 0);
	assert_int_equal(n, 128);
}

static void times_are_seconds_unless_they_say_otherwise(void **state)
{
	const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{"10", UINT64_C(10000000000)},
		{"10s", UINT64_C(10000000000)},
		{"500ms", 500000000},
		{"0.5", 500000000},
		{"2m", UINT64_C(120000000000)},
		{"1h", UINT64_C(3600000000000)},
		{"7us", 7000},
		{"3ns", 3},
		{"0.000000001", 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns;
		assert_int_equal(value_read_time(cases[i].text, &ns), 0);
		assert_true(ns == cases[i].ns);
	}
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const texts[] = {"",    " 1",  "1 ",  "-1", "+1", "0x10", "1e3", "1.",
					    ".5",  "1.5", "nan", "k",  "1kk", "1,5", "99Hz", "\n"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t n = 42;
		assert_int_equal(value_read_number(texts[i], &n), -EINVAL);
		assert_int_equal(n, 42);
	}
}

static void what_does_not_fit_is_refused_rather_than_cut(void **state)
{
	uint64_t n;
	assert_int_equal(value_read_number("18446744073709551615", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(value_read_number("18446744073709551616", &n), -ERANGE);
	assert_int_equal(value_read_number("18446744073709551615k", &n), -ERANGE);
	assert_int_equal(value_read_bytes("17179869184G", 0, &n), -ERANGE);
	assert_int_equal(value_read_time("5124096h", &n), -ERANGE);
	assert_int_equal(value_read_time("99999999999999999999999s", &n), -ERANGE);
}

static void percentages_go_from_0_to_100(void **state)
{
	double p;
	assert_int_equal(value_read_percent("0.5", &p), 0);
	assert_true(p == 0.5);
	assert_int_equal(value_read_percent("12%", &p), 0);
	assert_true(p == 12);
	assert_int_equal(value_read_percent("100", &p), 0);
	assert_int_equal(value_read_percent("100.1", &p), -ERANGE);
	assert_int_equal(value_read_percent("-1", &p), -EINVAL);
	assert_int_equal(value_read_percent("1%%", &p), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_take_suffixes_of_1000),
		cmocka_unit_test(bytes_take_suffixes_of_1024_and_a_unit_for_bare_numbers),
		cmocka_unit_test(times_are_seconds_unless_they_say_otherwise),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(what_does_not_fit_is_refused_rather_than_cut),
		cmocka_unit_test(percentages_go_from_0_to_100),
	};
	return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
