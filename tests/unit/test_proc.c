/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/test.h"
#include "lib/tree.h"
#include "proc/maps.h"
#include "proc/mountinfo.h"
#include "proc/proc.h"
#include "space/snapshot.h"

#include <string.h>
#include <unistd.h>

static void maps_lines_are_read_with_all_their_fields(void **state)
{
	char line[] = "7f12a4c00000-7f12a4d55000 r-xp 00028000 08:1f 131104    /usr/lib/libc.so.6";
	struct map_line m;
	assert_int_equal(map_line_parse(line, &m), 0);
	assert_true(m.start == 0x7f12a4c00000 && m.end == 0x7f12a4d55000);
	assert_int_equal(m.offset, 0x28000);
	assert_int_equal(m.protection, MAP_READ | MAP_EXECUTE);
	assert_int_equal(m.major, 8);
	assert_int_equal(m.minor, 0x1f);
	assert_int_equal(m.inode, 131104);
	assert_string_equal(m.name, "/usr/lib/libc.so.6");
}

static void maps_names_keep_spaces_line_breaks_and_endings(void **state)
{
	char line[] = "400000-401000 rwxs 00000000 00:01 5    /a b\\012c (deleted)";
	struct map_line m;
	assert_int_equal(map_line_parse(line, &m), 0);
	assert_string_equal(m.name, "/a b\nc (deleted)");
	assert_true(m.protection & MAP_IS_SHARED);

	char nameless[] = "400000-401000 ---p 00000000 00:00 0 ";
	assert_int_equal(map_line_parse(nameless, &m), 0);
	assert_string_equal(m.name, "");
}

static void maps_lines_that_are_none_are_refused(void **state)
{
	const char *lines[] = {"", "Size: 4 kB", "401000-400000 r-xp 0 0:0 0", "400000-401000 r-xp 0",
			       "400000-401000"};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char line[64];
		struct map_line m;
		snprintf(line, sizeof line, "%s", lines[i]);
		assert_int_equal(map_line_parse(line, &m), -EBADMSG);
	}
}

static void mount_lines_are_unescaped(void **state)
{
	char line[] = "36 35 98:7 /su\\040b /mnt\\011x rw,noatime master:1 shared:2 - ext4 /dev/root rw";
	struct mount_line m;
	assert_int_equal(mount_line_parse(line, &m), 0);
	assert_int_equal(m.major, 98);
	assert_int_equal(m.minor, 7);
	assert_string_equal(m.root, "/su b");
	assert_string_equal(m.point, "/mnt\tx");
	assert_string_equal(m.type, "ext4");

	char bad[] = "36 35 98:7 / /mnt rw";
	assert_int_equal(mount_line_parse(bad, &m), -EBADMSG);
}

static void start_time_is_found_behind_any_name(void **state)
{
	struct tree tree;
	struct proc proc;
	uint64_t ns;
	tree_init(&tree);
	tree_write(&tree, "7/stat",
		   "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 250 1000 10 0\n");
	tree_write(&tree, "8/stat", "8 (cut) S 1 2");
	assert_int_equal(proc_init(&proc, tree.path, NULL), 0);
	assert_int_equal(proc_start_time(&proc, 7, &ns), 0);
	assert_int_equal(ns, 250 * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)));
	assert_true(proc_is_same_process(&proc, 7, ns + 5));
	assert_false(proc_is_same_process(&proc, 7, ns + 1000000000));
	assert_int_equal(proc_start_time(&proc, 8, &ns), -EBADMSG);
	assert_int_equal(proc_start_time(&proc, 9, &ns), -ENOENT);
	proc_deinit(&proc);
	tree_deinit(&tree);
}

static void expect_cgroup(const char *text, const char *expected)
{
	struct tree tree;
	struct proc proc;
	_cleanup_free_ char *path = NULL;
	tree_init(&tree);
	tree_write(&tree, "7/cgroup", text);
	assert_int_equal(proc_init(&proc, tree.path, NULL), 0);
	assert_int_equal(proc_cgroup(&proc, 7, &path), 0);
	assert_string_equal(path, expected);
	proc_deinit(&proc);
	tree_deinit(&tree);
}

static void the_cgroup_that_names_a_task_best_is_chosen(void **state)
{
	expect_cgroup("0::/system.slice/a.service\n", "/system.slice/a.service");
	expect_cgroup("5:memory:/m\n1:name=systemd:/s\n0::/\n", "/s");
	expect_cgroup("5:memory:/docker/abc:def\n0::/\n", "/docker/abc:def");
	expect_cgroup("5:memory:/m\n0::/unified\n", "/unified");
	expect_cgroup("0::/\n", "/");
	expect_cgroup("", "/");
}

static void a_snapshot_finds_the_mapping_of_an_address(void **state)
{
	struct tree tree;
	struct proc proc;
	struct snapshot *s;
	tree_init(&tree);
	tree_write(&tree, "7/task/8/maps",
		   "1000-2000 r-xp 00000000 08:01 5 /a\n"
		   "2000-3000 r-xp 00001000 08:01 5 /a\n"
		   "damaged line\n"
		   "5000-6000 rwxp 00000000 00:00 0 [anon:jit]\n"
		   "5800-5900 r-xp 00000000 00:00 0 out of order\n");
	assert_int_equal(proc_init(&proc, tree.path, NULL), 0);
	assert_int_equal(snapshot_take(&proc, 7, 8, &s), 0);
	assert_int_equal(snapshot_count(s), 3);
	assert_null(snapshot_find(s, 0xfff));
	assert_int_equal(snapshot_find(s, 0x1000)->start, 0x1000);
	assert_int_equal(snapshot_find(s, 0x2000)->start, 0x2000);
	assert_null(snapshot_find(s, 0x3000));
	assert_string_equal(snapshot_find(s, 0x5fff)->name, "[anon:jit]");
	assert_null(snapshot_find(s, 0x6000));
	snapshot_free(s);
	assert_int_equal(snapshot_take(&proc, 9, 9, &s), -ENOENT);
	proc_deinit(&proc);
	tree_deinit(&tree);
}

static void our_own_maps_are_read(void **state)
{
	struct proc proc;
	struct snapshot *s;
	uint32_t pid = (uint32_t)getpid();
	assert_int_equal(proc_init(&proc, "/proc", NULL), 0);
	assert_int_equal(snapshot_take(&proc, pid, pid, &s), 0);
	const struct mapping *m = snapshot_find(s, (uintptr_t)our_own_maps_are_read);
	assert_non_null(m);
	assert_true(m->protection & MAP_EXECUTE);
	assert_non_null(strstr(m->name, "test_proc"));
	snapshot_free(s);
	proc_deinit(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_lines_are_read_with_all_their_fields),
		cmocka_unit_test(maps_names_keep_spaces_line_breaks_and_endings),
		cmocka_unit_test(maps_lines_that_are_none_are_refused),
		cmocka_unit_test(mount_lines_are_unescaped),
		cmocka_unit_test(start_time_is_found_behind_any_name),
		cmocka_unit_test(the_cgroup_that_names_a_task_best_is_chosen),
		cmocka_unit_test(a_snapshot_finds_the_mapping_of_an_address),
		cmocka_unit_test(our_own_maps_are_read),
	};
	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
