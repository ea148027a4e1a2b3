/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places and what waits for them, over a /proc made here, with the real fork server. */
#include "agent/held.h"
#include "agent/places.h"
#include "lib/test.h"
#include "lib/tree.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define A64 "489ce0ef7fef0384916f24419f34f037f421877cabc9e9979571556b5398ea41"
#define B64 "1e568543061703ff14c87a7e30b4dce563cc1a788a202b5016482b4532dbaf36"

#define TICKS	   500
#define START_TIME (TICKS * UINT64_C(10000000)) /* of every process here: 5 s */
#define NAMESPACE  77
#define SECOND	   UINT64_C(1000000000)

struct fixture {
	struct tree tree;
	struct proc proc;
	struct profile *profile;
	struct run_server *server;
	struct places *places;
	struct cgroup_target cgroup;
	unsigned delivered;
};

static void write_file(struct fixture *f, const char *text, const char *format, ...)
{
	char name[256];
	va_list args;
	va_start(args, format);
	vsnprintf(name, sizeof name, format, args);
	va_end(args);
	tree_write(&f->tree, name, text);
}

static void given_process(struct fixture *f, unsigned pid, const char *cgroup)
{
	char stat[160];
	snprintf(stat, sizeof stat,
		 "%u (x) S 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 %d 1 1\n", pid, TICKS);
	write_file(f, stat, "proc/%u/stat", pid);
	write_file(f, cgroup, "proc/%u/cgroup", pid);
	write_file(f, "1 1 0:45 / / rw - overlay overlay rw,upperdir=/s/overlay/" B64 "/diff\n",
		   "proc/%u/mountinfo", pid);
}

