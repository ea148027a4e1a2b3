/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym_decode.h"

#include "base/buffer.h"
#include "lib/test.h"

#include <string.h>

/*
 * One function at 0x1000 of 0x100 bytes, made by hand as LLVM would:
 *
 *	main   0x1000-0x1100, of a.c
 *	  cube 0x1010-0x1030, called at a.c:9
 *	    square 0x1018-0x1020 and 0x1028-0x102c, called at b.h:3
 *	  other 0x1040-0x1050, called at a.c:11
 */
struct maker {
	struct buffer b;
	bool big;
};

static void put(struct maker *m, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buffer_u8(&m->b, (uint8_t)(value >> 8 * (m->big ? n - 1 - i : i)));
}

static void set(struct maker *m, size_t at, uint32_t value)
{
	struct maker small = {.big = m->big};
	put(&small, value, 4);
	memcpy(m->b.data + at, small.b.data, 4);
	buffer_deinit(&small.b);
}

static const char texts[] = "\0main\0cube\0square\0other\0/src\0a.c\0b.h";
enum { MAIN = 1, CUBE = 6, SQUARE = 11, OTHER = 18, SRC = 24, A_C = 29, B_H = 33 };

static void put_call(struct maker *m, const uint8_t (*ranges)[2], uint8_t n, bool has_callees,
		     uint32_t name, uint8_t file, uint8_t line)
{
	put(m, n, 1);
	for (uint8_t i = 0; i < n; i++) {
		put(m, ranges[i][0], 1);
		put(m, ranges[i][1], 1);
	}
	put(m, has_callees, 1);
	put(m, name, 4);
	put(m, file, 1);
	put(m, line, 1);
}

static void put_lines(struct maker *m)
{
	static const uint8_t program[] = {
		0x7e, 0x0a, 5, /* from -2 to 10 in one byte with the address; first line 5 */
		2, 0,	       /* 0x1000: line 5 */
		1, 2, 3, 0x7d, /* file 2, line 2 */
		2, 0x10,       /* 0x1010: b.h:2 */
		4 + 2 + 1 + 13 * 8, /* 0x1018: line 3 */
		1, 1, 3, 6,    /* file 1, line 9 */
		2, 0x18,       /* 0x1030: a.c:9 */
		2, 0,	       /* once more, with another line after it */
		3, 10, 2, 0x80, 1, /* 0x10b0: a.c:19 */
		0,
	};
	put(m, 1, 4);
	put(m, sizeof program, 4);
	buffer_bytes(&m->b, program, sizeof program);
}

static void put_inlines(struct maker *m)
{
	put(m, 2, 4);
	size_t size_at = m->b.n;
	put(m, 0, 4);
	size_t start = m->b.n;
	/* 0x100 takes two bytes. */
	static const uint8_t root[] = {1, 0, 0x80, 2, 1};
	buffer_bytes(&m->b, root, sizeof root);
	put(m, MAIN, 4);
	put(m, 0, 2);
	put_call(m, (const uint8_t[][2]){{0x10, 0x20}}, 1, true, CUBE, 1, 9);
	put_call(m, (const uint8_t[][2]){{0x08, 0x08}, {0x18, 4}}, 2, false, SQUARE, 2, 3);
	put(m, 0, 1);
	put_call(m, (const uint8_t[][2]){{0x40, 0x10}}, 1, false, OTHER, 1, 11);
	put(m, 0, 1);
	set(m, size_at, (uint32_t)(m->b.n - start));
}

