/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/elf_builder.h"
#include "lib/test.h"
#include "unwind/unwind_image.h"
#include "unwind/unwind_table.h"

#include <string.h>

/* A rule that is told by its number. */
static struct unwind_rule numbered(int number)
{
	return (struct unwind_rule){.kind = UNWIND_RULE, .cfa_register = 7, .cfa_offset = number};
}

struct made {
	struct buffer bytes;
	struct unwind_table table;
};

static void finish(struct made *made, struct unwind_image *image)
{
	made->bytes = (struct buffer){};
	assert_int_equal(unwind_image_finish(image, &made->bytes), 0);
	unwind_image_deinit(image);
	assert_int_equal(made->bytes.n % UNWIND_BLOCK_SIZE, 0);
	assert_int_equal(
		unwind_table_open_memory(&made->table, made->bytes.data, made->bytes.n, NULL), 0);
	assert_int_equal(unwind_table_check(&made->table, NULL), 0);
}

/* n ranges of 4 bytes from 16 on, one behind the other, with rules that repeat. */
static void make(struct made *made, uint32_t n, uint32_t n_rules)
{
	struct unwind_image image = {};
	assert_int_equal(unwind_image_init(&image, UNWIND_MACHINE_X86_64), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct unwind_rule rule = numbered((int)(i % n_rules));
		assert_int_equal(unwind_image_add(&image, 16 + i * 4, 20 + i * 4, &rule), 0);
	}
	finish(made, &image);
}

static void finds_every_row_of_tables_of_every_height(void **state)
{
	static const uint32_t sizes[] = {1,    2,    62,   63,	  64,	   65,	    8189,
					 8190, 8191, 8193, 12345, 1048574, 1048575, 1100000};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct made m;
		uint32_t n = sizes[i];
		make(&m, n, 1000);
		const struct unwind_header *h = unwind_table_header(&m.table);
		assert_int_equal(h->n_rows, n + 2);
		assert_int_equal(h->n_levels, n + 2 <= 8192 ? 1 : n + 2 <= 1048576 ? 2 : 3);
		assert_int_equal(unwind_table_find(&m.table, 15)->kind, UNWIND_NO_RULE);
		for (uint32_t j = 0; j<n; j += n> 20000 ? 61 : 1) {
			for (uint32_t k = 0; k < 4; k += 3) {
				const struct unwind_rule *rule =
					unwind_table_find(&m.table, 16 + j * 4 + k);
				assert_int_equal(rule->kind, UNWIND_RULE);
				assert_int_equal(rule->cfa_offset, j % 1000);
			}
		}
		assert_int_equal(unwind_table_find(&m.table, 16 + (uint64_t)n * 4 - 1)->cfa_offset,
				 (n - 1) % 1000);
		assert_int_equal(unwind_table_find(&m.table, 16 + (uint64_t)n * 4)->kind,
				 UNWIND_NO_RULE);
		buffer_deinit(&m.bytes);
	}
}

static void keeps_each_distinct_rule_once(void **state)
{
	struct made m;
	make(&m, 5000, 7);
	assert_int_equal(unwind_table_header(&m.table)->n_rules, 8);
	buffer_deinit(&m.bytes);
}

static void joins_neighbours_of_one_rule(void **state)
{
	struct unwind_image image = {};
	struct unwind_rule a = numbered(1), none = {.kind = UNWIND_NO_RULE};
	struct made m;
	assert_int_equal(unwind_image_init(&image, UNWIND_MACHINE_X86_64), 0);
	assert_int_equal(unwind_image_add(&image, 0, 10, &a), 0);
	assert_int_equal(unwind_image_add(&image, 10, 20, &a), 0);
	assert_int_equal(unwind_image_add(&image, 20, 20, &none), 0); /* nothing */
	assert_int_equal(unwind_image_add(&image, 30, 40, &a), 0);
	assert_int_equal(unwind_image_add(&image, 40, 50, &none), 0);
	finish(&m, &image);
	assert_int_equal(unwind_table_header(&m.table)->n_rows, 4);
	assert_int_equal(unwind_table_find(&m.table, 0)->kind, UNWIND_RULE);
	assert_int_equal(unwind_table_find(&m.table, 19)->kind, UNWIND_RULE);
	assert_int_equal(unwind_table_find(&m.table, 20)->kind, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, 29)->kind, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, 39)->kind, UNWIND_RULE);
	assert_int_equal(unwind_table_find(&m.table, 40)->kind, UNWIND_NO_RULE);
	buffer_deinit(&m.bytes);
}

static void has_no_rules_behind_four_gigabytes(void **state)
{
	struct unwind_image image = {};
	struct unwind_rule a = numbered(1);
	struct made m;
	assert_int_equal(unwind_image_init(&image, UNWIND_MACHINE_X86_64), 0);
	assert_int_equal(unwind_image_add(&image, 0xffffff00, 0x200000000, &a), 0);
	assert_int_equal(unwind_image_add(&image, 0x200000000, 0x300000000, &a), 0);
	finish(&m, &image);
	assert_int_equal(unwind_table_find(&m.table, 0xfffffffe)->kind, UNWIND_RULE);
	assert_int_equal(unwind_table_find(&m.table, 0xffffffff)->kind, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, 0x100000000)->kind, UNWIND_NO_RULE);
	assert_int_equal(unwind_table_find(&m.table, 0x1ffffff00)->kind, UNWIND_NO_RULE);
	buffer_deinit(&m.bytes);
}

static void maps_a_file_that_was_written(void **state)
{
	struct made m;
	struct unwind_table table;
	make(&m, 100, 10);
	int fd = memory_file(m.bytes.data, m.bytes.n);
	assert_int_equal(unwind_table_open(&table, fd, NULL), 0);
	close(fd);
	assert_int_equal(unwind_table_find(&table, 20)->cfa_offset, 1);
	unwind_table_close(&table);
	unwind_table_close(&table);
	fd = memory_file(m.bytes.data, 100);
	assert_int_equal(unwind_table_open(&table, fd, NULL), -EBADMSG);
	close(fd);
	buffer_deinit(&m.bytes);
}

/* Each word of the header, each changed in several ways: refused, or look-ups stay inside. */
static void stays_inside_whatever_a_table_says(void **state)
{
	static const uint32_t values[] = {0,  1,       2,	   4,	       5,
					  64, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};
	struct made m;
	make(&m, 20000, 300);
	uint32_t *words = (void *)m.bytes.data;
	for (size_t i = 4; i < m.bytes.n / 4; i += i < 32 ? 1 : 509) {
		uint32_t was = words[i];
		for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
			struct unwind_table table;
			struct mw_error e;
			words[i] = values[j];
			if (unwind_table_open_memory(&table, m.bytes.data, m.bytes.n, &e) < 0)
				continue;
			for (uint64_t at = 0; at < 0x100000000; at += 0x1234567)
				assert_non_null(unwind_table_find(&table, at));
			for (uint64_t at = 0; at < 90000; at += 777)
				assert_non_null(unwind_table_find(&table, at));
			assert_int_equal(unwind_table_check(&table, &e),
					 values[j] == was ? 0 : -EBADMSG);
		}
		words[i] = was;
	}
	buffer_deinit(&m.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_row_of_tables_of_every_height),
		cmocka_unit_test(keeps_each_distinct_rule_once),
		cmocka_unit_test(joins_neighbours_of_one_rule),
		cmocka_unit_test(has_no_rules_behind_four_gigabytes),
		cmocka_unit_test(maps_a_file_that_was_written),
		cmocka_unit_test(stays_inside_whatever_a_table_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