static void process_ends(struct fixture *f, unsigned pid)
{
	char path[160];
	snprintf(path, sizeof path, "%s/proc/%u/stat", f->tree.path, pid);
	assert_int_equal(unlink(path), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	char path[128];
	tree_init(&f->tree);
	tree_write(&f->tree, "proc/1/mountinfo", "22 1 254:0 / / rw - ext4 /dev/vda rw\n");
	tree_write(&f->tree, "proc/1/root/s/overlay-containers/containers.json",
		   "[{\"id\":\"" A64 "\",\"names\":[\"web\"],\"image\":\"nginx\"}]");
	snprintf(path, sizeof path, "%s/proc", f->tree.path);
	assert_int_equal(proc_init(&f->proc, path, NULL), 0);
	assert_int_equal(profile_new(NULL, &f->profile), 0);
	assert_int_equal(run_server_start(&places_job, 1, &f->server, NULL), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	places_free(f->places);
	run_server_stop(f->server);
	profile_free(f->profile);
	proc_deinit(&f->proc);
	tree_deinit(&f->tree);
	free(f);
	return 0;
}

static void start(struct fixture *f, const char *const *containers, size_t n, bool by_cgroup)
{
	struct places_options options = {
		.profile = f->profile,
		.proc = &f->proc,
		.server = f->server,
		.containers = containers,
		.n_containers = n,
		.cgroups = &f->cgroup,
		.n_cgroups = by_cgroup,
	};
	assert_int_equal(places_new(&options, &f->places), 0);
}

static struct sample sample_of(unsigned pid, uint64_t cgroup, uint64_t time)
{
	return (struct sample){.task = {.pid = pid, .tid = pid, .start_time = START_TIME},
			       .cgroup = cgroup,
			       .mount_namespace = NAMESPACE,
			       .time = time};
}

static enum places_verdict see(struct fixture *f, const struct sample *sample, uint64_t *ret_cgroup)
{
	enum places_verdict verdict;
	uint64_t cgroup;
	assert_int_equal(places_see(f->places, sample, &cgroup, &verdict), 0);
	if (ret_cgroup)
		*ret_cgroup = cgroup;
	return verdict;
}

static void take_results(struct fixture *f)
{
	for (int i = 0; i < 5000 && places_unfinished(f->places); i++) {
		struct run_result result;
		if (run_server_receive(f->server, &result) == 1)
			assert_int_equal(places_take_result(f->places, &result), 0);
		else
			usleep(1000);
		assert_int_equal(places_go_on(f->places), 0);
	}
	assert_int_equal(places_unfinished(f->places), 0);
}

static const char *path_of(struct fixture *f, uint64_t cgroup)
{
	uint32_t number;
	assert_int_equal(profile_intern_cgroup(f->profile, cgroup, &number), 0);
	return profile_string(f->profile, f->profile->cgroups.items[number].path);
}

static const char *name_of(struct fixture *f, uint64_t cgroup)
{
	struct profile_sample s = {.mount_namespace = NAMESPACE};
	assert_int_equal(profile_intern_cgroup(f->profile, cgroup, &s.cgroup), 0);
	const struct profile_container *c = profile_container_of(f->profile, &s);
	return c ? profile_string(f->profile, c->text[PROFILE_CONTAINER_NAME]) : NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_container_is_in_the_profile_at_once_and_has_its_name_later(void **state)
{
	struct fixture *f = *state;
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	start(f, NULL, 0, false);
	struct sample s = sample_of(42, 4711, SECOND);
	assert_int_equal(see(f, &s, NULL), PLACES_WANTED);
	assert_string_equal(name_of(f, 4711), "");
	assert_int_equal(places_unfinished(f->places), 1);
	take_results(f);
	assert_string_equal(name_of(f, 4711), "web");
	assert_int_equal(places_get_counts(f->places).containers, 1);
	assert_int_equal(places_get_counts(f->places).named, 1);
}

static void a_verdict_is_open_until_the_container_has_its_name(void **state)
{
	static const char *const wanted[] = {"web"};
	struct fixture *f = *state;
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	given_process(f, 43, "0::/docker/" B64 "\n");
	start(f, wanted, 1, false);
	struct sample web = sample_of(42, 4711, SECOND), other = sample_of(43, 4712, SECOND);
	assert_int_equal(see(f, &web, NULL), PLACES_UNDECIDED);
	assert_int_equal(see(f, &other, NULL), PLACES_UNDECIDED);
	take_results(f);
	assert_int_equal(see(f, &web, NULL), PLACES_WANTED);
	assert_int_equal(places_verdict(f->places, 4711, NAMESPACE), PLACES_WANTED);
	assert_int_equal(see(f, &other, NULL), PLACES_UNDECIDED);
	places_give_up(f->places);
	assert_int_equal(see(f, &other, NULL), PLACES_OTHER);
	assert_int_equal(places_verdict(f->places, 1, 1), PLACES_OTHER);
}

static void an_id_is_known_at_once(void **state)
{
	static const char *const wanted[] = {"podman:489ce"};
	struct fixture *f = *state;
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	start(f, wanted, 1, false);
	struct sample s = sample_of(42, 4711, SECOND);
	assert_int_equal(see(f, &s, NULL), PLACES_WANTED);
}

static void on_a_hybrid_host_the_path_stands_for_the_id(void **state)
{
	struct fixture *f = *state;
	given_process(f, 42, "1:name=systemd:/one\n0::/\n");
	given_process(f, 43, "1:name=systemd:/two\n0::/\n");
	given_process(f, 44, "1:name=systemd:/one\n0::/\n");
	start(f, NULL, 0, false);
	uint64_t cgroups[3];
	for (unsigned i = 0; i < 3; i++) {
		struct sample s = sample_of(42 + i, 1, SECOND);
		see(f, &s, &cgroups[i]);
	}
	assert_true(cgroups[0] == cgroups[2] && cgroups[0] != cgroups[1]);
	assert_string_equal(path_of(f, cgroups[0]), "/one");
	assert_string_equal(path_of(f, cgroups[1]), "/two");
}

static void a_process_that_is_moved_is_seen_where_it_went(void **state)
{
	struct fixture *f = *state;
	uint64_t cgroup;
	given_process(f, 42, "1:name=systemd:/one\n0::/\n");
	start(f, NULL, 0, false);
	struct sample s = sample_of(42, 1, SECOND);
	see(f, &s, &cgroup);
	given_process(f, 42, "1:name=systemd:/two\n0::/\n");
	s.time += SECOND / 10;
	see(f, &s, &cgroup);
	assert_string_equal(path_of(f, cgroup), "/two");
	process_ends(f, 42); /* what was known of it stays true */
	s.time += 100 * SECOND;
	see(f, &s, &cgroup);
	assert_string_equal(path_of(f, cgroup), "/two");
}

static void a_place_whose_first_process_is_gone_is_told_by_its_next(void **state)
{
	struct fixture *f = *state;
	start(f, NULL, 0, false);
	struct sample gone = sample_of(41, 4711, SECOND), next = sample_of(42, 4711, SECOND + 1);
	uint64_t cgroup;
	see(f, &gone, &cgroup);
	assert_int_equal(cgroup, 4711);
	assert_null(name_of(f, 4711));
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	see(f, &next, NULL);
	assert_string_equal(path_of(f, 4711), "/libpod_parent/libpod-" A64);
	usleep(250000);
	assert_int_equal(places_go_on(f->places), 0);
	take_results(f);
	assert_string_equal(name_of(f, 4711), "web");
}

static void a_container_that_was_not_ready_is_looked_at_again(void **state)
{
	struct fixture *f = *state;
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	write_file(f, "1 1 254:0 / / rw - ext4 /dev/vda rw\n", "proc/42/mountinfo");
	start(f, NULL, 0, false);
	struct sample s = sample_of(42, 4711, SECOND);
	see(f, &s, NULL);
	take_results(f);
	assert_string_equal(name_of(f, 4711), "");
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n"); /* has its root now */
	usleep(250000);
	assert_int_equal(places_go_on(f->places), 0);
	take_results(f);
	assert_string_equal(name_of(f, 4711), "web");
}

static void more_containers_than_the_server_takes_at_once_all_get_their_names(void **state)
{
	struct fixture *f = *state;
	char list[8192] = "[", cgroup[160], name[16];
	for (unsigned i = 0; i < 40; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list),
			 "%s{\"id\":\"%064x\",\"names\":[\"web-%u\"]}", i ? "," : "", i, i);
	strcat(list, "]");
	write_file(f, list, "proc/1/root/s/overlay-containers/containers.json");
	start(f, NULL, 0, false);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(cgroup, sizeof cgroup, "0::/libpod_parent/libpod-%064x\n", i);
		given_process(f, 100 + i, cgroup);
		struct sample s = sample_of(100 + i, 5000 + i, SECOND);
		see(f, &s, NULL);
	}
	take_results(f);
	for (unsigned tries = 0; places_get_counts(f->places).named < 40 && tries < 4; tries++) {
		/* what found no room was put off */
		usleep(250000 << tries);
		assert_int_equal(places_go_on(f->places), 0);
		take_results(f);
	}
	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "web-%u", i);
		assert_string_equal(name_of(f, 5000 + i), name);
	}
}

