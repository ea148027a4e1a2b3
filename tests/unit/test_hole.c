/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/test.h"
#include "lib/tree.h"
#include "space/hole.h"

#include <string.h>

static struct snapshot *snapshot_of(const char *maps)
{
	struct tree tree;
	struct proc proc;
	struct snapshot *s;
	tree_init(&tree);
	tree_write(&tree, "7/task/7/maps", maps);
	assert_int_equal(proc_init(&proc, tree.path, NULL), 0);
	assert_int_equal(snapshot_take(&proc, 7, 7, &s), 0);
	proc_deinit(&proc);
	tree_deinit(&tree);
	return s;
}

#define EXECUTE (5)
#define READ	(4)

/* As GNU ld lays out a program: headers, text, constants, data. Its data begin in the page of the file
 * in which the constants end. */
static struct meta program(void)
{
	struct meta m = {};
	static const struct store_segment segments[] = {
		{0x0, 0x0, 0x9d8, 0x9d8, READ},
		{0x1000, 0x1000, 0x4011, 0x4011, EXECUTE},
		{0x6000, 0x6000, 0x3a8, 0x3a8, READ},
		{0x7dd0, 0x6dd0, 0x2c0, 0x22f8, 6},
	};
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++)
		assert_int_equal(meta_add_segment(&m, &segments[i]), 0);
	return m;
}

/* The holes of the program that the area at an address fills, by its neighbour of a number. */
static size_t holes(const char *maps, uint64_t area_at, size_t n_neighbours, size_t neighbour,
		    struct hole *ret, size_t max)
{
	struct snapshot *s = snapshot_of(maps);
	const struct mapping *area = snapshot_find(s, area_at), *near[HOLE_NEIGHBOURS];
	struct meta about = program();
	size_t n = hole_neighbours(s, area, near);
	assert_int_equal(n, n_neighbours);
	n = n ? hole_find(s, area, near[neighbour], &about, ret, max) : 0;
	meta_deinit(&about);
	snapshot_free(s);
	return n;
}

static void a_page_in_the_text_has_its_offset(void **state)
{
	struct hole h;
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "51000-53000 r-xp 00001000 08:01 5 /prog\n"
			       "53000-54000 r-xp 00000000 00:00 0 \n"
			       "54000-56000 r-xp 00004000 08:01 5 /prog\n"
			       "56000-57000 r--p 00006000 08:01 5 /prog\n",
			       0x53000, 1, 0, &h, 1),
			 1);
	assert_true(h.start == 0x53000 && h.end == 0x54000 && h.offset == 0x3000);
}

static void a_whole_text_is_found_by_the_other_segments(void **state)
{
	struct hole h;
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "51000-56000 rwxp 00000000 00:00 0 \n"
			       "56000-57000 r--p 00006000 08:01 5 /prog\n"
			       "57000-58000 r--p 00006000 08:01 5 /prog\n",
			       0x51000, 1, 0, &h, 1),
			 1);
	assert_true(h.start == 0x51000 && h.end == 0x55011 && h.offset == 0x1000);
}

static void other_copies_and_gaps_may_lie_between(void **state)
{
	struct hole h;
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "51000-52000 r-xs 00000000 00:01 9 /memfd:text (deleted)\n"
			       "52000-53000 r-xp 00000000 00:00 0 \n"
			       "56000-57000 r--p 00006000 08:01 5 /prog\n",
			       0x52000, 1, 0, &h, 1),
			 1);
	assert_int_equal(h.offset, 0x2000);
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "51000-52000 r-xs 00000000 00:01 9 /memfd:text (deleted)\n"
			       "56000-57000 r--p 00006000 08:01 5 /prog\n",
			       0x51000, 1, 0, &h, 1),
			 1);
	assert_int_equal(h.offset, 0x1000);
}

static void an_area_that_is_larger_counts_where_the_text_is(void **state)
{
	struct hole h;
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "51000-60000 r-xp 00000000 00:00 0 \n"
			       "60000-61000 r--p 00000000 08:01 6 /other\n",
			       0x51000, 2, 0, &h, 1),
			 1);
	assert_true(h.start == 0x51000 && h.end == 0x55011);
}

static void memory_that_nothing_reaches_has_no_neighbours(void **state)
{
	struct hole h;
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "52000-53000 rwxp 00000000 00:00 0 \n"
			       "54000-55000 r--p 00000000 08:01 6 /other\n",
			       0x52000, 0, 0, &h, 1),
			 0);
	assert_int_equal(holes("52000-53000 rwxp 00000000 00:00 0 \n", 0x52000, 0, 0, &h, 1), 0);
}

