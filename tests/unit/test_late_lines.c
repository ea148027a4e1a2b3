/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recording in which this test was sampled. */
#include "agent/late_lines.h"

#include "lib/profile_builder.h"
#include "lib/test.h"
#include "lib/tree.h"
#include "symbols/intake.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

__attribute__((noinline)) static int sampled(int x)
{
	return x * 3; /* LINE */
}
#define LINE 17

static struct tree tree;
static struct store *store;
static struct proc proc = PROC_INIT;
static struct elf_identity self;
static char own_path[4096];

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
	*(uint64_t *)data = info->dlpi_addr;
	return 1;
}

static int set_up(void **state)
{
	struct mw_error e = {};
	tree_init(&tree);
	chmod(tree.path, 0700);
	const struct store_options options = {.directory = tree.path};
	assert_int_equal(store_open(&options, &store, &e), 0);
	assert_int_equal(proc_init(&proc, "/proc", NULL), 0);
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(intake_identify(fd, &self, &e), 0);
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
	assert_true(n > 0);
	own_path[n] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	proc_deinit(&proc);
	store_close(store);
	tree_deinit(&tree);
	return 0;
}

static struct profile *recorded(const char *path, const char *id)
{
	char text[MW_FILE_ID_TEXT_MAX];
	uint64_t base = 0, offset = 0;
	struct profile *p = build_empty();
	mw_file_id_to_text(&self.id, text, sizeof text);
	uint32_t file = build_file(p, path, id ? id : text, MW_REASON_NONE);
	dl_iterate_phdr(find_base, &base);
	assert_int_equal(elf_identity_address_to_offset(&self, (uintptr_t)sampled - base, &offset), 1);
	build_samples(p, "test", 7, 0, 3, FRAMES(FRAME_OF_FILE(file, offset)));
	return p;
}

static int find(struct profile *p, uint64_t budget)
{
	const struct late_lines_options options = {
		.profile = p, .store = store, .proc = &proc, .budget = budget};
	return late_lines_find(&options);
}

static void a_file_is_read_within_the_budget(void **state)
{
	assert_int_equal(sampled(3), 9);
	_cleanup_(cleanup_profile_free) struct profile *p = recorded(own_path, NULL);
	assert_int_equal(find(p, 0), 0); /* the store has nothing yet */
	assert_int_equal(find(p, UINT64_C(60000000000)), 1);
	const struct profile_frame *f = &p->frames.items[0];
	assert_int_equal(f->n_lines, 1);
	const struct profile_line *line = &p->lines.items[f->first_line];
	assert_true(strstr(profile_string(p, line->file), "test_late_lines.c") != NULL);
	assert_in_range(line->line, LINE - 1, LINE);

	/* From then on the store has it, for every recording. */
	_cleanup_(cleanup_profile_free) struct profile *q = recorded("/nowhere", NULL);
	assert_int_equal(find(q, 0), 1);
}

static void another_file_of_that_path_gives_nothing(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = recorded(own_path, "gnu:0123456789abcdef");
	assert_int_equal(find(p, UINT64_C(60000000000)), 0);
	assert_int_equal(p->frames.items[0].n_lines, 0);
}

static void what_is_no_file_does_no_harm(void **state)
{
	static const char *const paths[] = {"", "/nowhere", "/dev/null", "/proc/self/mem", "relative", "/tmp"};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(cleanup_profile_free) struct profile *p =
			recorded(paths[i], "gnu:0123456789abcdef");
		assert_int_equal(find(p, UINT64_C(60000000000)), 0);
	}
}

static void frames_that_are_in_no_file_are_left_alone(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	assert_int_equal(find(p, UINT64_C(1000000000)), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_read_within_the_budget),
		TEST(another_file_of_that_path_gives_nothing),
		TEST(what_is_no_file_does_no_harm),
		TEST(frames_that_are_in_no_file_are_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