static void an_unreadable_list_is_counted_and_the_id_stays(void **state)
{
	struct fixture *f = *state;
	write_file(f, "[[[[", "proc/1/root/s/overlay-containers/containers.json");
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	start(f, NULL, 0, false);
	struct sample s = sample_of(42, 4711, SECOND);
	see(f, &s, NULL);
	take_results(f);
	assert_string_equal(name_of(f, 4711), "");
	assert_int_equal(places_get_counts(f->places).failed, 1);
	assert_int_equal(places_get_counts(f->places).named, 0);
}

static void processes_are_chosen_by_a_cgroup_of_any_hierarchy(void **state)
{
	struct fixture *f = *state;
	f->cgroup = (struct cgroup_target){.hierarchy = 4, .path = "/a/b"};
	given_process(f, 42, "4:memory:/a/b\n0::/\n");
	given_process(f, 43, "4:memory:/a/b/c\n0::/\n");
	given_process(f, 44, "4:memory:/a/bc\n0::/a/b\n");
	given_process(f, 45, "5:cpu:/a/b\n0::/a/b\n");
	start(f, NULL, 0, true);
	for (unsigned pid = 42; pid < 46; pid++) {
		struct sample s = sample_of(pid, 4711, SECOND);
		assert_int_equal(see(f, &s, NULL), pid < 44 ? PLACES_WANTED : PLACES_OTHER);
	}
}

