/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/profile_builder.h"

#include "lib/test.h"

#include <stdio.h>
#include <string.h>

struct profile *build_empty(void)
{
	struct profile *p;
	uint32_t event;
	assert_int_equal(profile_new(NULL, &p), 0);
	assert_int_equal(profile_add_event(p, "cpu-clock", "ns", 0, 999, &event), 0);
	return p;
}

void build_samples(struct profile *p, const char *command, uint32_t pid, uint64_t time,
		   unsigned count, const struct frame *frames, size_t n_frames)
{
	struct sample s = {.value = 1000000,
			   .task = {.pid = pid, .tid = pid, .start_time = pid * 1000, .exec_count = 1},
			   .cgroup = 42,
			   .mount_namespace = 4026531841,
			   .cpu = pid % 2,
			   .frames = frames,
			   .n_frames = (uint32_t)n_frames};
	snprintf(s.command, sizeof s.command, "%s", command);
	for (unsigned i = 0; i < count; i++) {
		s.time = time + i * s.value;
		assert_int_equal(profile_add_sample(p, &s), 1);
	}
}

uint32_t build_file(struct profile *p, const char *path, const char *id, enum mw_reason reason)
{
	uint32_t file;
	struct mw_file_id file_id = {};
	assert_int_equal(profile_add_file(p, path, 8 << 20 | 1, 1234, &file), 0);
	if (id)
		assert_int_equal(mw_file_id_from_text(id, &file_id), 0);
	assert_int_equal(profile_set_file(p, file, id ? &file_id : NULL, reason), 0);
	return file;
}

void build_name(struct profile *p, uint8_t kind, uint32_t file, uint64_t address, const char *name,
		const char *module)
{
	for (uint32_t i = 0; i < p->frames.n; i++) {
		const struct frame *f = &p->frames.items[i].at;
		if (f->kind == kind && f->address == address && f->file == file)
			assert_int_equal(profile_set_name(p, i, name, module, address & ~15ull, 0), 0);
	}
}

