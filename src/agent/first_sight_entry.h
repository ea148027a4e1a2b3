/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of first sight share: first_sight.c sees and opens, first_sight_queue.c gives each file
 * its turn, first_sight_work.c has it identified and its names made, first_sight_tables.c its unwinding
 * table.
 */
#ifndef AGENT_FIRST_SIGHT_ENTRY_H
#define AGENT_FIRST_SIGHT_ENTRY_H

#include "agent/contents.h"
#include "agent/first_sight.h"
#include "base/hash.h"
#include "content/content.h"
#include "content/slow_file.h"
#include "elf/identity.h"

#define NO_ENTRY UINT32_MAX
#define NO_FILE	 UINT32_MAX

enum state {
	STATE_WAITING,	   /* not open yet: too many are */
	STATE_OPEN,	   /* open, not handed over yet: the server is busy */
	STATE_IDENTIFYING, /* a child looks who it is */
	STATE_IDENTIFIED,  /* its table or names are to be made, not handed over yet */
	STATE_UNWINDING,   /* a child writes its unwinding table */
	STATE_EXTRACTING,  /* a child writes its names */
	STATE_SLOW,	   /* to be copied by a process of its own */
	STATE_COPYING,	   /* that process runs */
	STATE_IN_STORE,	   /* could not be opened, but the store may come to know its build ID */
	STATE_TWIN,	   /* could not be opened, but is the same content as another entry */
	STATE_DONE,
	STATE_FAILED,
};

enum table_state {
	TABLE_UNDECIDED,
	TABLE_IN_STORE,
	TABLE_ABSENT, /* the file has none, or it could not be made */
};

struct entry {
	struct sight_key key;
	enum state state;
	enum table_state table;
	bool has_names;	       /* the store knows its names, or that it has none */
	uint32_t sampler_number; /* the last one that it was announced under, or that was reserved; 0: none */
	bool is_reserved;      /* it was never announced */
	char *label;	       /* owned, of a file that was not sampled yet; NULL: not known */
	uint8_t tries;	       /* to open it */
	uint64_t looks_until;  /* STATE_IN_STORE: CLOCK_MONOTONIC */
	bool identity_only;    /* nobody asked for its names */
	uint64_t settled_at;   /* CLOCK_MONOTONIC: samples before may be of a content that is gone */
	bool was_executed;     /* seen at an exec: nobody can write to it while it runs */
	uint32_t twin;	       /* STATE_TWIN: the other entry */
	uint32_t profile_file; /* NO_FILE as long as no sample was in it */
	struct mw_file_id id;  /* once it is identified, */
	struct mw_file_id store_id; /* and what the store knows it by */
	enum mw_reason reason; /* STATE_FAILED */
	struct file_request request; /* name is not kept */
	struct pin *pin;	     /* owned, while open */
	struct elf_identity *identity; /* owned, from identification until the end */
	struct store_writer writer;    /* while extracting */
	struct slow_file slow;	       /* while copying */
};

/* Numbers to numbers; NO_ENTRY, which is NO_FILE, between. */
typedef VEC(uint32_t) number_list;

/* How often a file that could not be opened is tried again, at later samples in other tasks. */
#define MAX_TRIES 8
/* Where the file is looked for by its build ID: another may be mapped there every other time. */
#define MAX_TRIES_BY_ID 64
/* Files that are remembered, so that they are not opened again; the oldest is forgotten first. */
#define ENTRIES_MAX  4096
#define EXECUTED_MAX 1024

struct first_sight {
	struct first_sight_options o;
	VEC(struct entry *) entries; /* owned; NULL: forgotten */
	size_t n_entries; /* not forgotten */
	size_t oldest;	  /* those before it are forgotten, or were in work when their turn came */
	struct hash_index by_key;
	struct contents *contents; /* owned */
	number_list by_number; /* sampler's number to profile's */
	number_list by_reserved; /* sampler's number to entry */
	number_list by_file;   /* profile's number to entry */
	uint32_t executed[EXECUTED_MAX]; /* the last entries that were seen at an exec */
	size_t n_executed;
	VEC(uint32_t) waiting;	/* entries that are not done and in nobody's hands */
	size_t n_pins;
	size_t n_copiers;
	size_t n_extracting;
	size_t unfinished;
	struct first_sight_counts counts;
};

/* first_sight.c */

/* Nothing more will be learned of it: closes, and tells the profile. MW_REASON_NONE: it has names. */
void entry_finish(struct first_sight *f, struct entry *entry, enum mw_reason reason);
/* Another content has the id of these entries, too: what is known by the id alone is known no more. */
void entries_withdraw(struct first_sight *f, const struct mw_file_id *id);
/* Better names came for what the entry's file is: for others like it, too. */
void entries_rename(struct first_sight *f, const struct entry *entry);
/* What the profile knows of the entry's file from now on. */
void entry_tell_profile(struct first_sight *f, const struct entry *entry, enum mw_reason reason);
/* Puts it into the queue of those with something to do. 0 or -ENOMEM. */
int entry_put_off(struct first_sight *f, uint32_t number, enum state state);
int entry_open(struct first_sight *f, uint32_t number);
/* It could not be had, at least not from this task. 0 or -ENOMEM. */
int entry_fail_to_open(struct first_sight *f, uint32_t number, enum mw_reason reason);
/*
 * The file changed while it was read. That may be another file by now than the one of the key, as when
 * an overlay copies up: another finder may still have the right one. 0 or -ENOMEM.
 */
int entry_open_again(struct first_sight *f, uint32_t number);

int entry_reserve_number(struct first_sight *f, struct entry *entry);

/* first_sight_work.c */

#define JOB_UNWIND 2
extern const struct run_job first_sight_jobs[];

/* Begins a part of the store, in the temporary one if the store's disk is full. 0 or -errno. */
int entry_begin(struct first_sight *f, struct entry *entry, enum store_part part);
/* Whether what failed for want of room may be tried again, in the temporary store. */
bool entry_can_go_elsewhere(struct first_sight *f, int error);
/* Hands the file, what the entry writes to and what may be its debug files to a child. As
 * run_server_submit(); the writer is aborted if it fails. */
int entry_submit(struct first_sight *f, uint32_t number, size_t job);
/* What the store is told of the file. 0 or -ENOMEM. */
int entry_describe(const struct entry *entry, struct meta *ret);
enum mw_reason entry_reason_of(const struct run_result *result);

/* Makes an open entry go on, if it can now. -EAGAIN: it stays in the queue. */
int entry_work(struct first_sight *f, uint32_t number);

/* first_sight_tables.c */

int job_unwind(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
	       size_t reply_size, struct mw_error *e);
void entry_set_sampler_number(struct first_sight *f, struct entry *entry, uint32_t sampler_number);
/* Whether the store has the table of an entry that is identified, or knows that there is none. */
void entry_look_for_table(struct first_sight *f, struct entry *entry);
bool entry_needs_table(const struct first_sight *f, const struct entry *entry);
void entry_give_up_table(struct first_sight *f, struct entry *entry);
/* As entry_work(). */
int entry_start_table(struct first_sight *f, uint32_t number);
int entry_take_table(struct first_sight *f, uint32_t number, const struct run_result *result);

#endif
