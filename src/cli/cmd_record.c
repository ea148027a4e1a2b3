/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/recorder.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/message.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unistd.h>

/* The recorder's options, and what the command line alone knows. */
struct arguments {
	struct record_options record;
	struct option_numbers pids;
	struct option_numbers tids;
	struct option_texts events;
	struct option_texts containers;
	struct option_texts cgroups;
	bool call_graph; /* -g */
	bool quiet;
};

#define DEFAULT_FREQUENCY 99

#define CALL_GRAPH_DWARF (RECORD_TABLES + 1)

static const struct option_choice call_graphs[] = {
	[RECORD_LEAF_ONLY] = {"none", "only the function that was running"},
	[RECORD_FRAME_POINTERS] = {"fp", "callers by frame pointers"},
	[RECORD_AUTO] = {"auto", "callers by unwinding tables, by frame pointers where there is none"},
	[RECORD_TABLES] = {"tables", "callers by unwinding tables alone"},
	[CALL_GRAPH_DWARF] = {"dwarf", "perf's name for what tables does"},
	{},
};

static const struct option_choice engines[] = {
	[RECORD_ENGINE_AUTO] = {"auto", "the best that the kernel offers"},
	[RECORD_ENGINE_DEFERRED] = {"deferred", "exact, in task work (Linux 6.18)"},
	[RECORD_ENGINE_IMMEDIATE] = {"immediate", "at the sample, by build IDs (Linux 5.15)"},
	{},
};

static const struct option_choice events[] = {
	{"cycles", NULL},           {"cpu-clock", NULL},     {"task-clock", NULL},
	{"instructions", NULL},     {"page-faults", NULL},   {"context-switches", NULL},
	{"cpu-migrations", NULL},   {"minor-faults", NULL},  {"major-faults", NULL},
	{"cache-misses", NULL},     {"cache-references", NULL}, {"branches", NULL},
	{"branch-misses", NULL},    {"off-cpu", NULL},       {},
};

#define AT(field) .offset = offsetof(struct arguments, field)

