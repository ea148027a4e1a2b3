/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of code that was made at run time, from the perf maps that its processes write.
 *
 * At the first sample in memory without a file, the process' map is looked for
 * (content/perf_map_file.h), and from then on looked at whenever a sample asks, each tenth of a
 * second, and once more when the process is gone. A child reads what is new in it. A sample gets a
 * name only if the map surely had it at the sample (symbols/code_timeline.h): maps change, and the
 * same place has one function now and another one then. The file's own times help: what was last
 * written before a sample was the same at the sample.
 *
 * Between two looks that is not sure. But runtimes announce code as soon as it is made, and the
 * kernel side sums up the bytes at each sample (bpf/code_check.h): if a function is announced
 * within a second after a sample in it, nothing else was ever announced there, and the bytes are
 * those of samples that are surely in it, then the sample is in it, too. What stays unsure is
 * `raced`.
 *
 * A frame that has a name says so by its file number and address. So where an address has another
 * name later, its frames get the number of another entry for the same memory.
 *
 * Bounds: processes, entries and bytes of a map, all maps; what has no room is `evicted`. A map
 * that is larger than it may be is given up.
 */
#ifndef AGENT_CODE_NAMES_H
#define AGENT_CODE_NAMES_H

#include "base/log.h"
#include "base/run.h"
#include "proc/proc.h"
#include "profile/profile.h"

struct code_names;

/* The job of the fork server that this needs, and the mark of its tickets. */
extern const struct run_job code_names_job;
#define CODE_NAMES_TICKET (UINT64_C(1) << 61)

struct code_names_options {
	struct profile *profile;
	const struct proc *proc;
	struct run_server *server;
	size_t job; /* the number of code_names_job there */
	const struct log *log;
};

/* Borrows everything in the options. */
int code_names_new(const struct code_names_options *options, struct code_names **ret);
void code_names_free(struct code_names *names);

/*
 * Decides about a frame with the profile's numbers that is in memory without a file; every other
 * frame is left alone. check: what its bytes were at the sample, 0 unknown. 1: it is decided, 0:
 * not yet, which no call with is_last_time says; or -ENOMEM.
 */
int code_names_decide(struct code_names *names, const struct sample *sample, uint32_t check,
		      bool is_last_time, struct frame *frame);
/* To be called each tick. 0 or -ENOMEM. */
int code_names_tick(struct code_names *names);
/* A result of the fork server whose ticket has our mark. 0 or -ENOMEM. */
int code_names_take_result(struct code_names *names, const struct run_result *result);
/* No more samples come: what was valid until when goes into the profile. 0 or -ENOMEM. */
int code_names_finish(struct code_names *names);

/* The name of a frame that was decided: its number in profile->codes, UINT32_MAX if it has none. */
uint32_t code_names_find(const struct code_names *names, const struct frame *frame);

/* The profile has forgotten its frames, all of which had their names. */
void code_names_forget(struct code_names *names);

struct code_names_counts {
	uint64_t maps; /* processes with one */
	uint64_t readings;
	uint64_t entries;
	uint64_t broken;    /* lines that made no sense */
	uint64_t rewritten; /* maps that were written anew */
	uint64_t full;	    /* ... that were larger than there is room for */
	uint64_t failed;    /* readings that failed */
	uint64_t raced;	    /* frames that may have had another name */
	uint64_t forgotten; /* processes for lack of room */
};
struct code_names_counts code_names_get_counts(const struct code_names *names);

#endif
