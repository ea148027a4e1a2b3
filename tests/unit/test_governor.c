/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/governor.h"
#include "lib/test.h"

#define SECOND UINT64_C(1000000000)

/* Lives for some seconds at a cost (share of the machine at full rate) that falls with the rate. */
static unsigned live(struct governor *g, unsigned seconds, double cost, uint64_t *now,
		     uint64_t *spent)
{
	unsigned changes = 0;
	for (unsigned i = 0; i < seconds; i++) {
		*now += SECOND;
		*spent += (uint64_t)(cost * g->cpus * (double)SECOND / g->divisor);
		changes += (unsigned)governor_tell(g, *now, *spent);
	}
	return changes;
}

static void a_cost_below_the_limit_changes_nothing(void **state)
{
	struct governor g;
	uint64_t now = 0, spent = 0;
	governor_init(&g, 0.01, 4);
	assert_int_equal(live(&g, 60, 0.009, &now, &spent), 0);
	assert_int_equal(g.divisor, 1);
}

static void the_rate_falls_until_the_cost_is_below_the_limit(void **state)
{
	struct governor g;
	uint64_t now = 0, spent = 0;
	governor_init(&g, 0.01, 2);
	live(&g, 60, 0.06, &now, &spent);
	assert_int_equal(g.divisor, 8);
	assert_int_equal(g.lowered, 3);
}

static void it_rises_again_when_the_machine_is_calm_and_does_not_swing(void **state)
{
	struct governor g;
	uint64_t now = 0, spent = 0;
	governor_init(&g, 0.01, 2);
	live(&g, 60, 0.06, &now, &spent);
	live(&g, 60, 0.001, &now, &spent);
	assert_int_equal(g.divisor, 1);
	/* Just above the limit: halved once, and left there. */
	assert_int_equal(live(&g, 300, 0.011, &now, &spent), 1);
	assert_int_equal(g.divisor, 2);
}

static void there_is_a_slowest_rate(void **state)
{
	struct governor g;
	uint64_t now = 0, spent = 0;
	governor_init(&g, 0.0001, 1);
	live(&g, 300, 0.9, &now, &spent);
	assert_int_equal(g.divisor, GOVERNOR_MAX_DIVISOR);
}

static void a_short_burst_is_averaged(void **state)
{
	struct governor g;
	uint64_t now = 0, spent = 0;
	governor_init(&g, 0.01, 2);
	live(&g, 10, 0.001, &now, &spent);
	assert_int_equal(live(&g, 1, 0.03, &now, &spent), 0);
	assert_int_equal(live(&g, 10, 0.001, &now, &spent), 0);
}

static void without_a_limit_nothing_happens(void **state)
{
	struct governor g;
	uint64_t now = 0, spent = 0;
	governor_init(&g, 0, 2);
	assert_int_equal(live(&g, 60, 0.9, &now, &spent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cost_below_the_limit_changes_nothing),
		cmocka_unit_test(the_rate_falls_until_the_cost_is_below_the_limit),
		cmocka_unit_test(it_rises_again_when_the_machine_is_calm_and_does_not_swing),
		cmocka_unit_test(there_is_a_slowest_rate),
		cmocka_unit_test(a_short_burst_is_averaged),
		cmocka_unit_test(without_a_limit_nothing_happens),
	};
	return cmocka_run_group_tests_name("governor", tests, NULL, NULL);
}