static const struct option_spec options[] = {
	{OPTION_FLAG, 'a', "all-cpus", AT(record.all_cpus), .group = "What to record",
	 .help = "The whole machine, every process on every CPU."},
	{OPTION_NUMBERS, 'p', "pid", "LIST", AT(pids), .min = 1, .complete = COMPLETE_PROCESSES,
	 .help = "These processes and the children they will have."},
	{OPTION_NUMBERS, 't', "tid", "LIST", AT(tids), .min = 1, .complete = COMPLETE_PROCESSES,
	 .help = "These threads and the children they will have."},
	{OPTION_TEXTS, 0, "container", "NAME", AT(containers),
	 .help = "These containers, those that run and those that start while recording: by name, by at least "
		 "four digits of the id, or as RUNTIME:NAME (podman:web). A unit of systemd is one too."},
	{OPTION_TEXTS, 0, "cgroup", "PATH", AT(cgroups), .complete = COMPLETE_DIRECTORIES,
	 .help = "What runs in these control groups and below them: a directory in /sys/fs/cgroup, or a path "
		 "in a hierarchy."},
	{OPTION_TIME, 0, "duration", "TIME", AT(record.duration), .min = 1000000,
	 .help = "Stop after this time (10, 10s, 500ms, 2m). Without it: when the command has ended, or "
		 "at the first ^C."},
	{OPTION_TEXT, 0, "proc", "DIR", AT(record.proc), .complete = COMPLETE_DIRECTORIES,
	 .help = "The /proc of the machine, where mapwright runs in a container that has it elsewhere. -p and -t take "
		 "the numbers that it shows. Default: /proc."},
	{OPTION_TEXT, 0, "control", "WHERE", AT(record.control),
	 .help = "Take orders while recording, as perf does: enable, disable, stop and ping, a line each, from "
		 "fifo:ORDERS[,ANSWERS] or fd:N[,M]; each is answered with ack."},
	{OPTION_FLAG, 0, "idle", AT(record.idle),
	 .help = "Count the time too in which a CPU had nothing to do."},

	{OPTION_TEXTS, 'e', "event", "EVENT", AT(events), .choices = events, .group = "How to sample",
	 .help = "What to count, by perf's names (cycles, cpu-clock, page-faults ...), or off-cpu: the time "
		 "that tasks waited, by where they did. The default is cycles, and cpu-clock where the machine has no "
		 "counters for it."},
	{OPTION_TIME, 0, "off-cpu-min", "TIME", AT(record.off_cpu_min), .min = 0,
	 .help = "For -e off-cpu, the time that tasks were blocked: shorter waits than this are added up, and are no "
		 "samples. Default: 1ms."},
	{OPTION_NUMBER, 'F', "freq", "HZ", AT(record.frequency), .min = 1, .max = 100000,
	 .help = "Samples a second on each CPU that works. Default: 99."},
	{OPTION_NUMBER, 'c', "count", "N", AT(record.count), .min = 1,
	 .help = "Instead of -F: one sample each N events."},
	{OPTION_FLAG, 'g', NULL, AT(call_graph),
	 .help = "Record the callers too; the same as --call-graph auto."},
	{OPTION_CHOICE, 0, "call-graph", "HOW", AT(record.call_graph), .choices = call_graphs,
	 .help = "How callers are found in a program: auto (by the unwinding tables that its files carry, by frame "
		 "pointers in code that has none), tables (a stack ends where there is no table), fp (frame "
		 "pointers alone, which most programs do not keep) or none. dwarf is taken for tables."},
	{OPTION_NUMBER, 0, "max-stack", "N", AT(record.max_stack), .min = 1, .max = 1024,
	 .help = "Frames of a stack that are kept, in the kernel and in the program each. Default: 1024; the kernel "
		 "itself, and frame pointers, give 127 at most."},
	{OPTION_BYTES, 0, "unwind-memory", "SIZE", AT(record.unwind_memory), .min = 1 << 20, .unit = 1,
	 .help = "What unwinding tables may take in the kernel (64M, 1G). The one that was not used for the longest "
		 "time goes first. Default: 256M."},
	{OPTION_CHOICE, 0, "engine", "NAME", AT(record.engine), .choices = engines,
	 .help = "How addresses become files: deferred (in task work, exactly; Linux 6.18), immediate (at "
		 "the sample, by build IDs; Linux 5.15), or auto, the best that the kernel offers."},
	{OPTION_BYTES, 'm', "ring-size", "SIZE", AT(record.ring_size), .min = 64 << 10, .max = 1 << 30,
	 .unit = 4096,
	 .help = "Room for samples on their way out of the kernel (8M; a bare number counts pages of 4 KiB). "
		 "Default: 2M for each CPU, from 4M to 8M. A larger one loses less where the machine is overloaded."},

	{OPTION_PERCENT, 0, "max-overhead", "PERCENT", AT(record.max_overhead),
	 .help = "Take fewer samples when recording, with what it does in the kernel, costs more than this part "
		 "of the machine (1%). The report says so. Default: no limit."},

	{OPTION_TEXT, 'o', "output", "FILE", AT(record.output), .complete = COMPLETE_FILES,
	 .group = "What to write", .help = "The profile. Default: mapwright.mwp."},
	{OPTION_TEXT, 0, "store", "DIR", AT(record.store), .complete = COMPLETE_DIRECTORIES,
	 .help = "Where symbols of the files seen are kept. Default: /var/cache/mapwright for root, "
		 "~/.cache/mapwright for others."},
	{OPTION_BYTES, 0, "store-size", "SIZE", AT(record.store_size), .min = 64 << 10,
	 .help = "What the store may take on disk (500M, 4G); the symbols that were not used for the longest time go "
		 "first. Default: 2G."},
	{OPTION_TIME, 0, "symbolize-budget", "TIME", AT(record.symbolize_budget),
	 .help = "How long to read source lines and inlined calls of the hottest files at the end, from their "
		 "debug information (2s, 0). What was read stays in the store. Default: 1s."},
	{OPTION_TIME, 0, "bucket", "TIME", AT(record.bucket), .min = 1000000,
	 .help = "How finely the profile tells times apart. Default: 100ms."},
	{OPTION_FLAG, 'q', "quiet", AT(quiet), .help = "No progress, no summary; only what went wrong."},
	{},
};

static const struct arguments defaults = {
	.record = {
		.frequency = 0,
		.max_stack = 1024,
		.engine = RECORD_ENGINE_AUTO,
		.bucket = 100000000,
		.off_cpu_min = 1000000,
		.symbolize_budget = 1000000000,
		.output = "mapwright.mwp",
	},
};

static const char *const description[] = {
	"Samples what runs, and writes a profile in which each sample has the file it was in (by content, "
	"not by path), the function, and its callers with -g. Programs in chroots, containers and private "
	"mounts, unlinked and replaced files and processes that end before the recording does are named "
	"like all others; what has no name has a reason.",
	"With a command, recording lasts until the command has ended, and mapwright ends with the "
	"command's exit status. Without -a, -p or -t the command itself is recorded, from its exec on, with "
	"its children.",
	"The first ^C (or SIGTERM) ends the recording and writes the profile; a second one aborts. Should "
	"the recorder be killed, the profile still opens and lacks at most the last two seconds.",
	"Recording needs root. What the kernel offers for it is shown by mapwright doctor.",
	NULL,
};

