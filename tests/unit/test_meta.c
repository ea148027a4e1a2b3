/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/test.h"
#include "store/meta.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define HEAD "mapwright-meta 2\nid gnu:93ac61ec\n"
#define FACTS "elf 3 62\nsize 35664\n"

static const char whole[] = HEAD FACTS "content 000102030405060708090a0b0c0d0eff\n"
				       "segment 0 0 17a8 17a8 4\n"
				       "segment 402000 2000 2d11 2d11 5\n"
				       "segment 406c90 5c90 3d0 4f8 6\n"
				       "path /usr/bin/true\n"
				       "path /mnt/line\\012feed and \\134 \xc3\xa9\n"
				       "part names 20 7 12345 0f1e2d3c4b5a6978 symtab\n"
				       "part code 1 7 0 0000000000000000 a\n"
				       "failure lines stripped 7 1700000000\n"
				       "piece 2340 2310\n"
				       "piece 2380 2310\n"
				       "end\n";

static int parse(const char *text, struct meta *ret)
{
	return meta_parse(text, strlen(text), ret, NULL);
}

static void every_fact_is_read(void **state)
{
	struct meta m;
	assert_int_equal(parse(whole, &m), 0);
	assert_int_equal(m.id.size, 4);
	assert_int_equal(m.elf_type, ET_DYN);
	assert_int_equal(m.elf_machine, EM_X86_64);
	assert_int_equal(m.file_size, 35664);
	assert_true(m.has_content && m.content[1] == 1 && m.content[15] == 0xff);
	assert_int_equal(m.segments.n, 3);
	assert_int_equal(m.segments.items[2].mem_size, 0x4f8);
	assert_int_equal(m.paths.n, 2);
	assert_string_equal(m.paths.items[0], "/usr/bin/true");
	assert_string_equal(m.paths.items[1], "/mnt/line\nfeed and \\ \xc3\xa9");
	assert_true(m.parts[STORE_NAMES].present && !m.parts[STORE_LINES].present);
	assert_int_equal(m.parts[STORE_NAMES].rank, 20);
	assert_string_equal(m.parts[STORE_NAMES].source, "symtab");
	assert_int_equal(m.failures[STORE_LINES].reason, MW_REASON_STRIPPED);
	assert_int_equal(m.failures[STORE_LINES].when, 1700000000);
	assert_int_equal(m.pieces.n, 2);
	meta_deinit(&m);
}

static void what_is_read_is_written_the_same(void **state)
{
	struct meta m;
	assert_int_equal(parse(whole, &m), 0);
	struct buffer b = {};
	assert_int_equal(meta_format(&m, &b), 0);
	assert_int_equal(b.n, strlen(whole));
	assert_memory_equal(b.data, whole, b.n);
	buffer_deinit(&b);
	meta_deinit(&m);
}

static void a_meta_cut_anywhere_is_refused(void **state)
{
	for (size_t n = 0; n < strlen(whole); n++) {
		struct meta m;
		struct mw_error e;
		assert_int_equal(meta_parse(whole, n, &m, &e), -EBADMSG);
		assert_null(m.segments.items);
		assert_null(m.paths.items);
	}
}

/* Any changed byte either is refused or makes another meta that is written just as it was read. */
static void a_damaged_byte_is_refused_or_read_as_it_stands(void **state)
{
	static const uint8_t masks[] = {0x01, 0x20, 0x80, 0xff};
	for (size_t at = 0; at < strlen(whole); at++) {
		for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
			char text[sizeof whole];
			memcpy(text, whole, sizeof whole);
			text[at] = (char)(text[at] ^ masks[i]);
			struct meta m;
			if (meta_parse(text, sizeof whole - 1, &m, NULL) < 0)
				continue;
			struct buffer b = {};
			assert_int_equal(meta_format(&m, &b), 0);
			assert_int_equal(b.n, sizeof whole - 1);
			assert_memory_equal(b.data, text, b.n);
			buffer_deinit(&b);
			meta_deinit(&m);
		}
	}
}

