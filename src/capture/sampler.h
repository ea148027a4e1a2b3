/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sampling with eBPF: loads an engine's programs, chooses whom they watch, and delivers whole samples
 * and first sights of files, in the caller's thread, from sampler_dispatch().
 *
 * File numbers in samples are this object's; each is announced by a sighting before the first sample
 * that uses it. The immediate engine leaves addresses that it could not convert to the receiver: as
 * FRAME_RAW without a reason.
 */
#ifndef CAPTURE_SAMPLER_H
#define CAPTURE_SAMPLER_H

#include "base/frame.h"
#include "base/log.h"
#include "capture/event.h"
#include "capture/tables.h"

struct engine;
struct sampler;

#define SAMPLER_CGROUPS_MAX 8

enum sampler_walk {
	SAMPLER_FRAME_POINTERS,
	SAMPLER_TABLES, /* where there is no table a stack ends */
	SAMPLER_AUTO,	/* there it goes on by frame pointers */
};

struct sampler_options {
	size_t size; /* of this struct, for those who come later */
	const struct engine *engine;
	const struct event *events; /* must outlive the sampler */
	size_t n_events;
	bool all_tasks;     /* else: those of sampler_add_*() and their future children */
	uint64_t cgroups[SAMPLER_CGROUPS_MAX]; /* ids in the unified hierarchy: tasks in them, or below, */
	size_t n_cgroups;                      /* are targets too */
	bool count_idle;    /* idle CPUs give samples too */
	bool callers;       /* whole stacks, not only leaves */
	uint32_t max_frames; /* of each part of a stack; 0: as many as there can be: 127 in the kernel and by
			      * frame pointers, 1024 by tables */
	enum sampler_walk walk; /* how callers are found in user space */
	uint64_t off_cpu_min; /* ns: shorter waits are counted, and are no samples */
	uint64_t unwind_memory; /* bytes that tables may take in the kernel; 0: TABLES_LIMIT */
	uint32_t ring_size; /* bytes, a power of two; 0: 8 MiB */
	const struct log *log;
};

/*
 * A file that was not seen before: in this state (deferred engine, which knows its inode), or with
 * this build ID (immediate engine, which knows no more).
 */
struct file_sighting {
	uint32_t number;
	uint32_t pid;        /* who was seen with it, */
	uint32_t tid;
	uint64_t start_time; /* of the process, ns since boot */
	struct mw_file_id id; /* MW_FILE_ID_GNU_PADDED, or NONE: the file is known by its key */

	struct inode_key key;
	uint64_t magic;     /* of the file system, as statfs(2) gives it */
	uint64_t map_start; /* where it was mapped */
	uint64_t map_end;
	const char *name;   /* last component of its name, for people; valid during the call, */
	const char *path;   /* as is its path inside its file system; "" if that is too long */
	uint64_t mount_namespace; /* of the task, 0 unknown, */
	uint64_t root_inode;	  /* and its root directory */
	uint32_t root_device;
	bool is_program; /* what the process runs: nobody can write to it meanwhile */

	uint32_t exec_count; /* with an id: of the process, as in struct task_key; */
	uint64_t image;     /* as in struct sample; */
	uint64_t address;   /* an address in it where the file was mapped */
};

/* The vdso's number: it is never announced, since everybody has it. */
#define SAMPLER_FILE_VDSO 1

struct sampler_handler {
	void *data;
	/* Negative ends the dispatch, which returns it. */
	int (*on_sample)(void *data, const struct sample *sample);
	int (*on_file)(void *data, const struct file_sighting *sighting);
	/* The unwinding table of a file number is wanted: answer with sampler_supply() once it is known.
	 * Told once until then, and again when it was evicted. May be NULL if none are walked by. */
	int (*on_table_wanted)(void *data, uint32_t number);
};

