/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where debug files are looked for in the root of a task, which is a directory here, by a dumped
 * /proc. */
#include "base/cleanup.h"
#include "base/io.h"
#include "content/debug_files.h"
#include "lib/test.h"
#include "lib/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct fixture {
	struct tree tree;
	struct proc proc;
	struct elf_identity identity;
	char path[128]; /* of the stripped file, as we see it */
	int fd;
	int found[DEBUG_FILES_MAX];
	size_t n;
};

static void write_mounts(struct fixture *f, const char *type)
{
	char line[128];
	snprintf(line, sizeof line, "36 35 98:0 / / rw - %s none rw\n", type);
	tree_write(&f->tree, "proc/7/mountinfo", line);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	char path[160], target[160];
	tree_init(&f->tree);
	tree_write(&f->tree, "root/opt/app/prog", "stripped");
	write_mounts(f, "ext4");
	tree_write(&f->tree, "proc/7/task/7/status", "");
	snprintf(path, sizeof path, "%s/proc/7/task/7/root", f->tree.path);
	snprintf(target, sizeof target, "%s/root", f->tree.path);
	assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof path, "%s/proc", f->tree.path);
	assert_int_equal(proc_init(&f->proc, path, NULL), 0);
	snprintf(f->path, sizeof f->path, "%s/root/opt/app/prog", f->tree.path);
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	assert_true(f->fd >= 0);
	f->identity.id = (struct mw_file_id){
		.kind = MW_FILE_ID_GNU, .size = 4, .bytes = {0x93, 0xac, 0x61, 0xec}};
	strcpy(f->identity.debug_link.name, "prog.debug");
	*state = f;
	return 0;
}

static void close_found(struct fixture *f)
{
	for (size_t i = 0; i < f->n; i++)
		close(f->found[i]);
	f->n = 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	close_found(f);
	close(f->fd);
	proc_deinit(&f->proc);
	tree_deinit(&f->tree);
	free(f);
	return 0;
}

static struct debug_file_request request_of(const struct fixture *f)
{
	return (struct debug_file_request){
		.identity = &f->identity, .path = f->path, .fd = f->fd, .pid = 7, .tid = 7};
}

static void search(struct fixture *f)
{
	struct debug_file_request request = request_of(f);
	close_found(f);
	f->n = debug_files_open(&f->proc, NULL, &request, f->found);
}

static bool has(const struct fixture *f, const char *text)
{
	char buf[64] = "";
	for (size_t i = 0; i < f->n; i++) {
		ssize_t n = io_pread(f->found[i], buf, sizeof buf - 1, 0);
		buf[n > 0 ? n : 0] = '\0';
		if (strcmp(buf, text) == 0)
			return true;
	}
	return false;
}

static void all_places_in_the_root_of_the_task_are_looked_at(void **state)
{
	struct fixture *f = *state;
	tree_write(&f->tree, "root/opt/app/prog.debug", "beside");
	tree_write(&f->tree, "root/opt/app/.debug/prog.debug", "below");
	tree_write(&f->tree, "root/usr/lib/debug/opt/app/prog.debug", "global");
	tree_write(&f->tree, "root/usr/lib/debug/.build-id/93/ac61ec.debug", "by id");
	search(f);
	assert_int_equal(f->n, 4);
	assert_true(has(f, "beside") && has(f, "below") && has(f, "global") && has(f, "by id"));
}

static void a_file_is_never_its_own_debug_file(void **state)
{
	struct fixture *f = *state;
	char path[160];
	strcpy(f->identity.debug_link.name, "prog");
	tree_write(&f->tree, "root/opt/app/.debug/prog", "right");
	snprintf(path, sizeof path, "%s/root/usr/lib/debug/opt/app/prog", f->tree.path);
	tree_write(&f->tree, "root/usr/lib/debug/opt/app/other", "");
	assert_int_equal(link(f->path, path), 0);
	search(f);
	assert_int_equal(f->n, 1);
	assert_true(has(f, "right"));
}

static void links_lead_nowhere_outside_of_the_root(void **state)
{
	struct fixture *f = *state;
	char path[160];
	strcpy(f->path, "/opt/app/prog"); /* as the task sees it: our own root has no such file */
	tree_write(&f->tree, "outside", "outside");
	tree_write(&f->tree, "root/inside", "inside");
	snprintf(path, sizeof path, "%s/root/opt/app/prog.debug", f->tree.path);
	assert_int_equal(symlink("../../../outside", path), 0);
	search(f);
	assert_int_equal(f->n, 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/inside", path), 0);
	search(f);
	assert_int_equal(f->n, 1);
	assert_true(has(f, "inside"));
}

static void what_is_no_regular_file_is_passed_over(void **state)
{
	struct fixture *f = *state;
	char path[160];
	snprintf(path, sizeof path, "%s/root/opt/app/prog.debug", f->tree.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	search(f);
	assert_int_equal(f->n, 0);
}

/* Here all lies on one file system, so nothing is lost by it. */
static void mounts_that_may_block_are_not_crossed(void **state)
{
	struct fixture *f = *state;
	tree_write(&f->tree, "root/opt/app/prog.debug", "beside");
	write_mounts(f, "fuse.sshfs");
	search(f);
	assert_int_equal(f->n, 1);
}

static void assert_alt(struct fixture *f, const struct elf_alt_link *link, const char *text)
{
	char buf[64] = "";
	struct debug_file_request request = request_of(f);
	_cleanup_close_ int fd =
		debug_files_open_alt(&f->proc, NULL, &request, link, f->found, f->n);
	if (!text) {
		assert_int_equal(fd, -1);
		return;
	}
	assert_true(fd >= 0);
	assert_true(io_pread(fd, buf, sizeof buf - 1, 0) >= 0);
	assert_string_equal(buf, text);
}

static void what_debug_files_share_is_found_by_its_link_and_by_its_id(void **state)
{
	struct fixture *f = *state;
	struct elf_alt_link link = {.path = "/usr/lib/debug/.dwz/both.debug"};
	assert_alt(f, &link, NULL);
	tree_write(&f->tree, "root/usr/lib/debug/.dwz/both.debug", "absolute");
	assert_alt(f, &link, "absolute");
	tree_write(&f->tree, "root/usr/lib/debug/opt/app/prog.debug", "debug file");
	search(f);
	assert_int_equal(f->n, 1);
	strcpy(link.path, "../../.dwz/both.debug"); /* from the directory of the debug file */
	assert_alt(f, &link, "absolute");
	strcpy(link.path, "nowhere");
	assert_alt(f, &link, NULL);
	link.id = (struct mw_file_id){.kind = MW_FILE_ID_GNU, .size = 2, .bytes = {0x12, 0x34}};
	tree_write(&f->tree, "root/usr/lib/debug/.build-id/12/34.debug", "by id");
	assert_alt(f, &link, "by id");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_places_in_the_root_of_the_task_are_looked_at),
		TEST(a_file_is_never_its_own_debug_file),
		TEST(links_lead_nowhere_outside_of_the_root),
		TEST(what_is_no_regular_file_is_passed_over),
		TEST(mounts_that_may_block_are_not_crossed),
		TEST(what_debug_files_share_is_found_by_its_link_and_by_its_id),
	};
	return cmocka_run_group_tests_name("debug_files", tests, NULL, NULL);
}
