/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/test.h"
#include "lib/tree.h"
#include "space/images.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MEMORY_MAPS "51000-56000 r-xp 00000000 00:00 0 \n"
#define STAT        "7 (prog) S 1 7 7 0 -1 0 1 0 0 0 1 2 3 4 20 0 1 0 0 1000 10 0 331776 0 777\n"

/* A dumped /proc with one process, whose code starts at 0x51000; a file of the dump is its program. */
struct fixture {
	struct tree tree;
	struct proc proc;
	struct images *images;
	struct sample sample;
	struct stat program;
};

/* The mapping is of a file with the device of the program and this inode. */
static void map_file(struct fixture *f, uint64_t inode)
{
	char line[128];
	snprintf(line, sizeof line, "51000-56000 r-xp 00001000 %02x:%02x %" PRIu64 " /prog\n",
		 major(f->program.st_dev), minor(f->program.st_dev), inode);
	tree_write(&f->tree, "7/task/7/maps", line);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	tree_init(&f->tree);
	tree_write(&f->tree, "7/stat", STAT);
	tree_write(&f->tree, "7/task/7/exe", "program");
	assert_int_equal(proc_init(&f->proc, f->tree.path, NULL), 0);
	assert_int_equal(fstatat(f->proc.dir, "7/task/7/exe", &f->program, 0), 0);
	map_file(f, f->program.st_ino);
	assert_int_equal(images_new(&f->proc, &f->images), 0);
	f->sample.task.pid = f->sample.task.tid = 7;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	images_free(f->images);
	proc_deinit(&f->proc);
	tree_deinit(&f->tree);
	free(f);
	return 0;
}

static void the_program_seen_after_the_sample_is_proved(void **state)
{
	struct fixture *f = *state;
	const struct mapping *m;
	f->sample.time = 1;
	assert_int_equal(images_find(f->images, &f->sample, 0x52000, &m), IMAGE_PROVED);
	assert_int_equal(m->inode, f->program.st_ino);
	assert_true(m->is_program);
}

static void the_program_seen_before_the_sample_may_have_moved(void **state)
{
	struct fixture *f = *state;
	const struct mapping *m;
	f->sample.time = UINT64_MAX;
	assert_int_equal(images_find(f->images, &f->sample, 0x52000, &m), IMAGE_PROGRAM);
	assert_int_equal(m->inode, f->program.st_ino);
	assert_true(m->is_program);
}

static void another_file_where_the_program_starts_is_not_the_program(void **state)
{
	struct fixture *f = *state;
	const struct mapping *m;
	f->sample.time = 1;
	map_file(f, f->program.st_ino + 1);
	assert_int_equal(images_find(f->images, &f->sample, 0x52000, &m), IMAGE_SEEN);
	assert_false(m->is_program);
}

static void memory_that_took_the_place_of_the_program_is_seen_by_a_refresh(void **state)
{
	struct fixture *f = *state;
	const struct mapping *m;
	f->sample.time = 1;
	assert_int_equal(images_find(f->images, &f->sample, 0x52000, &m), IMAGE_PROVED);
	tree_write(&f->tree, "7/task/7/maps", MEMORY_MAPS);
	images_refresh(f->images, &f->sample, UINT64_MAX);
	assert_int_equal(images_find(f->images, &f->sample, 0x52000, &m), IMAGE_SEEN);
	assert_int_equal(m->inode, 0);
	assert_ptr_equal(snapshot_get(images_snapshot(f->images, &f->sample), 0), m);
}

static void a_process_that_became_another_program_is_told(void **state)
{
	struct fixture *f = *state;
	const struct mapping *m;
	f->sample.image = 331776 ^ 777;
	assert_true(images_is_same_program(f->images, &f->sample));
	f->sample.image = 331776 ^ 778;
	assert_false(images_is_same_program(f->images, &f->sample));
	assert_int_equal(images_find(f->images, &f->sample, 0x52000, &m), IMAGE_GONE);
	assert_null(images_snapshot(f->images, &f->sample));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_program_seen_after_the_sample_is_proved, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_program_seen_before_the_sample_may_have_moved,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			another_file_where_the_program_starts_is_not_the_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			memory_that_took_the_place_of_the_program_is_seen_by_a_refresh, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_became_another_program_is_told, set_up,
						tear_down),
	};
	return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