static struct buffer make(bool big)
{
	struct maker m = {.big = big};
	put(&m, GSYM_MAGIC, 4);
	put(&m, GSYM_VERSION, 2);
	put(&m, 1, 1);
	put(&m, 0, 1);
	put(&m, 0x1000, 8);
	put(&m, 1, 4);
	size_t strings_at = m.b.n;
	put(&m, 0, 4);
	put(&m, sizeof texts, 4);
	buffer_extend(&m.b, GSYM_UUID_MAX);
	put(&m, 0, 1); /* the address */
	buffer_align(&m.b, 4);
	size_t info_at = m.b.n;
	put(&m, 0, 4);
	put(&m, 3, 4); /* files */
	put(&m, 0, 8);
	put(&m, SRC, 4);
	put(&m, A_C, 4);
	put(&m, SRC, 4);
	put(&m, B_H, 4);
	set(&m, strings_at, (uint32_t)m.b.n);
	buffer_bytes(&m.b, texts, sizeof texts);
	buffer_align(&m.b, 4);
	set(&m, info_at, (uint32_t)m.b.n);
	put(&m, 0x100, 4);
	put(&m, MAIN, 4);
	put_lines(&m);
	put_inlines(&m);
	put(&m, 0, 8);
	assert_false(m.b.failed);
	return m.b;
}

struct chain {
	size_t n;
	const char *names[8];
	uint32_t file, line; /* of the innermost code */
};

static struct chain ask_decoded(const struct gsym *gsym, const struct gsym_decoded *d,
				uint64_t address)
{
	struct chain chain = {};
	struct gsym_row row = {};
	gsym_decoded_row(d, address, &row);
	chain.file = row.file;
	chain.line = row.line;
	for (uint32_t call = gsym_decoded_call(d, address); call != GSYM_NO_CALL && chain.n < 8;
	     call = d->calls.items[call].caller)
		chain.names[chain.n++] = gsym_string(gsym, d->calls.items[call].name);
	return chain;
}

static struct chain ask_searched(const struct gsym *gsym, const struct gsym_entry *entry,
				 uint64_t address)
{
	struct chain chain = {};
	struct gsym_row row;
	struct gsym_inlining calls[8];
	chain.n = gsym_search(gsym, entry, address, &row, calls, 8);
	chain.file = row.file;
	chain.line = row.line;
	for (size_t i = 0; i < MIN(chain.n, 8u); i++)
		chain.names[i] = gsym_string(gsym, calls[i].name);
	return chain;
}

static void expect(const struct chain *chain, uint32_t file, uint32_t line, size_t n,
		   const char *first, const char *second)
{
	assert_int_equal(chain->file, file);
	assert_int_equal(chain->line, line);
	assert_int_equal(chain->n, n);
	if (n > 0)
		assert_string_equal(chain->names[0], first);
	if (n > 1)
		assert_string_equal(chain->names[1], second);
}

static void lines_and_calls_are_read_in_either_byte_order(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct buffer file = make(big);
		struct gsym gsym;
		struct gsym_entry entry;
		struct gsym_decoded d = {};
		assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
		assert_int_equal(gsym_find(&gsym, 0x1080, &entry), 1);
		assert_int_equal(gsym_decode(&gsym, entry.index, &d), 0);
		static const struct {
			uint64_t address;
			uint32_t file, line;
			size_t n;
			const char *first, *second;
		} cases[] = {
			{0x1000, 1, 5, 0, NULL, NULL},	   {0x100f, 1, 5, 0, NULL, NULL},
			{0x1010, 2, 2, 1, "cube", NULL},   {0x1017, 2, 2, 1, "cube", NULL},
			{0x1018, 2, 3, 2, "square", "cube"}, {0x101f, 2, 3, 2, "square", "cube"},
			{0x1020, 2, 3, 1, "cube", NULL},   {0x1028, 2, 3, 2, "square", "cube"},
			{0x102b, 2, 3, 2, "square", "cube"}, {0x102c, 2, 3, 1, "cube", NULL},
			{0x1030, 1, 9, 0, NULL, NULL},	   {0x1040, 1, 9, 1, "other", NULL},
			{0x1050, 1, 9, 0, NULL, NULL},	   {0x10b0, 1, 19, 0, NULL, NULL},
			{0x10ff, 1, 19, 0, NULL, NULL},
		};
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct chain a = ask_decoded(&gsym, &d, cases[i].address);
			struct chain b = ask_searched(&gsym, &entry, cases[i].address);
			expect(&a, cases[i].file, cases[i].line, cases[i].n, cases[i].first,
			       cases[i].second);
			expect(&b, cases[i].file, cases[i].line, cases[i].n, cases[i].first,
			       cases[i].second);
		}
		const char *directory, *name;
		assert_int_equal(gsym_file(&gsym, 2, &directory, &name), 1);
		assert_string_equal(directory, "/src");
		assert_string_equal(name, "b.h");
		assert_int_equal(gsym_file(&gsym, 0, &directory, &name), 0);
		assert_int_equal(gsym_file(&gsym, 3, &directory, &name), 0);
		gsym_decoded_deinit(&d);
		buffer_deinit(&file);
	}
}

