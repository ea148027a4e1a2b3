/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "lib/test.h"
#include "symbols/code_timeline.h"

#include <string.h>

static void append(struct code_timeline *t, uint64_t after, uint64_t by, const char *text)
{
	struct perf_map map = {};
	assert_int_equal(perf_map_parse(&map, text, strlen(text), true), 0);
	assert_int_equal(code_timeline_append(t, &map, after, by), 0);
	perf_map_deinit(&map);
}

static void assert_answer(const struct code_timeline *t, uint64_t address, uint64_t time,
			  enum code_answer answer, const char *name)
{
	struct code_span span = {};
	enum code_answer got = code_timeline_find(t, address, time, &span);
	if (got != answer)
		fail_msg("%#llx at %llu: %d, not %d", (unsigned long long)address,
			 (unsigned long long)time, got, answer);
	if (name)
		assert_string_equal(span.name, name);
}

static void what_was_there_at_the_sample_is_its_name(void **state)
{
	struct code_timeline t = {};
	append(&t, 0, 100, "1000 100 first\n");
	code_timeline_extend(&t, 200);
	assert_answer(&t, 0x1000, 50, CODE_MAYBE, "first");
	assert_answer(&t, 0x1000, 100, CODE_NAMED, "first");
	assert_answer(&t, 0x10ff, 200, CODE_NAMED, "first");
	assert_answer(&t, 0x1100, 150, CODE_NAMELESS, NULL);
	assert_answer(&t, 0x1000, 201, CODE_LATER, NULL);
	code_timeline_deinit(&t);
}

static void between_two_looks_it_may_be_either(void **state)
{
	struct code_timeline t = {};
	append(&t, 0, 100, "1000 100 first\n3000 10 same\n");
	code_timeline_extend(&t, 200);
	append(&t, 200, 300, "1040 20 second\n2000 10 new\n3000 10 same\n");
	code_timeline_extend(&t, 400);
	assert_answer(&t, 0x1040, 200, CODE_NAMED, "first");
	assert_answer(&t, 0x1040, 250, CODE_UNSURE, NULL);
	assert_answer(&t, 0x1040, 300, CODE_NAMED, "second");
	assert_answer(&t, 0x1000, 250, CODE_NAMED, "first");
	assert_answer(&t, 0x1060, 400, CODE_NAMED, "first");
	assert_answer(&t, 0x2000, 200, CODE_NAMELESS, NULL);
	assert_answer(&t, 0x2000, 250, CODE_MAYBE, "new");
	assert_answer(&t, 0x3000, 250, CODE_NAMED, "same");
	code_timeline_deinit(&t);
}

static void a_map_that_is_written_anew_takes_the_place_of_the_old_one(void **state)
{
	struct code_timeline t = {};
	append(&t, 0, 100, "1000 100 first\n2000 100 gone\n3000 10 same\n");
	code_timeline_extend(&t, 200);
	assert_int_equal(code_timeline_replace(&t, 200, 300), 0);
	append(&t, 200, 300, "1000 100 second\n3000 10 same\n");
	code_timeline_extend(&t, 400);
	assert_answer(&t, 0x1000, 200, CODE_NAMED, "first");
	assert_answer(&t, 0x1000, 250, CODE_UNSURE, NULL);
	assert_answer(&t, 0x1000, 300, CODE_NAMED, "second");
	assert_answer(&t, 0x2000, 200, CODE_NAMED, "gone");
	assert_answer(&t, 0x2000, 250, CODE_MAYBE, "gone");
	assert_answer(&t, 0x2000, 300, CODE_NAMELESS, NULL);
	struct code_span span;
	assert_int_equal(code_timeline_find(&t, 0x2000, 150, &span), CODE_NAMED);
	assert_int_equal(code_timeline_until(&t, &span), 200);
	assert_int_equal(code_timeline_find(&t, 0x1000, 350, &span), CODE_NAMED);
	assert_int_equal(code_timeline_until(&t, &span), 400);
	code_timeline_forget(&t, 400);
	assert_answer(&t, 0x1000, 300, CODE_NAMED, "second");
	assert_int_equal(t.n_entries, 2);
	code_timeline_deinit(&t);
}

static void an_entry_ends_when_another_takes_of_its_place(void **state)
{
	struct code_timeline t = {};
	struct code_span span;
	append(&t, 0, 100, "10000 200000 wide\n1000 2000 narrow\n9000 10 untouched\n");
	code_timeline_extend(&t, 150);
	append(&t, 150, 200, "2fff 1 corner\n");
	code_timeline_extend(&t, 250);
	append(&t, 250, 300, "100000 1 inside\n");
	code_timeline_extend(&t, 400);
	code_timeline_find(&t, 0x1000, 100, &span);
	assert_int_equal(code_timeline_until(&t, &span), 150);
	code_timeline_find(&t, 0x10000, 100, &span);
	assert_int_equal(code_timeline_until(&t, &span), 250);
	code_timeline_find(&t, 0x9000, 100, &span);
	assert_int_equal(code_timeline_until(&t, &span), 400);
	code_timeline_deinit(&t);
}

static void what_has_no_room_is_refused_as_a_whole(void **state)
{
	struct code_timeline t = {};
	struct perf_map map = {};
	char line[64];
	for (size_t i = 0; i <= CODE_TIMELINE_WIDE_MAX; i++) {
		int n = snprintf(line, sizeof line, "%zx ffffffffffff wide\n", i);
		assert_int_equal(perf_map_parse(&map, line, (size_t)n, false), 0);
	}
	assert_int_equal(code_timeline_append(&t, &map, 0, 1), -E2BIG);
	code_timeline_extend(&t, 10);
	assert_answer(&t, 0x100, 5, CODE_NAMELESS, NULL);
	perf_map_deinit(&map);
	code_timeline_deinit(&t);
}