/* Everything that was counted; what is lost is named so. */
struct sampler_counts {
	uint64_t expected;   /* calls of the program by what the events counted; 0: not known */
	uint64_t hits;       /* calls */
	uint64_t idle;       /* ... on an idle CPU */
	uint64_t other_task; /* ... in tasks that are no targets */
	uint64_t samples;    /* ... that gave a sample */
	uint64_t ring_full;  /* ... that were lost: the ring was full */
	uint64_t user_lost;       /* user parts lost: the ring was full */
	uint64_t user_not_asked;  /* user parts not asked for: too many under way */
	uint64_t user_refused;    /* ... the kernel refused */
	uint64_t user_missing;    /* samples that waited in vain for their user part */
	uint64_t user_pending;    /* user parts still under way at the end */
	uint64_t files_full;      /* frames without their file: too many files */
	uint64_t targets_full;    /* children of targets that are not watched: too many */
	uint64_t lookups;         /* addresses asked for in address spaces */
	uint64_t lookups_busy;    /* ... that found it locked at each try */
	uint64_t cpu_unwatched_ns; /* time, at most, in which CPUs that had come were not sampled yet */
	uint64_t walks_full;      /* user parts without callers: too many were walked at once */
	uint64_t walks;           /* user parts walked by tables, */
	uint64_t walk_frames;     /* their frames, */
	uint64_t walk_ns;         /* time in all task works, with what they had to wait for */
	uint64_t walk_faults;     /* words of stacks that had to be brought into memory, */
	uint64_t walks_moved;     /* tasks that had run on since the sample */
	uint64_t off_cpu;         /* waits that ended, */
	uint64_t off_cpu_short;   /* too soon to become a sample, */
	uint64_t off_cpu_short_ns; /* and their time; */
	uint64_t off_cpu_lost;    /* waits that were lost to others */
	struct tables_counts tables;
};

/* Loads everything; nothing runs yet. */
int sampler_open(const struct sampler_options *options, const struct sampler_handler *handler,
		 struct sampler **ret, struct mw_error *e);
void sampler_free(struct sampler *sampler);

/* Targets; before or after the start. */
int sampler_add_process(struct sampler *sampler, uint32_t pid, struct mw_error *e);
int sampler_add_thread(struct sampler *sampler, uint32_t tid, struct mw_error *e);
/* A process that becomes a target at its next exec. */
int sampler_add_after_exec(struct sampler *sampler, uint32_t pid, struct mw_error *e);

int sampler_start(struct sampler *sampler, struct mw_error *e);
/* Readable when a new file was seen or the ring fills up; dispatch ten times a second otherwise. */
int sampler_fd(const struct sampler *sampler);
/* Delivers what is there. 0 or what a handler returned. */
int sampler_dispatch(struct sampler *sampler);
/* Once a second: follows CPUs that come and go, makes room for new files. */
void sampler_refresh(struct sampler *sampler);
/* Ten times a second: follows CPUs that the kernel says went or came. */
void sampler_follow_cpus(struct sampler *sampler);
/* No samples until it is called again with false. */
void sampler_pause(struct sampler *sampler, bool pause);
/* From now on the rate is the one asked for divided by this. */
void sampler_set_divisor(struct sampler *sampler, unsigned divisor);
/*
 * Immediate engine: a build ID does not tell which file it was. Frames in files that have it come as
 * addresses from now on.
 */
void sampler_ask_for_addresses(struct sampler *sampler, const struct mw_file_id *id);
/* The file will be announced again at its next sample: opening it failed, another task may help. */
void sampler_forget_file(struct sampler *sampler, const struct inode_key *key,
			 const struct mw_file_id *id);
/*
 * A number for a file that was not sampled yet: it will not be announced, and its table can be there
 * before its first sample. 0: the file has one already, there is no room, or the engine knows none.
 */
uint32_t sampler_reserve_file(struct sampler *sampler, const struct inode_key *key);
/* The table of a file number, as tables_supply() says; the answer to on_table_wanted(), or before it. */
int sampler_supply(struct sampler *sampler, uint32_t number, const struct mw_file_id *id, int fd);
/* Stops the events and delivers what is left. Counts are final then. */
int sampler_stop(struct sampler *sampler);

void sampler_get_counts(struct sampler *sampler, struct sampler_counts *ret);
/* Time spent in our BPF programs, ns; 0 if the kernel does not count it (kernel.bpf_stats_enabled). */
uint64_t sampler_run_time(const struct sampler *sampler);

#endif
