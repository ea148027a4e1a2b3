/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/facts.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/kernel.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

void facts_of_kernel(struct profile *p, const struct kernel_symbols *symbols)
{
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct kernel_identity kernel;
	char text[MW_FILE_ID_TEXT_MAX];
	kernel_identity_read(root, symbols, &kernel);
	if (kernel.id.kind) {
		mw_file_id_to_text(&kernel.id, text, sizeof text);
		profile_set_fact(p, PROFILE_FACT_KERNEL_BUILD_ID, text + sizeof "gnu:" - 1);
	}
	snprintf(text, sizeof text, "%llx", (unsigned long long)kernel.text);
	if (kernel.text)
		profile_set_fact(p, PROFILE_FACT_KERNEL_TEXT, text);
	if (kernel.boot[0])
		profile_set_fact(p, PROFILE_FACT_BOOT_ID, kernel.boot);
}

static void set_command_line(struct profile *p, char *const *command)
{
	struct buffer line = {};
	for (size_t i = 0; command && command[i]; i++)
		buffer_printf(&line, "%s%s", i ? " " : "", command[i]);
	buffer_u8(&line, 0);
	if (command && !line.failed)
		profile_set_fact(p, PROFILE_FACT_COMMAND_LINE, (const char *)line.data);
	buffer_deinit(&line);
}

