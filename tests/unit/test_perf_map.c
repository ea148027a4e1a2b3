/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/io.h"
#include "lib/shared.h"
#include "lib/test.h"
#include "symbols/perf_map.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define CORPUS "corpus/elf/parca-agent/pkg/perf/nodejs-perf-map-regression"

static struct perf_map parse(const char *text, bool take_rest)
{
	struct perf_map map = {};
	assert_int_equal(perf_map_parse(&map, text, strlen(text), take_rest), 0);
	return map;
}

static void assert_name(const struct perf_map *map, uint64_t address, const char *name)
{
	const struct perf_map_entry *entry = perf_map_find(map, address);
	if (!name) {
		assert_null(entry);
		return;
	}
	assert_non_null(entry);
	assert_string_equal(perf_map_name(map, entry), name);
}

static void a_line_is_start_size_and_a_name_with_spaces(void **state)
{
	struct perf_map map =
		parse("1000 20 LazyCompile:*f /srv/a b.js:1\n0x2000 0X10 C++ (int, int)\r\n"
		      "3000\t8\ttabs\n4000  8  blanks\nFFFF000000001000 ff last\n",
		      false);
	assert_name(&map, 0xfff, NULL);
	assert_name(&map, 0x1000, "LazyCompile:*f /srv/a b.js:1");
	assert_name(&map, 0x101f, "LazyCompile:*f /srv/a b.js:1");
	assert_name(&map, 0x1020, NULL);
	assert_name(&map, 0x200f, "C++ (int, int)");
	assert_name(&map, 0x3007, "tabs");
	assert_name(&map, 0x4000, "blanks");
	assert_name(&map, 0xffff0000000010fe, "last");
	assert_int_equal(map.n_broken, 0);
	perf_map_deinit(&map);
}

static void the_later_of_two_entries_wins(void **state)
{
	struct perf_map map = parse("1000 100 whole\n1040 20 inner\n1050 100 moved\n", false);
	assert_name(&map, 0x103f, "whole");
	assert_name(&map, 0x1040, "inner");
	assert_name(&map, 0x1050, "moved");
	assert_name(&map, 0x1100, "moved");
	perf_map_deinit(&map);
}

static void lines_that_make_no_sense_are_skipped_and_counted(void **state)
{
	static const char text[] =
		"nonsense\n 1000 10 begins with a blank\n1000\n1000 10\n1000 10 \n1000 0 empty\n"
		"1000 -10 minus\n10000000000000000 10 long\n1000 10000000000000000 long\n"
		"ffffffffffffffff 2 over the end\n0x 10 no digits\n1000 10name\n\n\n";
	struct perf_map map = parse(text, false);
	assert_int_equal(map.entries.n, 0);
	assert_int_equal(map.n_broken, 12);
	assert_int_equal(map.consumed, strlen(text));
	static const char with_nul[] = "1000 10 na\0me\n2000 10 right\n";
	assert_int_equal(perf_map_parse(&map, with_nul, sizeof with_nul - 1, false), 0);
	assert_name(&map, 0x1000, NULL);
	assert_name(&map, 0x2000, "right");
	perf_map_deinit(&map);
}

static void the_last_line_is_taken_when_it_is_whole(void **state)
{
	static const char text[] = "1000 10 first\n2000 10 sec";
	struct perf_map map = parse(text, false);
	assert_int_equal(map.consumed, strlen("1000 10 first\n"));
	assert_name(&map, 0x2000, NULL);
	static const char rest[] = "2000 10 second\n";
	assert_int_equal(perf_map_parse(&map, rest, strlen(rest), false), 0);
	assert_name(&map, 0x2000, "second");
	perf_map_deinit(&map);
	map = parse(text, true);
	assert_name(&map, 0x2000, "sec");
	assert_int_equal(map.consumed, strlen(text));
	perf_map_deinit(&map);
}

static void a_line_without_end_is_skipped_with_its_tail(void **state)
{
	enum { SIZE = PERF_MAP_LINE_MAX + 100 };
	_cleanup_free_ char *line = malloc(SIZE);
	struct perf_map map = {};
	memset(line, 'a', SIZE);
	assert_int_equal(perf_map_parse(&map, line, SIZE, false), 0);
	assert_int_equal(map.consumed, SIZE);
	static const char tail[] = "1000 10 tail of it\n2000 10 next\n";
	assert_int_equal(perf_map_parse(&map, tail, strlen(tail), false), 0);
	assert_name(&map, 0x1000, NULL);
	assert_name(&map, 0x2000, "next");
	assert_int_equal(map.n_broken, 1);
	perf_map_deinit(&map);
}

static void long_names_are_cut(void **state)
{
	_cleanup_free_ char *text = malloc(PERF_MAP_NAME_MAX + 100);
	struct perf_map map = {};
	size_t n = (size_t)sprintf(text, "1000 10 ");
	memset(text + n, 'n', PERF_MAP_NAME_MAX + 50);
	n += PERF_MAP_NAME_MAX + 50;
	text[n++] = '\n';
	assert_int_equal(perf_map_parse(&map, text, n, false), 0);
	assert_int_equal(strlen(perf_map_name(&map, &map.entries.items[0])), PERF_MAP_NAME_MAX);
	perf_map_deinit(&map);
}