static void lines_that_are_not_valid_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"mapwright-meta 3\nid gnu:93ac61ec\n" FACTS "end\n",
		"mapwright-meta 2\n" FACTS "end\n",
		HEAD "end\n",
		HEAD FACTS,
		HEAD FACTS "end\nend\n",
		HEAD FACTS "end\n\n",
		HEAD FACTS "end \n",
		HEAD FACTS "content 000102030405060708090a0b0c0d0e\nend\n",
		HEAD FACTS "content 000102030405060708090a0b0c0d0eFF\nend\n",
		HEAD FACTS "content 000102030405060708090a0b0c0d0eff0\nend\n",
		HEAD FACTS "content 000102030405060708090a0b0c0d0eff\n"
			   "content 000102030405060708090a0b0c0d0eff\nend\n",
		HEAD FACTS "unknown 1\nend\n",
		HEAD FACTS "path /a\nsegment 0 0 1 1 5\nend\n", /* out of order */
		HEAD FACTS FACTS "end\n",
		"mapwright-meta 2\nid gnu:93AC61EC\n" FACTS "end\n",
		"mapwright-meta 2\nid 93ac61ec\n" FACTS "end\n",
		"mapwright-meta 2\nid gnu:\n" FACTS "end\n",
		"mapwright-meta 2\nid go:a%62\n" FACTS "end\n",
		HEAD "elf 65536 62\nsize 1\nend\n",
		HEAD "elf 03 62\nsize 1\nend\n",
		HEAD "elf 3  62\nsize 1\nend\n",
		HEAD "elf -3 62\nsize 1\nend\n",
		HEAD "elf 3 62\nsize 18446744073709551616\nend\n",
		HEAD FACTS "segment 0 0 1 1\nend\n",
		HEAD FACTS "segment 0 0 1 1 5 5\nend\n",
		HEAD FACTS "segment 0 ffffffffffffffff 1 1 5\nend\n",
		HEAD FACTS "segment ffffffffffffff00 0 1 1000 5\nend\n",
		HEAD FACTS "segment 0 0 1 1 100000000\nend\n",
		HEAD FACTS "segment 0 0 A 1 5\nend\n",
		HEAD FACTS "path \nend\n",
		HEAD FACTS "path\nend\n",
		HEAD FACTS "path a\tb\nend\n",
		HEAD FACTS "path a\\141\nend\n",
		HEAD FACTS "path a\\000\nend\n",
		HEAD FACTS "path a\\12\nend\n",
		HEAD FACTS "path a\\\nend\n",
		HEAD FACTS "path a\npath a\nend\n",
		HEAD FACTS
		"path 1\npath 2\npath 3\npath 4\npath 5\npath 6\npath 7\npath 8\npath 9\nend\n",
		HEAD FACTS "part names 1 1 1 1 symtab\nend\n",
		HEAD FACTS "part names 1 1 1 0000000000000001 \nend\n",
		HEAD FACTS "part names 1 1 1 0000000000000001 a/b\nend\n",
		HEAD FACTS "part names 1 1 1 0000000000000001 Symtab\nend\n",
		HEAD FACTS
		"part names 1 1 1 0000000000000001 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nend\n",
		HEAD FACTS "part name 1 1 1 0000000000000001 a\nend\n",
		HEAD FACTS
		"part code 1 1 1 0000000000000001 a\npart names 1 1 1 0000000000000001 a\nend\n",
		HEAD FACTS
		"part code 1 1 1 0000000000000001 a\npart code 1 1 1 0000000000000001 a\nend\n",
		HEAD FACTS "failure lines none 7 1\nend\n",
		HEAD FACTS "failure lines sripped 7 1\nend\n",
		HEAD FACTS "failure lines stripped 7 -1\nend\n",
		HEAD FACTS "failure lines stripped 7 9223372036854775808\nend\n",
		HEAD FACTS "piece 10 10\nend\n",
		HEAD FACTS "piece 10 20\nend\n",
		HEAD FACTS "piece 20 10\npiece 20 10\nend\n",
		HEAD FACTS "piece 30 10\npiece 20 10\nend\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct meta m;
		struct mw_error e = {};
		if (parse(bad[i], &m) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
		meta_parse(bad[i], strlen(bad[i]), &m, &e);
		assert_true(e.msg[0]);
	}
}