static const struct command_example examples[] = {
	{"mapwright record -a -g -- make -j2", "the whole machine, while make runs"},
	{"mapwright record -a --duration 10", "the whole machine for ten seconds"},
	{"mapwright record -g -p 812,977 -F 999", "two processes, until ^C"},
	{"mapwright record -g --container web --duration 1m", "one container, wherever its processes come from"},
	{"mapwright record -g ./server --port 80", "one program from its start"},
	{},
};

struct listener {
	struct invocation *in;
	bool quiet;
	char hint[256]; /* about the failure, printed below it */
};

static void on_notice(void *data, const char *text, const char *hint)
{
	struct listener *l = data;
	if (l->quiet)
		return;
	progress_clear(&l->in->progress);
	message_note("%s", text);
	if (hint)
		message_hint("%s", hint);
}

static void on_hint(void *data, const char *text)
{
	struct listener *l = data;
	snprintf(l->hint, sizeof l->hint, "%s", text);
}

static void on_progress(void *data, const char *line)
{
	struct listener *l = data;
	progress_show(&l->in->progress, line);
}

/* It is mapped twice, and so counts twice as memory of ours once it has been filled. */
static uint64_t default_ring_size(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	return (uint64_t)MAX(2, MIN(cpus, 4)) * 2 << 20;
}

/* What the table cannot see: options that exclude or need each other. EXIT_DONE or EXIT_MISUSE. */
static int complete(struct invocation *in, struct arguments *a)
{
	struct record_options *r = &a->record;
	if (r->frequency && r->count)
		return command_misuse(in->command, "-F and -c exclude each other");
	if (r->all_cpus && (a->pids.n || a->tids.n))
		return command_misuse(in->command, "-a and -p or -t exclude each other");
	if (a->containers.n && a->cgroups.n)
		return command_misuse(in->command, "--container and --cgroup exclude each other");
	if ((a->containers.n || a->cgroups.n) && (a->pids.n || a->tids.n))
		return command_misuse(in->command, "--container and --cgroup exclude -p and -t");
	if (!r->all_cpus && !a->pids.n && !a->tids.n && !a->containers.n && !a->cgroups.n && !in->argc)
		return command_misuse(in->command, "nothing to record: say -a, -p PID, -t TID, "
						   "--container, --cgroup or a command to run");
	if (strcmp(r->output, "-") == 0)
		return command_misuse(in->command, "-o -: a profile is written in many places of its file, and "
						   "cannot go to standard output; ./- is a file of that name");
	if (a->containers.n || a->cgroups.n) /* of the whole machine, only these */
		r->all_cpus = false;
	if (!r->frequency && !r->count)
		r->frequency = DEFAULT_FREQUENCY;
	if (a->call_graph && r->call_graph == RECORD_LEAF_ONLY)
		r->call_graph = RECORD_AUTO;
	if ((int)r->call_graph == CALL_GRAPH_DWARF)
		r->call_graph = RECORD_TABLES;
	if (!r->ring_size)
		r->ring_size = default_ring_size();
	while (r->ring_size & (r->ring_size - 1)) /* up to a power of two, like perf */
		r->ring_size += r->ring_size & -r->ring_size;
	r->pids = a->pids.items;
	r->n_pids = a->pids.n;
	r->tids = a->tids.items;
	r->n_tids = a->tids.n;
	r->containers = (const char *const *)a->containers.items;
	r->n_containers = a->containers.n;
	r->cgroups = (const char *const *)a->cgroups.items;
	r->n_cgroups = a->cgroups.n;
	r->events = (const char *const *)a->events.items;
	r->n_events = a->events.n;
	r->command = in->argc ? in->argv : NULL;
	return EXIT_DONE;
}

static int run(struct invocation *in, void *values)
{
	struct arguments *a = values;
	int status = complete(in, a);
	if (status != EXIT_DONE)
		return status;
	in->progress = progress_init(STDERR_FILENO, a->quiet);
	struct listener l = {.in = in, .quiet = a->quiet};
	const struct record_listener listener = {&l, on_notice, on_hint, on_progress};
	a->record.listener = &listener;
	a->record.log = &in->log;

	struct mw_error e = {};
	status = record_run(&a->record, &e);
	progress_clear(&in->progress);
	if (status >= 0)
		return status;
	message_failure(&e, l.hint[0] ? l.hint : NULL);
	return EXIT_FAILED;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "Record what runs, into a profile",
	.usage = "[-a | -p LIST | -t LIST] [--] [COMMAND [ARGUMENT...]]",
	.description = description,
	.options = options,
	.examples = examples,
	.defaults = &defaults,
	.options_size = sizeof(struct arguments),
	.max_arguments = -1,
	.runs_program = true,
	.complete = COMPLETE_PROGRAMS,
	.run = run,
};
