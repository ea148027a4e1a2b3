/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/file_id.h"
#include "base/hash.h"
#include "base/strings.h"
#include "base/map.h"
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

static void cursor_reads_stop_at_the_end(void **state)
{
	const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct cursor c = cursor_init(bytes, sizeof bytes, false);
	assert_int_equal(cursor_u32(&c), 0x04030201);
	assert_int_equal(cursor_u16(&c), 0);
	assert_false(cursor_ok(&c));
	assert_int_equal(cursor_u8(&c), 0); /* failed for good */
}

static void cursor_swaps_bytes_of_the_other_order(void **state)
{
	const uint8_t bytes[] = {0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 9};
	struct cursor c = cursor_init(bytes, sizeof bytes, true);
	assert_int_equal(cursor_u32(&c), 0x0102);
	assert_int_equal(cursor_u64(&c), 9);
}

static void cursor_refuses_lengths_of_any_size(void **state)
{
	const uint8_t bytes[8] = {0};
	for (unsigned shift = 4; shift < 64; shift++) {
		struct cursor c = cursor_init(bytes, sizeof bytes, false);
		assert_null(cursor_bytes(&c, UINT64_C(1) << shift));
		struct cursor whole = cursor_init(bytes, sizeof bytes, false);
		struct cursor s = cursor_slice(&whole, 4, UINT64_MAX - 3);
		assert_false(cursor_ok(&s));
		assert_int_equal(cursor_left(&s), 0);
	}
}

static void leb128_values_round_trip(void **state)
{
	const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct buffer b = {};
		buffer_uleb(&b, values[i]);
		struct cursor c = cursor_init(b.data, b.n, false);
		assert_true(cursor_uleb(&c) == values[i]);
		assert_true(cursor_ok(&c) && cursor_left(&c) == 0);
		buffer_deinit(&b);
	}
}

static void leb128_values_over_64_bits_fail(void **state)
{
	const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	struct cursor c = cursor_init(wide, sizeof wide, false);
	cursor_uleb(&c);
	assert_false(cursor_ok(&c));

	const uint8_t endless[] = {0x80, 0x80, 0x80};
	c = cursor_init(endless, sizeof endless, false);
	cursor_uleb(&c);
	assert_false(cursor_ok(&c));
}

static void signed_leb128_extends_the_sign(void **state)
{
	const uint8_t bytes[] = {0x7f, 0x80, 0x7f, 0x3f, 0xff, 0x00};
	struct cursor c = cursor_init(bytes, sizeof bytes, false);
	assert_int_equal(cursor_sleb(&c), -1);
	assert_int_equal(cursor_sleb(&c), -128);
	assert_int_equal(cursor_sleb(&c), 63);
	assert_int_equal(cursor_sleb(&c), 127);
}

static void a_string_without_end_fails(void **state)
{
	struct cursor c = cursor_init("ab\0cd", 5, false);
	assert_string_equal(cursor_string(&c), "ab");
	assert_null(cursor_string(&c));
	assert_false(cursor_ok(&c));
}

static void file_ids_round_trip_as_text(void **state)
{
	const char *texts[] = {"gnu:ab", "gnu:93ac61ec", "htl:00112233445566778899aabbccddeeff",
			       "go:abc/def-1_2%20x", "gnu-padded:0102030405060708090a0b0c0d0e0f1011121314"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct mw_file_id id;
		char text[MW_FILE_ID_TEXT_MAX];
		assert_int_equal(mw_file_id_from_text(texts[i], &id), 0);
		assert_int_equal(mw_file_id_to_text(&id, text, sizeof text), strlen(texts[i]));
		assert_string_equal(text, texts[i]);
		assert_true(mw_file_id_equal(&id, &id));
	}
}

static void file_ids_that_are_none_are_refused(void **state)
{
	const char *texts[] = {"", "gnu:", "gnu:abc", "gnu:zz", "go:", "go:%4", "htl:0x12"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct mw_file_id id;
		assert_int_equal(mw_file_id_from_text(texts[i], &id), -EINVAL);
	}
}