struct profile *build_sampler(void)
{
	struct profile *p = build_empty();
	uint32_t prog = build_file(p, "/usr/bin/prog", "gnu:93ac61ec", MW_REASON_NONE);
	uint32_t libc = build_file(p, "/lib/libc.so.6", "htl:000102030405060708090a0b0c0d0e0f",
				   MW_REASON_STRIPPED);
	uint32_t gone = build_file(p, "/tmp/odd;\nname", NULL, MW_REASON_FILE_GONE);
	const uint64_t t = UINT64_C(5000000000);
	build_samples(p, "prog", 100, t, 60,
		      FRAMES(FRAME_OF_FILE(prog, 0x1149), FRAME_OF_FILE(prog, 0x1200),
			     FRAME_OF_FILE(libc, 0x2724a)));
	build_samples(p, "prog", 100, t + 200000000, 25,
		      FRAMES(FRAME_OF_FILE(prog, 0x1180), FRAME_OF_FILE(prog, 0x1200),
			     FRAME_OF_FILE(libc, 0x2724a)));
	build_samples(p, "prog", 100, t, 5,
		      FRAMES(FRAME_OF_KERNEL(0xffffffff81000100), FRAME_OF_KERNEL(0xffffffffc0001000),
			     FRAME_OF_REASON(MW_REASON_EXITING)));
	build_samples(p, "odd; name", 101, t, 4, FRAMES(FRAME_OF_FILE(gone, 0x99)));
	build_samples(p, "node", 102, t, 3, FRAMES(FRAME_OF_JIT(0x7f0000001000)));
	build_samples(p, "node", 102, t, 2, FRAMES(FRAME_OF_RAW(0x1234)));
	build_samples(p, "node\xff", 103, t, 1,
		      FRAMES(FRAME_OF_KERNEL(0xffffffff81000100), FRAME_OF_KERNEL(0xffffffff81999999)));
	build_name(p, FRAME_FILE, prog, 0x1149, "_ZN3app4workEi", NULL);
	build_name(p, FRAME_FILE, prog, 0x1180, "idle;\nloop", NULL);
	build_name(p, FRAME_FILE, prog, 0x1200, "main", NULL);
	build_name(p, FRAME_KERNEL, 0, 0xffffffff81000100, "schedule", NULL);
	build_name(p, FRAME_KERNEL, 0, 0xffffffffc0001000, "ext4_readdir", "ext4");
	assert_int_equal(profile_set_cgroup(p, 42, "/user.slice/session-1.scope"), 0);
	static const char *const facts[][2] = {
		{PROFILE_FACT_HOSTNAME, "anvil"},
		{PROFILE_FACT_KERNEL, "6.18.0"},
		{PROFILE_FACT_KERNEL_BUILD_ID, "0123456789abcdef0123456789abcdef01234567"},
		{PROFILE_FACT_ARCHITECTURE, "x86_64"},
		{PROFILE_FACT_CPUS, "2"},
		{PROFILE_FACT_COMMAND_LINE, "mapwright record -a -g -- make -j2"},
		{PROFILE_FACT_ENGINE, "deferred"},
		{PROFILE_FACT_EVENT_ASKED, "cycles"},
		{PROFILE_FACT_EVENT_USED, "cpu-clock"},
		{PROFILE_FACT_EVENT_REMARK, "this machine has no hardware counters"},
		{PROFILE_FACT_START_REALTIME, "1764441298000000000"},
		{PROFILE_FACT_START_MONOTONIC, "5000000000"},
		{PROFILE_FACT_DURATION, "5250000000"},
		{PROFILE_FACT_EVENTS_COUNTED, "1113"},
		{PROFILE_FACT_COST_USER, "31000"},
		{PROFILE_FACT_COST_SYSTEM, "12000"},
		{PROFILE_FACT_COST_RSS, "14336"},
		{PROFILE_FACT_COST_BYTES, "53248"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		assert_int_equal(profile_set_fact(p, facts[i][0], facts[i][1]), 0);
	assert_int_equal(profile_set_tally(p, PROFILE_SKIPPED, "idle", 1000), 0);
	assert_int_equal(profile_set_tally(p, PROFILE_LOSS, "ring-full", 8), 0);
	assert_int_equal(profile_set_tally(p, PROFILE_LOSS, "throttled", 3), 0);
	assert_int_equal(profile_set_tally(p, PROFILE_COUNTER, "files-opened", 2), 0);
	return p;
}

struct profile *build_compile(unsigned n)
{
	static const char *const commands[] = {"cc1", "as", "ld", "make", "sh"};
	struct profile *p = build_empty();
	uint32_t files[12], seed = 1;
	for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
		char path[40];
		snprintf(path, sizeof path, "/usr/lib/program-%u", i);
		files[i] = build_file(p, path, "gnu:0102030405060708", MW_REASON_NONE);
	}
	for (unsigned i = 0; i < n; i++) {
		struct frame frames[32];
		uint32_t depth = 8 + i % 24;
		for (uint32_t k = 0; k < depth; k++) {
			seed = seed * 1664525 + 1013904223;
			uint32_t from_leaf = k + 1, from_root = depth - k;
			uint32_t ways = 1 + 3000 / (from_leaf * from_leaf * from_leaf);
			uint32_t way = (seed >> 8) % ways;
			frames[k] = FRAME_OF_FILE(files[from_root % 12],
						  0x1000 + way * 64 + from_root);
		}
		build_samples(p, commands[i % 5], 1000 + i / 200, i * UINT64_C(500000), 1, frames,
			      depth);
	}
	for (uint32_t i = 0; i < p->frames.n; i++) {
		char name[60];
		snprintf(name, sizeof name, "_ZN4ns%02u8functionEi%u", i % 50, i % 6000);
		if (i % 50)
			assert_int_equal(profile_set_name(p, i, name, NULL, 0, 0), 0);
	}
	return p;
}