static void memory_beside_a_file_but_outside_its_text_is_no_hole(void **state)
{
	struct hole h;
	assert_int_equal(holes("56000-57000 r--p 00006000 08:01 5 /prog\n"
			       "57000-58000 rw-p 00006000 08:01 5 /prog\n"
			       "58000-5a000 rwxp 00000000 00:00 0 \n",
			       0x58000, 1, 0, &h, 1),
			 0);
}

static void mappings_that_disagree_prove_nothing(void **state)
{
	struct hole h;
	/* The text behind the area is not where the headers say that it is. */
	assert_int_equal(holes("50000-51000 r--p 00000000 08:01 5 /prog\n"
			       "51000-52000 r-xp 00000000 00:00 0 \n"
			       "52000-54000 r-xp 00003000 08:01 5 /prog\n",
			       0x51000, 1, 0, &h, 1),
			 0);
}

static void a_page_of_two_segments_alone_proves_nothing(void **state)
{
	/* Offset 0x6000 is loaded twice: with the constants and with the data. */
	struct hole h;
	assert_int_equal(holes("51000-56000 r-xp 00000000 00:00 0 \n"
			       "56000-57000 r--p 00006000 08:01 5 /prog\n",
			       0x51000, 1, 0, &h, 1),
			 0);
}

static void ordinary_files_and_special_memory_are_no_copies(void **state)
{
	struct mapping file = {.inode = 5, .name = "/memory"};
	struct mapping memfd = {.inode = 5, .name = "/memfd:x (deleted)"};
	struct mapping huge = {.inode = 5, .name = "/anon_hugepage (deleted)"};
	struct mapping anonymous = {.name = ""}, named = {.name = "[anon:text]"};
	struct mapping vdso = {.name = "[vdso]"};
	assert_false(hole_may_be(&file));
	assert_false(hole_may_be(&vdso));
	assert_true(hole_may_be(&memfd) && hole_may_be(&huge));
	assert_true(hole_may_be(&anonymous) && hole_may_be(&named));
}

static void hostile_segments_are_passed_over(void **state)
{
	struct snapshot *s = snapshot_of("50000-51000 r--p 00000000 08:01 5 /prog\n"
					 "51000-52000 r-xp 00000000 00:00 0 \n"
					 "52000-53000 r-xp 00002000 08:01 5 /prog\n");
	const struct mapping *area = snapshot_find(s, 0x51000), *near[HOLE_NEIGHBOURS];
	struct meta about = {};
	struct hole h[4];
	const struct store_segment segments[] = {
		{0, 0, UINT64_MAX, UINT64_MAX, EXECUTE}, {0, 0, UINT64_MAX / 2, 0, EXECUTE},
		{UINT64_MAX - 0xfff, 0, 0x1000, 0x1000, EXECUTE}, {0x123, 0x456, 0x1000, 0x1000, EXECUTE},
		{0, 0, 0, UINT64_MAX, EXECUTE}};
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++)
		assert_int_equal(vec_push(&about.segments, segments[i]), 0);
	assert_int_equal(hole_neighbours(s, area, near), 1);
	assert_int_equal(hole_find(s, area, near[0], &about, h, ARRAY_SIZE(h)), 0);
	meta_deinit(&about);
	assert_int_equal(hole_find(s, area, near[0], &about, h, ARRAY_SIZE(h)), 0);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_in_the_text_has_its_offset),
		cmocka_unit_test(a_whole_text_is_found_by_the_other_segments),
		cmocka_unit_test(other_copies_and_gaps_may_lie_between),
		cmocka_unit_test(an_area_that_is_larger_counts_where_the_text_is),
		cmocka_unit_test(memory_that_nothing_reaches_has_no_neighbours),
		cmocka_unit_test(memory_beside_a_file_but_outside_its_text_is_no_hole),
		cmocka_unit_test(mappings_that_disagree_prove_nothing),
		cmocka_unit_test(a_page_of_two_segments_alone_proves_nothing),
		cmocka_unit_test(ordinary_files_and_special_memory_are_no_copies),
		cmocka_unit_test(hostile_segments_are_passed_over),
	};
	return cmocka_run_group_tests_name("hole", tests, NULL, NULL);
}