void facts_of_machine(struct profile *p, char *const *command)
{
	struct utsname u;
	if (uname(&u) == 0) {
		profile_set_fact(p, PROFILE_FACT_HOSTNAME, u.nodename);
		profile_set_fact(p, PROFILE_FACT_KERNEL, u.release);
		profile_set_fact(p, PROFILE_FACT_ARCHITECTURE, u.machine);
	}
	profile_set_fact_number(p, PROFILE_FACT_CPUS, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	set_command_line(p, command);
}

void facts_of_start(struct profile *p, uint64_t start)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	profile_set_fact_number(p, PROFILE_FACT_START_MONOTONIC, start);
	profile_set_fact_number(p, PROFILE_FACT_START_REALTIME,
				(uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

struct named_count {
	enum profile_tally_kind kind;
	const char *name;
	uint64_t count;
};

static void set_tallies(struct profile *p, const struct named_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (counts[i].count)
			profile_set_tally(p, counts[i].kind, counts[i].name, counts[i].count);
	}
}

void facts_of_end(struct profile *p, const struct sampler_counts *c, uint64_t duration,
		  uint64_t bpf_ns)
{
	uint64_t expected = MAX(c->expected, c->hits) + c->off_cpu;
	profile_set_fact_number(p, PROFILE_FACT_DURATION, duration);
	profile_set_fact_number(p, PROFILE_FACT_EVENTS_COUNTED, expected);
	if (bpf_ns)
		profile_set_fact_number(p, PROFILE_FACT_COST_KERNEL, bpf_ns);
	const struct named_count counts[] = {
		{PROFILE_SKIPPED, "idle", c->idle},
		{PROFILE_SKIPPED, "other-task", c->other_task},
		{PROFILE_LOSS, "ring-full", c->ring_full},
		/* Counted by the event, but the program was not called: a timer that came late (the
		 * host took the CPU) or was throttled. */
		{PROFILE_LOSS, "late-or-throttled", expected - c->off_cpu - c->hits},
		{PROFILE_SKIPPED, "short-wait", c->off_cpu_short},
		{PROFILE_COUNTER, "short-waits-us", c->off_cpu_short_ns / 1000},
		{PROFILE_COUNTER, "waits-lost-to-others", c->off_cpu_lost},
		{PROFILE_COUNTER, "user-stack-lost-ring-full", c->user_lost},
		{PROFILE_COUNTER, "user-stack-not-asked-table-full", c->user_not_asked},
		{PROFILE_COUNTER, "user-stack-refused-by-kernel", c->user_refused},
		{PROFILE_COUNTER, "user-stack-never-came", c->user_missing},
		{PROFILE_COUNTER, "user-stack-pending-at-end", c->user_pending},
		{PROFILE_COUNTER, "file-table-full", c->files_full},
		{PROFILE_COUNTER, "children-not-watched-table-full", c->targets_full},
		{PROFILE_COUNTER, "processor-came-unwatched-ms", c->cpu_unwatched_ns / 1000000},
		{PROFILE_COUNTER, "address-lookups", c->lookups},
		{PROFILE_COUNTER, "address-lookups-locked-out", c->lookups_busy},
		{PROFILE_COUNTER, "walks-no-room", c->walks_full},
		{PROFILE_COUNTER, "walks", c->walks},
		{PROFILE_COUNTER, "walk-frames", c->walk_frames},
		{PROFILE_COUNTER, "walk-us", c->walk_ns / 1000},
		{PROFILE_COUNTER, "walk-page-faults", c->walk_faults},
		{PROFILE_COUNTER, "walk-after-task-moved", c->walks_moved},
		{PROFILE_COUNTER, "unwinding-tables-loaded", c->tables.loaded},
		{PROFILE_COUNTER, "unwinding-tables-shared", c->tables.shared},
		{PROFILE_COUNTER, "unwinding-tables-absent", c->tables.absent},
		{PROFILE_COUNTER, "unwinding-tables-evicted", c->tables.evicted},
		{PROFILE_COUNTER, "unwinding-tables-refused", c->tables.refused},
		{PROFILE_COUNTER, "unwinding-tables-damaged", c->tables.damaged},
		{PROFILE_COUNTER, "unwinding-tables-max-bytes", c->tables.bytes_max},
		{PROFILE_COUNTER, "unwinding-tables-slowest-load-us", c->tables.load_max_ns / 1000},
	};
	set_tallies(p, counts, ARRAY_SIZE(counts));
}

void facts_of_files(struct profile *p, const struct first_sight_counts *c)
{
	const struct named_count counts[] = {
		{PROFILE_COUNTER, "files-seen", c->seen},
		{PROFILE_COUNTER, "files-executed", c->executed},
		{PROFILE_COUNTER, "files-identified", c->identified},
		{PROFILE_COUNTER, "files-not-opened", c->not_opened},
		{PROFILE_COUNTER, "symbol-tables-made", c->extracted},
		{PROFILE_COUNTER, "unwinding-tables-made", c->tables},
		{PROFILE_COUNTER, "parsers-failed", c->failed},
	};
	set_tallies(p, counts, ARRAY_SIZE(counts));
}

void facts_of_overflows(struct profile *p, uint64_t exec_notices, uint64_t undecided)
{
	const struct named_count counts[] = {
		{PROFILE_COUNTER, "exec-notices-dropped", exec_notices},
		{PROFILE_COUNTER, "addresses-not-waited-for", undecided},
	};
	set_tallies(p, counts, ARRAY_SIZE(counts));
}

void facts_of_places(struct profile *p, const struct places_counts *c, uint64_t other,
		     uint64_t lost)
{
	const struct named_count counts[] = {
		{PROFILE_SKIPPED, "other-place", other},
		{PROFILE_LOSS, "container-not-known-yet", lost},
		{PROFILE_COUNTER, "containers-seen", c->containers},
		{PROFILE_COUNTER, "containers-without-name", c->containers - c->named},
		{PROFILE_COUNTER, "container-files-unreadable", c->failed},
		{PROFILE_COUNTER, "places-full", c->full},
	};
	set_tallies(p, counts, ARRAY_SIZE(counts));
}

void facts_of_inferred(struct profile *p, const struct inferred_counts *c)
{
	const struct named_count counts[] = {
		{PROFILE_COUNTER, "code-blocks-compared", c->looks},
		{PROFILE_COUNTER, "code-blocks-equal", c->equal},
		{PROFILE_COUNTER, "code-rewritten", c->rewritten},
		{PROFILE_COUNTER, "code-blocks-forgotten", c->resets},
	};
	set_tallies(p, counts, ARRAY_SIZE(counts));
}

void facts_of_code_names(struct profile *p, const struct code_names_counts *c)
{
	const struct named_count counts[] = {
		{PROFILE_COUNTER, "perf-maps", c->maps},
		{PROFILE_COUNTER, "perf-map-readings", c->readings},
		{PROFILE_COUNTER, "perf-map-entries", c->entries},
		{PROFILE_COUNTER, "perf-map-lines-broken", c->broken},
		{PROFILE_COUNTER, "perf-maps-rewritten", c->rewritten},
		{PROFILE_COUNTER, "perf-maps-too-large", c->full},
		{PROFILE_COUNTER, "perf-maps-failed", c->failed},
		{PROFILE_COUNTER, "perf-map-frames-raced", c->raced},
		{PROFILE_COUNTER, "perf-map-processes-forgotten", c->forgotten},
	};
	set_tallies(p, counts, ARRAY_SIZE(counts));
}

static uint64_t microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

uint64_t facts_cpu_time(const struct proc *proc, uint32_t server)
{
	struct rusage own;
	uint64_t children = 0;
	proc_cpu_time(proc, server, &children);
	if (getrusage(RUSAGE_SELF, &own) < 0)
		return children;
	return children + 1000 * (microseconds(&own.ru_utime) + microseconds(&own.ru_stime));
}

void facts_of_cost(struct profile *p, const struct rusage *command, uint64_t bytes_written)
{
	struct rusage own, children;
	if (getrusage(RUSAGE_SELF, &own) < 0 || getrusage(RUSAGE_CHILDREN, &children) < 0)
		return;
	uint64_t user = microseconds(&own.ru_utime) + microseconds(&children.ru_utime) -
			microseconds(&command->ru_utime);
	uint64_t system = microseconds(&own.ru_stime) + microseconds(&children.ru_stime) -
			  microseconds(&command->ru_stime);
	profile_set_fact_number(p, PROFILE_FACT_COST_USER, user);
	profile_set_fact_number(p, PROFILE_FACT_COST_SYSTEM, system);
	profile_set_fact_number(p, PROFILE_FACT_COST_RSS, (uint64_t)own.ru_maxrss);
	profile_set_fact_number(p, PROFILE_FACT_COST_BYTES, bytes_written);
}