static void every_kind_of_id_is_written_and_read(void **state)
{
	for (uint8_t kind = MW_FILE_ID_GNU; kind <= MW_FILE_ID_GNU_PADDED; kind++) {
		struct meta m = {.id = {.kind = kind, .size = MW_FILE_ID_MAX}}, again;
		for (size_t i = 0; i < MW_FILE_ID_MAX; i++)
			m.id.bytes[i] = (uint8_t)(i * 37); /* NUL, slash, line feed and all */
		struct buffer b = {};
		assert_int_equal(meta_format(&m, &b), 0);
		assert_int_equal(meta_parse((char *)b.data, b.n, &again, NULL), 0);
		assert_true(mw_file_id_equal(&m.id, &again.id));
		buffer_deinit(&b);
		meta_deinit(&again);
	}
}

static void the_largest_meta_is_within_its_own_bounds(void **state)
{
	struct meta m = {.id = {.kind = MW_FILE_ID_GO, .size = MW_FILE_ID_MAX}}, again;
	struct store_segment s = {1, UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2, UINT32_MAX};
	for (size_t i = 0; i < META_SEGMENTS_MAX; i++)
		assert_int_equal(meta_add_segment(&m, &s), 0);
	assert_int_equal(meta_add_segment(&m, &s), -E2BIG);
	char path[META_PATH_MAX + 1];
	memset(path, '\n', sizeof path);
	path[META_PATH_MAX] = '\0';
	assert_int_equal(meta_add_path(&m, path), -EINVAL);
	assert_int_equal(meta_add_path(&m, ""), -EINVAL);
	path[META_PATH_MAX - 1] = '\0';
	for (int i = 0; i < META_PATHS_MAX; i++) {
		path[0] = (char)('1' + i);
		assert_int_equal(meta_add_path(&m, path), 0);
	}
	for (uint64_t i = 0; i < META_PIECES_MAX; i++)
		assert_int_equal(meta_add_piece(&m, UINT64_MAX - i, UINT64_MAX - META_PIECES_MAX),
				 0);
	assert_int_equal(meta_add_piece(&m, 2, 1), -E2BIG);
	meta_sort_pieces(&m);
	struct buffer b = {};
	assert_int_equal(meta_format(&m, &b), 0);
	assert_int_equal(meta_parse((char *)b.data, b.n, &again, NULL), 0);
	assert_int_equal(again.pieces.n, META_PIECES_MAX);
	assert_string_equal(again.paths.items[0], m.paths.items[0]);
	meta_deinit(&again);

	b.n -= 4; /* "end\n" */
	buffer_printf(&b, "piece ffffffffffffffff ff\nend\n");
	assert_int_equal(meta_parse((char *)b.data, b.n, &again, NULL), -EBADMSG);
	buffer_deinit(&b);
	meta_deinit(&m);
}

static void the_newest_paths_are_kept_each_once(void **state)
{
	struct meta m = {};
	char path[16];
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof path, "/%d", i);
		assert_int_equal(meta_add_path(&m, path), 0);
	}
	assert_int_equal(m.paths.n, META_PATHS_MAX);
	assert_string_equal(m.paths.items[0], "/19");
	assert_string_equal(m.paths.items[META_PATHS_MAX - 1], "/12");
	assert_int_equal(meta_add_path(&m, "/14"), 0);
	assert_int_equal(m.paths.n, META_PATHS_MAX);
	assert_string_equal(m.paths.items[0], "/14");
	assert_string_equal(m.paths.items[META_PATHS_MAX - 1], "/12");
	meta_deinit(&m);
}

static void merging_adds_what_is_known_and_leaves_the_rest(void **state)
{
	struct meta m, about = {.file_size = 99};
	assert_int_equal(parse(whole, &m), 0);
	assert_int_equal(meta_add_path(&about, "/older"), 0);
	assert_int_equal(meta_add_path(&about, "/newer"), 0);
	assert_int_equal(meta_add_piece(&about, 9, 8), 0);
	about.failures[STORE_UNWIND] = (struct meta_failure){MW_REASON_TIMEOUT, 3, 5};
	assert_int_equal(meta_merge(&m, &about), 0);
	assert_int_equal(m.file_size, 99);
	assert_int_equal(m.elf_machine, EM_X86_64);
	assert_int_equal(m.segments.n, 3);
	assert_string_equal(m.paths.items[0], "/newer");
	assert_string_equal(m.paths.items[1], "/older");
	assert_string_equal(m.paths.items[2], "/usr/bin/true");
	assert_int_equal(m.pieces.n, 2);
	assert_int_equal(m.failures[STORE_UNWIND].reason, MW_REASON_TIMEOUT);
	assert_int_equal(m.failures[STORE_LINES].reason, MW_REASON_STRIPPED);

	struct store_segment s = {.vaddr = 1, .file_size = 2, .mem_size = 2};
	assert_int_equal(meta_add_segment(&about, &s), 0);
	assert_int_equal(meta_merge(&m, &about), 0);
	assert_int_equal(m.segments.n, 1);
	meta_deinit(&about);
	meta_deinit(&m);
}