static void the_map_that_broke_another_parser_parses(void **state)
{
	_cleanup_free_ char *shared = shared_directory(), *text = NULL;
	size_t size;
	_cleanup_close_ int directory = shared ? open(shared, O_PATH | O_DIRECTORY) : -1;
	if (directory < 0 || io_read_text(directory, CORPUS, 65536, &text, &size) < 0) {
		skip();
		return;
	}
	struct perf_map map = {};
	assert_int_equal(perf_map_parse(&map, text, size, false), 0);
	assert_name(
		&map, 0x7235dc0,
		"LazyCompile:*getPotentialParent /usr/src/app/node_modules/heap-js/dist/heap-js.umd.js:764");
	assert_name(&map, 0xd63be533e90 + 0x18, "Script:~ evalmachine.<anonymous>:1");
	assert_int_equal(map.entries.n, 2);
	assert_int_equal(map.n_broken, 1);
	perf_map_deinit(&map);
}

/* ---- reading in pieces ----------------------------------------------------------------------- */

struct reading {
	int file;
	struct perf_map_request request;
	struct perf_map_reply reply;
	struct perf_map map; /* what the last step brought */
};

static void set_text(struct reading *r, const char *text)
{
	assert_int_equal(ftruncate(r->file, 0), 0);
	assert_int_equal(pwrite(r->file, text, strlen(text), 0), strlen(text));
	r->request.size = strlen(text);
}

static void step(struct reading *r)
{
	_cleanup_close_ int out = memfd_create("out", 0);
	struct mw_error e;
	perf_map_deinit(&r->map);
	r->map = (struct perf_map){};
	r->reply = (struct perf_map_reply){};
	assert_int_equal(perf_map_read(r->file, out, &r->request, &r->reply, &e), 0);
	assert_int_equal(perf_map_take(out, &r->reply, &r->map), 0);
	r->request.known = r->reply.consumed;
	r->request.known_hash = r->reply.hash;
	r->request.in_line = r->reply.in_line;
}

static void only_what_is_new_is_read_again(void **state)
{
	struct reading r = {.file = memfd_create("map", 0)};
	set_text(&r, "1000 10 first\n2000 10 se");
	step(&r);
	assert_int_equal(r.map.entries.n, 1);
	set_text(&r, "1000 10 first\n2000 10 second\n");
	step(&r);
	assert_int_equal(r.reply.is_rewritten, 0);
	assert_int_equal(r.map.entries.n, 1);
	assert_string_equal(perf_map_name(&r.map, &r.map.entries.items[0]), "second");
	step(&r);
	assert_int_equal(r.map.entries.n, 0);
	assert_int_equal(r.reply.is_rewritten, 0);
	perf_map_deinit(&r.map);
	close(r.file);
}

static void a_map_that_was_written_anew_is_noticed(void **state)
{
	static const char *const others[] = {"1000 10 other\n2000 10 second\n", "1000 10 first\n",
					     "", "1000 10 other\n2000 10 second\n3000 10 third\n"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct reading r = {.file = memfd_create("map", 0)};
		set_text(&r, "1000 10 first\n2000 10 second\n");
		step(&r);
		set_text(&r, others[i]);
		step(&r);
		assert_int_equal(r.reply.is_rewritten, 1);
		assert_int_equal(r.reply.consumed, strlen(others[i]));
		perf_map_deinit(&r.map);
		close(r.file);
	}
}

static void replies_that_make_no_sense_are_refused(void **state)
{
	struct perf_map_entry entries[] = {{.start = 1, .end = 2, .name = 0}};
	struct {
		struct perf_map_reply reply;
		struct perf_map_entry entry;
		const char *names;
	} cases[] = {
		{{.n_entries = 1, .names_size = 2}, {1, 2, 0, 0}, "ab"}, /* no NUL */
		{{.n_entries = 1, .names_size = 2}, {1, 2, 2, 0}, "a"},	 /* name behind the names */
		{{.n_entries = 1, .names_size = 2}, {2, 2, 0, 0}, "a"},	 /* empty */
		{{.n_entries = 1, .names_size = 3},
		 {1, 2, 0, 0},
		 "a"}, /* names that are not there */
		{{.n_entries = 2, .names_size = 2}, {1, 2, 0, 0}, "a"},
		{{.n_entries = 1, .names_size = 0}, {1, 2, 0, 0}, "a"},
		{{.n_entries = UINT32_MAX, .names_size = 2}, {1, 2, 0, 0}, "a"},
		{{.n_entries = 1, .names_size = UINT32_MAX}, {1, 2, 0, 0}, "a"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_map map = {};
		_cleanup_close_ int out = memfd_create("out", 0);
		entries[0] = cases[i].entry;
		assert_int_equal(write(out, entries, sizeof entries), sizeof entries);
		assert_int_equal(write(out, cases[i].names, 2), 2);
		assert_int_equal(perf_map_take(out, &cases[i].reply, &map), -EBADMSG);
		perf_map_deinit(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_start_size_and_a_name_with_spaces),
		cmocka_unit_test(the_later_of_two_entries_wins),
		cmocka_unit_test(lines_that_make_no_sense_are_skipped_and_counted),
		cmocka_unit_test(the_last_line_is_taken_when_it_is_whole),
		cmocka_unit_test(a_line_without_end_is_skipped_with_its_tail),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(the_map_that_broke_another_parser_parses),
		cmocka_unit_test(only_what_is_new_is_read_again),
		cmocka_unit_test(a_map_that_was_written_anew_is_noticed),
		cmocka_unit_test(replies_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests_name("perf_map", tests, NULL, NULL);
}
