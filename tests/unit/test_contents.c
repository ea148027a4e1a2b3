/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/contents.h"
#include "lib/test.h"

#include <string.h>

static const uint8_t content_a[ELF_CONTENT_SIZE] = "content a", content_b[ELF_CONTENT_SIZE] = "content b";

static struct mw_file_id id_of(uint32_t number)
{
	struct mw_file_id id = {.kind = MW_FILE_ID_GNU, .size = 20};
	memcpy(id.bytes, &number, sizeof number);
	return id;
}

static int set_up(void **state)
{
	struct contents *c;
	int r = contents_new(&c);
	*state = c;
	return r;
}

static int tear_down(void **state)
{
	contents_free(*state);
	return 0;
}

static void an_id_of_one_content_is_plain(void **state)
{
	struct mw_file_id id = id_of(1), unknown = id_of(2);
	assert_int_equal(contents_see(*state, &id, content_a), 0);
	assert_int_equal(contents_see(*state, &id, content_a), 0);
	assert_false(contents_is_ambiguous(*state, &id));
	assert_false(contents_is_ambiguous(*state, &unknown));
}

static void an_id_of_two_contents_is_ambiguous_and_stays_so(void **state)
{
	struct mw_file_id id = id_of(1), other = id_of(2);
	contents_see(*state, &id, content_a);
	contents_see(*state, &other, content_b);
	assert_int_equal(contents_see(*state, &id, content_b), 1);
	assert_int_equal(contents_see(*state, &id, content_a), 0);
	assert_true(contents_is_ambiguous(*state, &id));
	assert_false(contents_is_ambiguous(*state, &other));
}

static void ambiguous_ids_are_not_forgotten_for_lack_of_room(void **state)
{
	struct mw_file_id ambiguous = id_of(0);
	contents_see(*state, &ambiguous, content_a);
	contents_see(*state, &ambiguous, content_b);
	for (uint32_t i = 1; i < 40000; i++) {
		struct mw_file_id id = id_of(i);
		assert_int_equal(contents_see(*state, &id, content_a), 0);
	}
	assert_true(contents_is_ambiguous(*state, &ambiguous));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_id_of_one_content_is_plain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_id_of_two_contents_is_ambiguous_and_stays_so, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ambiguous_ids_are_not_forgotten_for_lack_of_room, set_up,
						tear_down),
	};
	return cmocka_run_group_tests_name("contents", tests, NULL, NULL);
}