static void a_cgroup_is_found_by_directory_and_by_path(void **state)
{
	struct fixture *f = *state;
	char mounts[1024], text[256];
	struct cgroup_target target;
	struct mw_error e;
	snprintf(mounts, sizeof mounts,
		 "30 1 0:30 / %s/v1/memory rw - cgroup cgroup rw,memory\n"
		 "31 1 0:31 / %s/v2 rw - cgroup2 cgroup2 rw\n",
		 f->tree.path, f->tree.path);
	write_file(f, "7:memory:/x\n3:cpu,cpuacct:/\n0::/y\n", "proc/1/cgroup");
	tree_write(&f->tree, "v1/memory/old/cgroup.procs", "");
	tree_write(&f->tree, "v2/new/deep/cgroup.procs", "");
	tree_write(&f->tree, "v2/cgroup.procs", "");

	assert_int_equal(cgroup_target_find_among(&f->proc, mounts, "/new/deep", &target, &e), 0);
	assert_int_equal(target.hierarchy, 0);
	assert_true(target.id != 0);
	assert_string_equal(target.path, "/new/deep");
	snprintf(text, sizeof text, "%s/v2/new/", f->tree.path);
	assert_int_equal(cgroup_target_find_among(&f->proc, mounts, text, &target, &e), 0);
	assert_string_equal(target.path, "/new");
	assert_int_equal(cgroup_target_find_among(&f->proc, mounts, "/", &target, &e), 0);
	assert_string_equal(target.path, "/");
	assert_int_equal(cgroup_target_find_among(&f->proc, mounts, "old", &target, &e), 0);
	assert_int_equal(target.hierarchy, 7);
	assert_string_equal(target.path, "/old");
	assert_int_equal(cgroup_target_find_among(&f->proc, mounts, "/none", &target, &e), -ENOENT);
	assert_string_equal(e.msg, "there is no cgroup /none");
	assert_int_equal(cgroup_target_find_among(&f->proc, mounts, "/new/../new", &target, &e), -ENOENT);
}

static int deliver(void *data, const struct sample *sample)
{
	struct fixture *f = data;
	f->delivered++;
	assert_int_equal(sample->n_frames, 1);
	assert_int_equal(sample->frames[0].address, 0x99);
	return 0;
}

static void samples_wait_until_their_place_is_decided(void **state)
{
	static const char *const wanted[] = {"web"};
	struct fixture *f = *state;
	struct held *held;
	given_process(f, 42, "0::/libpod_parent/libpod-" A64 "\n");
	given_process(f, 43, "0::/libpod_parent/libpod-" B64 "\n");
	start(f, wanted, 1, false);
	assert_int_equal(held_new(f->places, deliver, f, &held), 0);
	struct sample web = sample_of(42, 4711, SECOND), other = sample_of(43, 4712, SECOND);
	see(f, &web, NULL);
	see(f, &other, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct frame frame = {.address = 0x99}; /* held ones have a copy of their own */
		web.frames = other.frames = &frame;
		web.n_frames = other.n_frames = 1;
		assert_int_equal(held_take(held, &web), 0);
		assert_int_equal(held_take(held, &other), 0);
		frame.address = 0;
	}
	assert_int_equal(f->delivered, 0);
	take_results(f);
	assert_int_equal(held_go_on(held), 0);
	assert_int_equal(f->delivered, 3);
	assert_int_equal(held_get_counts(held).other, 0);
	places_give_up(f->places);
	assert_int_equal(held_go_on(held), 0);
	assert_int_equal(f->delivered, 3);
	assert_int_equal(held_get_counts(held).other, 3);
	held_free(held);
}

static void too_many_that_wait_are_counted_as_lost(void **state)
{
	static const char *const wanted[] = {"web"};
	struct fixture *f = *state;
	struct held *held;
	given_process(f, 43, "0::/libpod_parent/libpod-" B64 "\n");
	start(f, wanted, 1, false);
	assert_int_equal(held_new(f->places, deliver, f, &held), 0);
	struct sample s = sample_of(43, 4712, SECOND);
	see(f, &s, NULL);
	for (unsigned i = 0; i < 200000; i++)
		assert_int_equal(held_take(held, &s), 0);
	assert_true(held_get_counts(held).lost > 0);
	places_give_up(f->places);
	assert_int_equal(held_go_on(held), 0);
	struct held_counts counts = held_get_counts(held);
	assert_int_equal(counts.lost + counts.other, 200000);
	held_free(held);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_is_in_the_profile_at_once_and_has_its_name_later),
		TEST(a_verdict_is_open_until_the_container_has_its_name),
		TEST(an_id_is_known_at_once),
		TEST(on_a_hybrid_host_the_path_stands_for_the_id),
		TEST(a_process_that_is_moved_is_seen_where_it_went),
		TEST(a_place_whose_first_process_is_gone_is_told_by_its_next),
		TEST(a_container_that_was_not_ready_is_looked_at_again),
		TEST(more_containers_than_the_server_takes_at_once_all_get_their_names),
		TEST(an_unreadable_list_is_counted_and_the_id_stays),
		TEST(processes_are_chosen_by_a_cgroup_of_any_hierarchy),
		TEST(a_cgroup_is_found_by_directory_and_by_path),
		TEST(samples_wait_until_their_place_is_decided),
		TEST(too_many_that_wait_are_counted_as_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
