/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile: what was sampled, counted and named, in memory.
 *
 * Everything that repeats is in a table once and known by its number there: strings, files, tasks,
 * cgroups, containers, events, frames, stacks. Numbers are given in order and never change, so that a recording
 * can be written as "what is new since the last second" (profile/writer.h) and read back by appending
 * (profile/reader.h). What is learned later (a file's id, a frame's name) replaces the entry's fields.
 *
 * Stacks are a tree: a stack is the number of a node, and a node is its caller's node and one frame.
 * Whole stacks hardly repeat (the leaf's address differs), their outer parts nearly always do; so a
 * new stack costs a node or two, in memory and in the file, and whoever sums over stacks visits each
 * node once. Node 0 is the empty stack; a caller's number is always lower than its callee's.
 *
 *     string  "main" 7                  frame 3  {file 1, offset 0x1149, name 7}
 *     node    4 {caller 2, frame 3}     sample   {bucket, task, cgroup, cpu, event, stack 4} count 9
 *
 * Memory: samples are dropped each time a writer has written them; tasks, frames and nodes when they
 * take more than a recorder shall hold (profile_forget()), and those that are seen again are entered
 * again under new numbers, so that a recording may last. Strings and files stay. All tables are bounded
 * (struct profile_options and PROFILE_*_MAX); once one is full, a new stack becomes a single frame with
 * the reason `evicted`, and a sample that finds no room is counted as a loss, "profile-full".
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/strings.h"

/* Frames of a stack; more are cut at the root, with a frame of the reason `cut-depth`. */
#define PROFILE_DEPTH_MAX 4096

/* Entries of a profile in all, those that the recorder has forgotten included: a file has no more. */
#define PROFILE_TASKS_MAX  (UINT32_C(64) << 20)
#define PROFILE_FRAMES_MAX (UINT32_C(16) << 20)
#define PROFILE_NODES_MAX  (UINT32_C(128) << 20)
struct profile_options {
	uint64_t bucket_ns;   /* samples closer in time than this are one; 0: 100 ms */
	uint32_t max_frames;  /* distinct frames; 0: 4 Mi, 80 bytes each */
	uint32_t max_nodes;   /* nodes of the stack tree; 0: 16 Mi, 20 bytes each */
	uint32_t max_samples; /* distinct samples between two flushes; 0: 1 Mi, 80 bytes each */
	size_t kept_bytes; /* memory of tasks, frames and nodes from which on they are forgotten; 0: 4 MiB */
};

struct profile_file {
	struct mw_file_id id; /* MW_FILE_ID_NONE as long as it is not known */
	struct mw_file_id store_id; /* what the store knows it by; while recording only */
	uint32_t path;        /* string: the label that the task saw */
	uint32_t device;      /* as struct inode_key; for people */
	uint64_t inode;
	uint8_t reason;       /* enum mw_reason: why its frames have no name, for those without their own */
};

struct profile_task {
	struct task_key key;
	uint32_t command; /* string. A thread that renames itself is another entry */
	uint32_t unused;
};

struct profile_cgroup {
	uint64_t id;
	uint32_t path; /* string, 0 as long as it is not known */
};

enum profile_container_text {
	PROFILE_CONTAINER_RUNTIME, /* "podman", "systemd", ... */
	PROFILE_CONTAINER_ID,
	PROFILE_CONTAINER_NAME,
	PROFILE_CONTAINER_IMAGE,
	PROFILE_CONTAINER_POD,
	PROFILE_CONTAINER_NAMESPACE, /* of the pod */
	PROFILE_CONTAINER_ROOTFS,
	PROFILE_CONTAINER_LAYERS,
	PROFILE_CONTAINER_N_TEXTS,
};

struct profile_container {
	uint32_t text[PROFILE_CONTAINER_N_TEXTS]; /* strings, 0 as long as they are not known */
};

/* Where a container is seen: its tasks have this cgroup and this mount namespace. */
struct profile_place {
	uint64_t mount_namespace;
	uint32_t cgroup;    /* number */
	uint32_t container; /* number */
};

struct profile_event {
	uint32_t name; /* string: "cpu-clock" */
	uint32_t unit; /* string: what a sample's value counts, "ns", "cycles" */
	uint64_t period;    /* asked for; 0 if a frequency was */
	uint64_t frequency; /* samples a second asked for; 0 if a period was */
};

/* What a frame is called, or why it has no name. */
struct profile_name {
	uint32_t name;   /* string, as the symbol table has it (mangled); 0: none */
	uint32_t module; /* string: the kernel module; 0: the kernel itself, or no kernel frame */
	uint64_t start;  /* first address of the function, in the terms of frame.address; 0 unknown */
	uint8_t reason;  /* enum mw_reason, if there is no name */
};

/*
 * Where in the source a frame is: one for each call that was inlined there, the innermost first, and
 * one for the function itself.
 */
struct profile_line {
	uint32_t name; /* string: the function that was inlined (mangled); 0: the frame's own function */
	uint32_t file; /* string: path of the source; 0: not known */
	uint32_t line; /* 0: not known */
};

#define PROFILE_LINES_MAX 64 /* of a frame; of more, the innermost ones and the function itself */

struct profile_frame {
	struct frame at;
	struct profile_name name;
	uint32_t first_line; /* in `lines` */
	uint32_t n_lines;    /* 0: not known */
	uint64_t self_count; /* samples whose leaf it is, over the whole recording */
	uint64_t self_value;
};

struct profile_node {
	uint32_t caller; /* node */
	uint32_t frame;
};

struct profile_sample {
	uint64_t bucket; /* time / bucket_ns */
	uint64_t mount_namespace;
	uint32_t task;
	uint32_t cgroup;
	uint32_t cpu;
	uint32_t event;
	uint32_t stack; /* node of the leaf */
	uint32_t unused;
	uint64_t count;
	uint64_t value;
};

/*
 * Code that was made at run time, as its process' perf map named it at some time of the recording. Only
 * what was sampled is here.
 */
struct profile_code {
	uint32_t file;	/* the memory it was in, as in the frames */
	uint32_t name;	/* string */
	uint64_t start; /* addresses */
	uint64_t end;
	uint64_t from;	/* it was there from here, at the latest, */
	uint64_t until; /* and until there, as far as is known: ns, CLOCK_MONOTONIC; 0: not known yet */
};

/* A fact about the machine or the recording: a key of below and its text. */
struct profile_fact {
	uint32_t key;   /* string */
	uint32_t value; /* string; numbers in decimal */
};

#define PROFILE_FACT_HOSTNAME	     "hostname"
#define PROFILE_FACT_KERNEL	     "kernel_release"
#define PROFILE_FACT_KERNEL_BUILD_ID "kernel_build_id" /* hex */
#define PROFILE_FACT_KERNEL_TEXT     "kernel_text"     /* hex: where its _text was */
#define PROFILE_FACT_BOOT_ID	     "boot_id"
#define PROFILE_FACT_ARCHITECTURE    "architecture"    /* as uname -m */
#define PROFILE_FACT_CPUS	     "cpus"
#define PROFILE_FACT_COMMAND_LINE    "command_line"
#define PROFILE_FACT_ENGINE	     "engine" /* "deferred" */
#define PROFILE_FACT_CALL_GRAPH	     "call_graph" /* how callers were found: "fp", "tables", "auto" */
#define PROFILE_FACT_EVENT_ASKED     "event_asked"
#define PROFILE_FACT_EVENT_USED	     "event_used"
#define PROFILE_FACT_EVENT_REMARK    "event_remark" /* why it is another one than asked for */
#define PROFILE_FACT_START_REALTIME  "start_realtime_ns"  /* since 1970 */
#define PROFILE_FACT_START_MONOTONIC "start_monotonic_ns" /* the same moment, as sample times count */
#define PROFILE_FACT_DURATION	     "duration_ns"
#define PROFILE_FACT_EVENTS_COUNTED  "events_counted" /* how often the kernel's events fired, by read() */
#define PROFILE_FACT_COST_USER	     "cost_user_us"   /* the recorder's own CPU time */
#define PROFILE_FACT_COST_SYSTEM     "cost_system_us"
#define PROFILE_FACT_COST_KERNEL     "cost_bpf_ns"    /* run time of the BPF programs, if known */
#define PROFILE_FACT_COST_RSS	     "cost_max_rss_kib"
#define PROFILE_FACT_COST_BYTES	     "cost_bytes_written"
#define PROFILE_FACT_BUCKET	     "bucket_ns" /* set by the writer */

enum profile_tally_kind {
	PROFILE_LOSS,    /* events that should be samples and are not: "ring-full" */
	PROFILE_SKIPPED, /* events that were not to become samples: "idle", "other-task" */
	PROFILE_COUNTER, /* anything else worth knowing: "files-opened" */
	PROFILE_N_TALLY_KINDS,
};

struct profile_tally {
	uint32_t name; /* string */
	uint8_t kind;  /* enum profile_tally_kind */
	uint64_t count;
};

struct profile {
	struct profile_options options; /* with the defaults filled in */
	struct strings strings;
	VEC(struct profile_file) files;
	VEC(struct profile_task) tasks;
	VEC(struct profile_cgroup) cgroups;
	VEC(struct profile_container) containers;
	VEC(struct profile_place) places;
	VEC(struct profile_event) events;
	VEC(struct profile_frame) frames;
	VEC(struct profile_line) lines; /* of frames; those that were replaced stay */
	VEC(struct profile_node) nodes;
	VEC(struct profile_sample) samples;
	VEC(struct profile_code) codes;
	VEC(struct profile_fact) facts;
	VEC(struct profile_tally) tallies;

	/*
	 * Entries that were dropped after writing. Numbers in these tables count what is there, the
	 * file's all that ever was; node 0 is always there.
	 */
	uint32_t forgotten_tasks;
	uint32_t forgotten_frames;
	uint32_t forgotten_nodes;

	uint64_t total_count; /* of all samples ever added, also those dropped after writing */
	uint64_t total_value;
	uint64_t last_time;   /* of the latest sample */

	/* Set by the reader. */
	uint64_t unknown_references; /* numbers that point into a part that is missing */
	char *damage; /* owned; what could not be read of a file cut short or damaged, or NULL */

	/* What changed behind the tables' ends, for the writer, who empties it. */
	VEC(uint32_t) changed_files;
	VEC(uint32_t) changed_cgroups;
	VEC(uint32_t) changed_containers;
	VEC(uint32_t) changed_places;
	VEC(uint32_t) changed_names; /* frames */
	VEC(uint32_t) changed_lines; /* frames */
	VEC(uint32_t) changed_codes;
	bool changed_facts;          /* or tallies */

	bool read_only; /* came from a file: no more samples; names, facts and files still may change */
	struct hash_index task_index;
	struct hash_index cgroup_index;
	struct hash_index place_index;
	struct hash_index frame_index;
	struct hash_index node_index;
	struct hash_index sample_index;
};

/* options may be NULL. */
int profile_new(const struct profile_options *options, struct profile **ret);
void profile_free(struct profile *p);
DEFINE_CLEANUP(struct profile *, profile_free)

int profile_add_string(struct profile *p, const char *text, uint32_t *ret);
const char *profile_string(const struct profile *p, uint32_t number);

/* A new entry each time: telling files apart is the business of whoever numbers them. path may be NULL. */
int profile_add_file(struct profile *p, const char *path, uint32_t device, uint64_t inode,
		     uint32_t *ret);
/* What became known of a file: its id, or the reason why there is none. id may be NULL. -ENOENT. */
int profile_set_file(struct profile *p, uint32_t file, const struct mw_file_id *id,
		     enum mw_reason reason);
/* The label of a file, where it became known after the file. -ENOENT, -ENOMEM. */
int profile_set_path(struct profile *p, uint32_t file, const char *path);
/* Under which id the store has what belongs to a file. -ENOENT. */
int profile_set_store_id(struct profile *p, uint32_t file, const struct mw_file_id *id);
int profile_add_event(struct profile *p, const char *name, const char *unit, uint64_t period,
		      uint64_t frequency, uint32_t *ret);
/* The path of a cgroup; before or after its first sample. */
int profile_set_cgroup(struct profile *p, uint64_t id, const char *path);
/* The number of a cgroup, given if it is new. */
int profile_intern_cgroup(struct profile *p, uint64_t id, uint32_t *ret);
/* A new entry each time. Texts are by enum profile_container_text; NULL is not known. */
int profile_add_container(struct profile *p, const char *const *texts, uint32_t *ret);
/* What became known of a container. -ENOENT. */
int profile_set_container(struct profile *p, uint32_t container, const char *const *texts);
/* Whose the tasks of a cgroup (by id) and a mount namespace are; the last word counts. -ENOENT. */
int profile_set_place(struct profile *p, uint64_t cgroup, uint64_t mount_namespace,
		      uint32_t container);
/* The same by numbers, which exist. */
int profile_put_place(struct profile *p, const struct profile_place *place);
/* A new entry each time; what became known of it later. -ENOENT, -ENOMEM. */
int profile_add_code(struct profile *p, const struct profile_code *code, uint32_t *ret);
int profile_set_code(struct profile *p, uint32_t number, const struct profile_code *code);
/* The name of a frame, or the reason. name and module may be NULL. -ENOENT. */
int profile_set_name(struct profile *p, uint32_t frame, const char *name, const char *module,
		     uint64_t start, enum mw_reason reason);
/*
 * Where a frame is in the source, PROFILE_LINES_MAX lines at most; their texts are strings of this
 * profile. Nothing happens if they are known already. -ENOENT, -ENOMEM.
 */
int profile_set_lines(struct profile *p, uint32_t frame, const struct profile_line *lines, size_t n);
int profile_set_fact(struct profile *p, const char *key, const char *value);
int profile_set_fact_number(struct profile *p, const char *key, uint64_t value);
int profile_set_tally(struct profile *p, enum profile_tally_kind kind, const char *name,
		      uint64_t count);

/*
 * Adds a sample. Its file numbers and its event number are those of this profile. Each frame that was
 * not known gets the next number: whoever names frames looks at those from the last count on.
 * Returns 1, 0 if it was counted as lost because a table is full, -EINVAL if a file or event number
 * does not exist, -EROFS for a profile that was read from a file, -ENOMEM.
 */
int profile_add_sample(struct profile *p, const struct sample *sample);
/* Forgets the samples (after they were written). Totals and everything interned stay. */
void profile_drop_samples(struct profile *p);
/* By how much tasks, frames and nodes exceed options.kept_bytes: 1 from there on, 2 from twice that on. 0
 * below, and where the file has no room to begin anew. */
int profile_is_large(const struct profile *p);
/* Forgets tasks, frames and nodes, which were written; there must be no samples. */
void profile_forget(struct profile *p);

/* Whose container a sample is from; NULL if it is none's. */
const struct profile_container *profile_container_of(const struct profile *p,
						     const struct profile_sample *sample);
/* NULL if unknown. */
const char *profile_fact(const struct profile *p, const char *key);
/* missing if unknown or no number. */
uint64_t profile_fact_number(const struct profile *p, const char *key, uint64_t missing);
uint64_t profile_tally_sum(const struct profile *p, enum profile_tally_kind kind);

/* Why this frame has no name; MW_REASON_NONE if it has one. Never NONE without a name. */
enum mw_reason profile_frame_reason(const struct profile *p, const struct profile_frame *f);
/*
 * The frames of a stack, leaf first, up to max; the number of frames of the whole stack, which is
 * PROFILE_DEPTH_MAX at most.
 */
size_t profile_stack_frames(const struct profile *p, uint32_t stack, uint32_t *frames, size_t max);

#endif