static void offsets_and_addresses_convert_by_the_size_in_the_file(void **state)
{
	struct meta m;
	uint64_t v;
	assert_int_equal(parse(whole, &m), 0);
	assert_true(meta_offset_to_address(&m, 0x2000, &v) && v == 0x402000);
	assert_true(meta_offset_to_address(&m, 0x4d10, &v) && v == 0x404d10);
	assert_false(meta_offset_to_address(&m, 0x4d11, &v));
	assert_true(meta_offset_to_address(&m, 0x5c90, &v) && v == 0x406c90);
	assert_false(meta_offset_to_address(&m, 0x5c90 + 0x3d0, &v)); /* bss: other bytes */
	assert_false(meta_offset_to_address(&m, UINT64_MAX, &v));
	assert_true(meta_address_to_offset(&m, 0x402010, &v) && v == 0x2010);
	assert_false(meta_address_to_offset(&m, 0x406c90 + 0x3d0, &v));
	assert_false(meta_address_to_offset(&m, 0x401fff, &v));
	assert_true(meta_offset_is_code(&m, 0x2000));
	assert_false(meta_offset_is_code(&m, 0x4d11));
	assert_false(meta_offset_is_code(&m, 0x5c90)); /* data */
	meta_deinit(&m);
}

/* Two segments over the same bytes of the file: a sample there was of the executable one. */
static void executable_segments_come_first(void **state)
{
	struct meta m = {};
	struct store_segment data = {
		.vaddr = 0x1000, .file_size = 0x100, .mem_size = 0x100, .flags = 6};
	struct store_segment code = {
		.vaddr = 0x8000, .file_size = 0x80, .mem_size = 0x80, .flags = 5};
	assert_int_equal(meta_add_segment(&m, &data), 0);
	assert_int_equal(meta_add_segment(&m, &code), 0);
	uint64_t v;
	assert_true(meta_offset_to_address(&m, 0x10, &v) && v == 0x8010);
	assert_true(meta_offset_to_address(&m, 0x90, &v) && v == 0x1090);
	meta_deinit(&m);
}

static void pieces_lead_to_the_real_start(void **state)
{
	struct meta m = {};
	assert_int_equal(meta_piece_start(&m, 5), 5);
	for (uint64_t i = 5000; i > 0; i--)
		assert_int_equal(meta_add_piece(&m, i * 16, i * 16 - 7), 0);
	assert_int_equal(meta_add_piece(&m, 16, 3), 0); /* a second one at the same address */
	assert_int_equal(meta_add_piece(&m, 16, 16), -EINVAL);
	meta_sort_pieces(&m);
	assert_int_equal(m.pieces.n, 5000);
	for (uint64_t i = 2; i <= 5000; i++) {
		assert_int_equal(meta_piece_start(&m, i * 16), i * 16 - 7);
		assert_int_equal(meta_piece_start(&m, i * 16 + 1), i * 16 + 1);
	}
	meta_deinit(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fact_is_read),
		cmocka_unit_test(what_is_read_is_written_the_same),
		cmocka_unit_test(a_meta_cut_anywhere_is_refused),
		cmocka_unit_test(a_damaged_byte_is_refused_or_read_as_it_stands),
		cmocka_unit_test(lines_that_are_not_valid_are_refused),
		cmocka_unit_test(every_kind_of_id_is_written_and_read),
		cmocka_unit_test(the_largest_meta_is_within_its_own_bounds),
		cmocka_unit_test(the_newest_paths_are_kept_each_once),
		cmocka_unit_test(merging_adds_what_is_known_and_leaves_the_rest),
		cmocka_unit_test(offsets_and_addresses_convert_by_the_size_in_the_file),
		cmocka_unit_test(executable_segments_come_first),
		cmocka_unit_test(pieces_lead_to_the_real_start),
	};
	return cmocka_run_group_tests_name("meta", tests, NULL, NULL);
}