/* A line is only known from the first row on. */
static void before_the_first_row_there_is_no_line(void **state)
{
	struct maker m = {.b = make(false)};
	struct gsym gsym;
	struct gsym_entry entry;
	assert_int_equal(gsym_init(&gsym, m.b.data, m.b.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
	m.b.n = entry.info + 8;
	static const uint8_t program[] = {0x7e, 0x0a, 7, 2, 9, 0}; /* one row, at 9 */
	put(&m, 1, 4);
	put(&m, sizeof program, 4);
	buffer_bytes(&m.b, program, sizeof program);
	put(&m, 0, 8);
	struct gsym_decoded d = {};
	assert_int_equal(gsym_init(&gsym, m.b.data, m.b.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
	assert_int_equal(gsym_decode(&gsym, 0, &d), 0);
	for (uint64_t offset = 0; offset < 12; offset++) {
		struct gsym_row row = {};
		struct gsym_inlining none;
		assert_int_equal(gsym_decoded_row(&d, 0x1000 + offset, &row), offset >= 9);
		assert_int_equal(row.line, offset >= 9 ? 7 : 0);
		gsym_search(&gsym, &entry, 0x1000 + offset, &row, &none, 1);
		assert_int_equal(row.line, offset >= 9 ? 7 : 0);
	}
	gsym_decoded_deinit(&d);
	buffer_deinit(&m.b);
}

static void ask_everything(const uint8_t *data, size_t size)
{
	struct gsym gsym;
	struct gsym_entry entry;
	struct gsym_decoded d = {};
	if (gsym_init(&gsym, data, size, NULL) < 0)
		return;
	for (uint32_t i = 0; i < gsym.n && i < 4; i++) {
		assert_int_equal(gsym_decode(&gsym, i, &d), 0);
		if (!gsym_get(&gsym, i, &entry))
			continue;
		for (uint64_t address = entry.start; address < entry.start + 0x110; address++) {
			struct chain a = ask_decoded(&gsym, &d, address);
			struct chain b = ask_searched(&gsym, &entry, address);
			for (size_t j = 0; j < MIN(a.n, 8u); j++)
				assert_true(strlen(a.names[j]) < size);
			for (size_t j = 0; j < MIN(b.n, 8u); j++)
				assert_true(strlen(b.names[j]) < size);
		}
	}
	gsym_decoded_deinit(&d);
}

static void cut_and_changed_tables_do_no_harm(void **state)
{
	struct buffer file = make(false);
	for (size_t n = 0; n < file.n; n++) {
		uint8_t *copy = malloc(n + 1); /* of its own, so that a read behind it is seen */
		assert_non_null(copy);
		memcpy(copy, file.data, n);
		ask_everything(copy, n);
		free(copy);
	}
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	for (size_t at = 0; at < file.n; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			uint8_t before = file.data[at];
			file.data[at] = values[i];
			ask_everything(file.data, file.n);
			file.data[at] = before;
		}
	}
	buffer_deinit(&file);
}

/* A tree of calls that lie inside of each other, deeper than anybody keeps. */
static void calls_without_end_are_cut(void **state)
{
	struct maker m = {.b = make(false)};
	struct gsym gsym;
	struct gsym_entry entry;
	assert_int_equal(gsym_init(&gsym, m.b.data, m.b.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
	m.b.n = entry.info + 8;
	put(&m, 2, 4);
	size_t size_at = m.b.n;
	put(&m, 0, 4);
	size_t start = m.b.n;
	for (int depth = 0; depth < 5000; depth++)
		put_call(&m, (const uint8_t[][2]){{0, 0x40}}, 1, true, CUBE, 1, 1);
	set(&m, size_at, (uint32_t)(m.b.n - start));
	put(&m, 0, 8);
	struct gsym_decoded d = {};
	struct gsym_row row;
	struct gsym_inlining calls[GSYM_DEPTH_MAX];
	assert_int_equal(gsym_init(&gsym, m.b.data, m.b.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
	assert_int_equal(gsym_decode(&gsym, 0, &d), 0);
	size_t n = 0;
	for (uint32_t call = gsym_decoded_call(&d, 0x1000); call != GSYM_NO_CALL; n++)
		call = d.calls.items[call].caller;
	assert_in_range(n, GSYM_DEPTH_MAX - 2, GSYM_DEPTH_MAX);
	assert_int_equal(gsym_search(&gsym, &entry, 0x1000, &row, calls, GSYM_DEPTH_MAX),
			 GSYM_DEPTH_MAX);
	assert_int_equal(row.line, 0); /* it has no lines */
	gsym_decoded_deinit(&d);
	buffer_deinit(&m.b);
}

/* More rows than lie between two marks, and each of them asked for. */
static void each_of_many_rows_is_found(void **state)
{
	struct maker m = {.b = make(false)};
	struct gsym gsym;
	struct gsym_entry entry;
	assert_int_equal(gsym_init(&gsym, m.b.data, m.b.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
	m.b.n = entry.info;
	put(&m, 4000, 4);
	put(&m, MAIN, 4);
	put(&m, 1, 4);
	put(&m, 3 + 1000 * 4 + 1, 4);
	put(&m, 0x00, 1);
	put(&m, 0x01, 1);
	put(&m, 0, 1);
	for (int i = 0; i < 1000; i++) {
		put(&m, 3, 1); /* line + 1 */
		put(&m, 1, 1);
		put(&m, 2, 1); /* address + 4, from the second on */
		put(&m, i ? 4 : 0, 1);
	}
	put(&m, 0, 1);
	put(&m, 0, 8);
	struct gsym_decoded d = {};
	assert_int_equal(gsym_init(&gsym, m.b.data, m.b.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
	assert_int_equal(gsym_decode(&gsym, 0, &d), 0);
	assert_in_range(d.marks.n, 1000 / GSYM_MARK_ROWS, 1000 / GSYM_MARK_ROWS + 2);
	for (uint64_t offset = 0; offset < 4000; offset++) {
		struct gsym_row a, b;
		struct gsym_inlining none;
		assert_int_equal(gsym_decoded_row(&d, 0x1000 + offset, &a), 1);
		gsym_search(&gsym, &entry, 0x1000 + offset, &b, &none, 1);
		assert_int_equal(a.line, offset / 4 + 1);
		assert_int_equal(b.line, offset / 4 + 1);
		assert_true(a.address == 0x1000 + offset / 4 * 4);
	}
	gsym_decoded_deinit(&d);
	buffer_deinit(&m.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_calls_are_read_in_either_byte_order),
		cmocka_unit_test(before_the_first_row_there_is_no_line),
		cmocka_unit_test(cut_and_changed_tables_do_no_harm),
		cmocka_unit_test(calls_without_end_are_cut),
		cmocka_unit_test(each_of_many_rows_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