/* ---- against the definition ------------------------------------------------------------------ */

#define N_STATES 6
#define N_LINES	 40

/* What each of the looks saw: the lines of the map up to then, and from which of them on it is new.
 */
struct history {
	struct perf_map_entry lines[N_STATES * N_LINES];
	size_t first[N_STATES]; /* of the map as it was at a look */
	size_t end[N_STATES];
};

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void make_history(struct history *h, struct code_timeline *t)
{
	size_t n = 0;
	for (size_t look = 0; look < N_STATES; look++) {
		struct perf_map map = {};
		bool is_new = look && random_below(4) == 0;
		uint64_t after = look * 100, by = after + 50;
		h->first[look] = is_new || !look ? n : h->first[look - 1];
		for (uint32_t i = random_below(N_LINES); i > 0; i--) {
			char line[64];
			uint64_t size = 1 + random_below(random_below(8) ? 0x400 : 0x90000);
			struct perf_map_entry entry = {.start = random_below(0x20000)};
			entry.end = entry.start + size;
			entry.name = random_below(5);
			h->lines[n++] = entry;
			int length = snprintf(line, sizeof line, "%llx %llx n%u\n",
					      (unsigned long long)entry.start,
					      (unsigned long long)size, entry.name);
			assert_int_equal(perf_map_parse(&map, line, (size_t)length, false), 0);
		}
		h->end[look] = n;
		if (is_new)
			assert_int_equal(code_timeline_replace(t, after, by), 0);
		assert_int_equal(code_timeline_append(t, &map, after, by), 0);
		code_timeline_extend(t, after + 100);
		perf_map_deinit(&map);
	}
}

/* The line that names an address if the file ends behind so many lines; -1: none. */
static int name_by(const struct history *h, size_t first, size_t end, uint64_t address)
{
	for (size_t i = end; i-- > first;) {
		if (address >= h->lines[i].start && address < h->lines[i].end)
			return (int)i;
	}
	return -1;
}

static bool is_sure(uint64_t time) { return time % 100 >= 50 || time % 100 == 0; }

/* All files that there may have been at a time: between looks each line may have come or not yet.
 */
static enum code_answer expected(const struct history *h, uint64_t address, uint64_t time, int *ret)
{
	size_t look = (time - 1) / 100;
	int names[N_LINES + 2], n = 0;
	size_t end = h->end[look];
	if (is_sure(time)) {
		names[n++] = name_by(h, h->first[look], end, address);
	} else {
		bool goes_on = look && h->first[look] == h->first[look - 1];
		names[n++] = look ? name_by(h, h->first[look - 1], h->end[look - 1], address) : -1;
		for (size_t i = goes_on ? h->end[look - 1] : h->first[look]; i <= end; i++)
			names[n++] = name_by(h, h->first[look], i, address);
	}
	bool none = false, more = false;
	*ret = -1;
	for (int i = 0; i < n; i++) {
		const struct perf_map_entry *a = names[i] < 0 ? NULL : &h->lines[names[i]];
		const struct perf_map_entry *b = *ret < 0 ? NULL : &h->lines[*ret];
		none = none || !a;
		if (a && !b)
			*ret = names[i];
		else if (a && (a->start != b->start || a->end != b->end || a->name != b->name))
			more = true;
	}
	return more ? CODE_UNSURE : *ret < 0 ? CODE_NAMELESS : none ? CODE_MAYBE : CODE_NAMED;
}

/* A sure name must be the only possible one; what is only said to be unsure is not wrong. */
static void no_answer_contradicts_what_the_file_may_have_been(void **state)
{
	unsigned sure = 0, unsure = 0;
	for (int round = 0; round < 200; round++) {
		struct code_timeline t = {};
		struct history h = {};
		make_history(&h, &t);
		for (int i = 0; i < 200; i++) {
			uint64_t address = random_below(0x22000),
				 time = 1 + random_below(N_STATES * 100);
			int line;
			struct code_span span = {};
			enum code_answer want = expected(&h, address, time, &line);
			enum code_answer got = code_timeline_find(&t, address, time, &span);
			if (got == CODE_NAMED || got == CODE_NAMELESS) {
				assert_int_equal(want, got);
				sure++;
			}
			if (is_sure(time))
				assert_int_equal(got, want);
			if (got == CODE_NAMED) {
				assert_int_equal(span.start, h.lines[line].start);
				assert_int_equal((uint32_t)atoi(span.name + 1), h.lines[line].name);
			}
			unsure += got == CODE_MAYBE || got == CODE_UNSURE;
		}
		code_timeline_deinit(&t);
	}
	assert_true(sure > 10000 && unsure > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_there_at_the_sample_is_its_name),
		cmocka_unit_test(between_two_looks_it_may_be_either),
		cmocka_unit_test(a_map_that_is_written_anew_takes_the_place_of_the_old_one),
		cmocka_unit_test(an_entry_ends_when_another_takes_of_its_place),
		cmocka_unit_test(what_has_no_room_is_refused_as_a_whole),
		cmocka_unit_test(no_answer_contradicts_what_the_file_may_have_been),
	};
	return cmocka_run_group_tests_name("code_timeline", tests, NULL, NULL);
}
