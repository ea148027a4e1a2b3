/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What happens when a file is seen for the first time: it is opened at once, identified and its
 * symbols are put into the store by isolated children, and it is closed. Two seconds later its
 * process, its path and itself may be gone.
 *
 *     sighting -> pin (proved, open) -> child: who is it? -> store has it? -> yes: done, close
 *                                                                         -> no: child: its names
 *
 * Descriptors are the scarce good: a bounded number of files is open at once, the rest waits unopened.
 */
#ifndef AGENT_FIRST_SIGHT_H
#define AGENT_FIRST_SIGHT_H

#include "base/log.h"
#include "base/run.h"
#include "capture/sampler.h"
#include "proc/proc.h"
#include "profile/profile.h"
#include "space/images.h"
#include "store/store.h"

struct first_sight;
struct pin;

/* The jobs of the fork server that this needs, in this order. */
extern const struct run_job first_sight_jobs[];
extern const size_t first_sight_n_jobs;

/* What a file is known by at first sight: its inode and state, or a padded build ID. */
struct sight_key {
	struct inode_key inode;
	struct mw_file_id id; /* MW_FILE_ID_NONE: by inode */
};

/* Tickets of the fork server below this are first sight's. */
#define FIRST_SIGHT_TICKETS (UINT64_C(1) << 32)

struct first_sight_options {
	struct profile *profile;
	struct store *store;
	struct run_server *server;
	const struct proc *proc;
	struct images *images;
	struct roots *roots;
	const struct log *log;
	size_t max_pins; /* files open at once */
	/*
	 * It is known where the unwinding table of one of the sampler's file numbers is: in the store, by
	 * this id, or nowhere (NULL). NULL as function: nobody wants tables.
	 */
	void (*on_table)(void *data, uint32_t sampler_number, const struct mw_file_id *store_id);
	/* A number of the sampler's for a file that was not sampled yet; 0: none. NULL: nobody wants tables. */
	uint32_t (*reserve)(void *data, const struct inode_key *key);
	/* The file could not be opened now: announce it again at its next sample. */
	void (*forget)(void *data, const struct sight_key *key);
	/* Two contents have this build ID: nobody can tell a file by it any more. May be NULL. */
	void (*ambiguous)(void *data, const struct mw_file_id *id);
	/* What was said of a file of the profile is not so, or there is more by now: its frames are to be
	 * named again. May be NULL. */
	void (*changed)(void *data, uint32_t profile_file);
	void *data;
};

/* Borrows everything in the options. */
int first_sight_new(const struct first_sight_options *options, struct first_sight **ret);
void first_sight_free(struct first_sight *f);

/* A file of the sampler's. The vdso, which is not announced, is added from our own memory. */
int first_sight_add(struct first_sight *f, const struct file_sighting *sighting);
int first_sight_add_vdso(struct first_sight *f, uint32_t *ret_profile_file);
/* A file that a task has mapped, seen in /proc; *ret is the profile's number. 1, 0 if it could not be told
 * who it is (it is not mapped there any more), or -ENOMEM. */
int first_sight_add_mapping(struct first_sight *f, const struct task_key *task,
			    const struct mapping *mapping, uint32_t *ret);
/*
 * The same, only to know who it is: it gets no number in the profile, and no names unless it is sampled. 1: it is
 * new, 0: it is known, or cannot be asked, or -ENOMEM.
 */
int first_sight_identify_mapping(struct first_sight *f, const struct task_key *task,
				 const struct mapping *mapping);
/* Whether a key that was asked for by the addresses of a mapping is that of the mapping's file. */
bool first_sight_is_of_mapping(struct first_sight *f, const struct task_key *task,
			       const struct mapping *mapping, const struct inode_key *key, uint64_t magic);
/* Whether a file of the profile is one by this key, as far as stat(2) tells it. */
bool first_sight_has_key(const struct first_sight *f, uint32_t profile_file,
			 const struct inode_key *key);
/*
 * A file that a running task has mapped and that may be sampled: what is needed of it then is made
 * before. It gets a number in the profile at its first sample. 0 or -ENOMEM.
 */
int first_sight_add_running(struct first_sight *f, const struct task_key *task,
			    const struct mapping *mapping);
/*
 * A file that was executed, open for reading; takes the descriptor. It is identified and its names are
 * put into the store, sampled or not: should a sample come when it is gone, they are there. It gets a
 * number in the profile only then. `pid` (0: nobody knows) executed it: its debug file may lie in that
 * process' root. 0 or -ENOMEM.
 */
int first_sight_add_executed(struct first_sight *f, int fd, uint32_t pid);
/* The profile's number of a sampler's file; UINT32_MAX if there is none. */
uint32_t first_sight_profile_file(struct first_sight *f, uint32_t sampler_number);

/* Tells on_table again, if it is known by now; else it will be told. */
void first_sight_want_table(struct first_sight *f, uint32_t sampler_number);

/* Whether nothing more will be learned of a file, by the profile's number. */
bool first_sight_is_finished(const struct first_sight *f, uint32_t profile_file);

/* A result of one of our jobs. 0 or -errno. */
int first_sight_take_result(struct first_sight *f, const struct run_result *result);
/*
 * What is known of the segments of a file, by the profile's number: 1, 0: not yet, -ENOENT: never
 * will be, -ENOMEM.
 */
int first_sight_segments(struct first_sight *f, uint32_t profile_file, struct meta *ret);
/* Opens a file again, in the state in which it was seen, by one of its mappings. 0 or -errno. */
int first_sight_open(struct first_sight *f, uint32_t profile_file, const struct task_key *task,
		     uint64_t map_start, uint64_t map_end, struct pin *ret);

/* Opens and hands over what had to wait. To be called now and then. */
void first_sight_go_on(struct first_sight *f);
/* Files about which something may still be learned. */
size_t first_sight_unfinished(const struct first_sight *f);
/*
 * Whether the state of a file (of the profile) names its content at that time (CLOCK_MONOTONIC). Right
 * after a change it does not: file systems take the time from a clock that moves with the timer's tick,
 * so two writes within one leave the same change time.
 */
bool first_sight_is_settled(const struct first_sight *f, uint32_t profile_file, uint64_t time);
/* There will be no more samples: files that had none are not waited for. */
void first_sight_leave_unsampled(struct first_sight *f);
/* Nothing more will be learned: what is unfinished gets this reason. */
void first_sight_give_up(struct first_sight *f, enum mw_reason reason);

struct first_sight_counts {
	uint64_t seen;      /* files (distinct in inode and state) */
	uint64_t executed;  /* ... at an exec */
	uint64_t identified;
	uint64_t extracted; /* symbol tables made; the rest was in the store */
	uint64_t tables;    /* unwinding tables made */
	uint64_t not_opened;
	uint64_t failed;    /* parsers that gave up */
};
struct first_sight_counts first_sight_get_counts(const struct first_sight *f);

#endif
