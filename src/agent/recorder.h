/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One recording from start to end: targets, sampler, first sight, profile file.
 *
 * The recorder never prints. What people should see while it runs goes through the listener; why it
 * failed is in the error.
 */
#ifndef AGENT_RECORDER_H
#define AGENT_RECORDER_H

#include "base/log.h"

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_call_graph {
	RECORD_LEAF_ONLY,
	RECORD_FRAME_POINTERS,
	RECORD_AUTO, /* by unwinding tables; by frame pointers where there is none, or no engine for them */
	RECORD_TABLES,
};

enum record_engine {
	RECORD_ENGINE_AUTO, /* the best that the kernel offers */
	RECORD_ENGINE_DEFERRED,
	RECORD_ENGINE_IMMEDIATE,
};

/* Who hears about a recording while it runs. Any function may be NULL. */
struct record_listener {
	void *data;
	/* Something people must know (a fallback, a part that is missing); hint may be NULL. */
	void (*notice)(void *data, const char *text, const char *hint);
	/* What can be done about the failure that record_run() is about to return. */
	void (*hint)(void *data, const char *text);
	/* The state now, in one line; replaces the one before. */
	void (*progress)(void *data, const char *line);
};

struct record_options {
	/*
	 * The targets: the whole machine, or tasks with their future children, or, if there is
	 * neither, the command from its exec on. With other targets the command only says how long.
	 */
	bool all_cpus;
	const uint32_t *pids;
	size_t n_pids;
	const uint32_t *tids;
	size_t n_tids;
	/* Containers, running ones and those to come: by name, id or RUNTIME:NAME. */
	const char *const *containers;
	size_t n_containers;
	/* Cgroups: directories of a hierarchy, or paths in one. Not together with containers. */
	const char *const *cgroups;
	size_t n_cgroups;
	char *const *command; /* ends in NULL; NULL if there is none */

	const char *const *events; /* perf's names; none: cycles, or cpu-clock without a PMU */
	size_t n_events;
	uint64_t frequency; /* samples a second on each CPU; 0 if `count` is set */
	uint64_t count;     /* one sample each so many events; 0 if `frequency` is set */
	uint64_t off_cpu_min; /* ns: shorter waits are no samples of the event off-cpu */
	enum record_call_graph call_graph;
	uint64_t max_stack; /* frames of each kind (kernel, user) */
	uint64_t unwind_memory; /* bytes that unwinding tables may take in the kernel; 0: 256 MiB */
	bool idle;          /* count the idle task too */
	enum record_engine engine;
	uint64_t ring_size; /* bytes, a power of two */
	double max_overhead; /* percent of the machine that recording may cost; 0: no limit */

	const char *proc;    /* where the /proc of the initial PID namespace is; NULL: /proc */
	const char *control; /* where orders come from, see agent/control.h; NULL: nowhere */
	uint64_t duration;  /* ns; 0: until interrupted or the command has ended */
	uint64_t bucket;    /* ns of one time bucket */
	const char *output; /* the profile file */
	const char *store;  /* the store's directory; NULL: the user's */
	uint64_t symbolize_budget; /* ns for source lines at the end; 0: only what the store has */
	uint64_t store_size; /* bytes that it may have; 0: 2 GiB */

	const struct log *log;
	const struct record_listener *listener;
};

/*
 * Records until the duration is over, the command has ended or SIGINT came; a second SIGINT aborts.
 * Returns the exit status to end with (the command's own, 128 + signal if it was killed, 0 without a
 * command), or -errno with the cause in *e.
 */
int record_run(const struct record_options *options, struct mw_error *e);

#endif
