/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/sort.h"
#include "lib/test.h"

static void check(size_t n, uint64_t mask)
{
	_cleanup_free_ struct sort_item *items = calloc(n + 1, sizeof *items);
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		items[i] = (struct sort_item){hash_u64(i + 1) & mask, i};
		sum += items[i].key;
	}
	assert_int_equal(sort_items(items, n), 0);
	for (size_t i = 1; i < n; i++) {
		assert_true(items[i - 1].key <= items[i].key);
		if (items[i - 1].key == items[i].key) /* stable */
			assert_true(items[i - 1].value < items[i].value);
		sum -= items[i].key;
	}
	assert_true(n == 0 || sum == items[0].key);
	for (size_t i = 0; i < n; i++)
		assert_true(items[i].key == (hash_u64(items[i].value + 1) & mask));
}

static void sorts_any_number_of_keys_and_keeps_the_order_of_equal_ones(void **state)
{
	static const size_t counts[] = {0, 1, 2, 3, 64, 65, 1000, 5000};
	static const uint64_t masks[] = {0, 7, 0xffff, UINT32_MAX, UINT64_MAX, UINT64_MAX << 60};
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(masks); j++)
			check(counts[i], masks[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_any_number_of_keys_and_keeps_the_order_of_equal_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