static void strings_are_kept_once_and_never_move(void **state)
{
	struct strings pool = {};
	uint32_t first;
	assert_int_equal(strings_add(&pool, "first", 5, &first), 0);
	const char *where = strings_get(&pool, first);
	for (int i = 0; i < 20000; i++) {
		char text[16];
		int n = snprintf(text, sizeof text, "s%d", i);
		uint32_t number, again;
		assert_int_equal(strings_add(&pool, text, (size_t)n, &number), 0);
		assert_int_equal(strings_add(&pool, text, (size_t)n, &again), 0);
		assert_int_equal(number, again);
		assert_string_equal(strings_get(&pool, number), text);
	}
	assert_ptr_equal(strings_get(&pool, first), where);
	assert_string_equal(strings_get(&pool, 0), "");
	assert_string_equal(strings_get(&pool, 999999), "");
	strings_deinit(&pool);
}

static bool equal_number(const void *context, uint32_t entry, const void *key)
{
	return entry == *(const uint32_t *)key;
}

/* With hashes that all collide, so that every removal has to close a gap in one long run. */
static void hash_index_finds_what_is_left_after_removals(void **state)
{
	struct hash_index index = {};
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(hash_index_add(&index, i % 3, i), 0);
	for (uint32_t i = 0; i < 100; i += 2)
		assert_true(hash_index_remove(&index, i % 3, i));
	assert_false(hash_index_remove(&index, 0, 0));
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t found = hash_index_find(&index, i % 3, equal_number, NULL, &i);
		assert_int_equal(found, i % 2 ? i : HASH_INDEX_NONE);
	}
	hash_index_deinit(&index);
}

static void errors_name_place_and_cause(void **state)
{
	struct mw_error e;
	assert_int_equal(error_at(&e, -EBADMSG, 64, "section 3 is past the end"), -EBADMSG);
	assert_int_equal(e.offset, 64);
	assert_int_equal(error_prefix(&e, -EBADMSG, "%s", "prog"), -EBADMSG);
	assert_string_equal(e.msg, "prog: section 3 is past the end at byte 64");
	assert_int_equal(error_errno(&e, -ENOENT, "x"), -ENOENT);
	assert_string_equal(e.msg, "x: No such file or directory");
	assert_int_equal(error_set(NULL, -EIO, "nobody listens"), -EIO);
}

static void every_reason_has_a_name_and_a_sentence(void **state)
{
	for (int i = 0; i < MW_N_REASONS; i++) {
		assert_non_null(mw_reason_name(i));
		assert_non_null(mw_reason_sentence(i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(mw_reason_name(i), mw_reason_name(j));
	}
	assert_null(mw_reason_name(MW_N_REASONS));
}

/* ---- map ------------------------------------------------------------------------------------- */

static void a_map_finds_what_was_added_and_nothing_else(void **state)
{
	struct map map = {};
	assert_int_equal(map_find(&map, 0), MAP_NONE);
	assert_int_equal(map_find(&map, 7), MAP_NONE);
	for (uint64_t i = 0; i < 5000; i++) {
		/* Keys that are alike below, above and altogether, and 0. */
		uint64_t key = i % 3 == 0 ? i << 40 : i % 3 == 1 ? i << 12 : i;
		assert_int_equal(map_find(&map, key), MAP_NONE);
		assert_int_equal(map_add(&map, key, (uint32_t)i), 0);
	}
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(map_find(&map, i % 3 == 0 ? i << 40 : i % 3 == 1 ? i << 12 : i), i);
	assert_int_equal(map_find(&map, UINT64_MAX), MAP_NONE);
	assert_true(map.n_places >= 2 * map.n);
	map_deinit(&map);
	assert_int_equal(map_find(&map, 3), MAP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_finds_what_was_added_and_nothing_else),
		cmocka_unit_test(cursor_reads_stop_at_the_end),
		cmocka_unit_test(cursor_swaps_bytes_of_the_other_order),
		cmocka_unit_test(cursor_refuses_lengths_of_any_size),
		cmocka_unit_test(leb128_values_round_trip),
		cmocka_unit_test(leb128_values_over_64_bits_fail),
		cmocka_unit_test(signed_leb128_extends_the_sign),
		cmocka_unit_test(a_string_without_end_fails),
		cmocka_unit_test(file_ids_round_trip_as_text),
		cmocka_unit_test(file_ids_that_are_none_are_refused),
		cmocka_unit_test(strings_are_kept_once_and_never_move),
		cmocka_unit_test(hash_index_finds_what_is_left_after_removals),
		cmocka_unit_test(errors_name_place_and_cause),
		cmocka_unit_test(every_reason_has_a_name_and_a_sentence),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
