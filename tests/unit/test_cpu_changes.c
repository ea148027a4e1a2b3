/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/cpu_changes.h"
#include "lib/test.h"

#include <string.h>

/* -1: it is about something else. */
static int64_t cpu_in(const char *text, size_t size)
{
	uint32_t cpu = 12345;
	return cpu_changes_parse(text, size, &cpu) == 1 ? (int64_t)cpu : -1;
}

#define CPU_IN(text) cpu_in(text, sizeof(text))

static void a_cpu_that_went_or_came_is_told(void **state)
{
	assert_int_equal(CPU_IN("offline@/devices/system/cpu/cpu1\0ACTION=offline"), 1);
	assert_int_equal(CPU_IN("online@/devices/system/cpu/cpu127\0ACTION=online"), 127);
	assert_int_equal(CPU_IN("online@/devices/system/cpu/cpu0"), 0);
}

static void other_words_are_not_about_a_cpu(void **state)
{
	assert_int_equal(CPU_IN("add@/devices/system/cpu/cpu1"), -1);
	assert_int_equal(CPU_IN("offline@/devices/system/memory/memory1"), -1);
	assert_int_equal(CPU_IN("offline@/devices/system/cpu/cpu"), -1);
	assert_int_equal(CPU_IN("offline@/devices/system/cpu/cpufreq"), -1);
	assert_int_equal(CPU_IN("offline@/devices/system/cpu/cpu1x"), -1);
	assert_int_equal(CPU_IN("offline@/devices/system/cpu/cpu12345678901234"), -1);
	assert_int_equal(CPU_IN(""), -1);
	assert_int_equal(cpu_in("", 0), -1);
}

static void nothing_is_read_past_the_end(void **state)
{
	static const char text[] = "offline@/devices/system/cpu/cpu12";
	assert_int_equal(cpu_in(text, sizeof text - 2), 1);
	assert_int_equal(cpu_in(text, sizeof text - 3), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_that_went_or_came_is_told),
		cmocka_unit_test(other_words_are_not_about_a_cpu),
		cmocka_unit_test(nothing_is_read_past_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
