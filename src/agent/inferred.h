/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code that lost its file: text that was copied over itself onto anonymous memory, huge pages or a
 * memfd. It keeps its name if all of this holds:
 *
 *   1. Place. The memory lies where a file's executable segment would be loaded, and the mappings of
 *      that file around it agree on it (space/hole.h).
 *   2. Bytes. While the process was the sampled program, the memory had the file's bytes, all of those
 *      that lie in the same block of 1 MiB of the file (content/same_code.h). One look at each block.
 *   3. The sample. The 128 bytes around the instruction were, at the sample itself, those of the file:
 *      the kernel side sums them up (bpf/code_check.h). So it does not matter that such memory may be
 *      written to, and was perhaps rewritten since the look, or was not written yet.
 *
 * Code with text relocations, patched code, code of another program: not the file's bytes, no name,
 * and the reason as for any memory without a file. The frame becomes one of the file, marked
 * FRAME_INFERRED.
 *
 * Code that is the same in two files, at the same place, cannot be told apart by any of this; it is
 * what the neighbours say.
 *
 * Memory: a bounded number of areas and blocks. When there is no room everything is forgotten, and
 * looked at again. Some looks a tick, each a child with a deadline that compares and does no more;
 * samples wait for them for two seconds at most (agent/undecided.h).
 */
#ifndef AGENT_INFERRED_H
#define AGENT_INFERRED_H

#include "agent/first_sight.h"

struct inferred;

/* The job of the fork server that this needs. */
extern const struct run_job inferred_job;

struct inferred_options {
	struct profile *profile;
	struct first_sight *first_sight;
	struct images *images;
	const struct proc *proc;
	struct run_server *server;
	size_t job; /* the number of inferred_job there */
	const struct log *log;
};

enum inferred_answer {
	INFERRED_NO,   /* the frame stays what it is */
	INFERRED_WAIT, /* ask again later */
	INFERRED_YES,  /* the frame is one of the file now */
};

/* Borrows everything in the options. */
int inferred_new(const struct inferred_options *options, struct inferred **ret);
void inferred_free(struct inferred *inferred);

/*
 * Decides about one frame with the profile's file numbers, by the check that came with it: FRAME_JIT,
 * or FRAME_FILE in a file that is only memory; every other frame is a NO. Answer or -ENOMEM.
 */
int inferred_decide(struct inferred *inferred, const struct sample *sample, uint32_t check,
		    struct frame *frame);
/* A result of the fork server whose ticket is not first sight's. */
int inferred_take_result(struct inferred *inferred, const struct run_result *result);
/* To be called each tick: new looks are allowed. */
void inferred_tick(struct inferred *inferred);

struct inferred_counts {
	uint64_t looks;    /* blocks compared */
	uint64_t equal;    /* ... that were the file's */
	uint64_t rewritten; /* frames in such a block whose bytes at the sample were others */
	uint64_t resets;   /* times that everything was forgotten for lack of room */
};
struct inferred_counts inferred_get_counts(const struct inferred *inferred);

#endif
