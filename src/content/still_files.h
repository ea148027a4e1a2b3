/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a mapped file had, at some moment of the past, the content that it has now. For who learns of
 * a sample only afterwards (the immediate engine), and needs more than the file's identity of now.
 *
 * Each look at a file takes its state: its inode key, and whether anybody can write to it. A write, also
 * the first one to each page through memory, moves the change time, which nobody can set back; later
 * writes through memory do not, but whoever can do that has the file open for writing. So between two
 * looks with one key, at which nobody had it open for writing, nothing was written. Two things blur
 * this: a change time is as coarse as the kernel's ticks (or the file system's), so a look that is not
 * later than the change time by that proves nothing for what follows; and before the first look
 * of all it has to do that the change time is older than the sample.
 *
 * Nobody's program notices the looks: that nobody writes is asked by taking a lease and giving it back,
 * which lasts a microsecond.
 */
#ifndef CONTENT_STILL_FILES_H
#define CONTENT_STILL_FILES_H

#include "content/finder.h"

struct still_files;

/* Borrows both. */
int still_files_new(const struct proc *proc, const struct log *log, struct still_files **ret);
void still_files_free(struct still_files *s);

/*
 * Looks at the file of a mapping (task and range of the request). *ret is the number of its state: as long
 * as nothing is written it is the same, whichever process is asked. 0, -ENOSPC if there are too many, -ENOMEM,
 * or another -errno: it is not mapped there any more.
 */
int still_files_look(struct still_files *s, const struct file_request *request, uint32_t *ret);
/* The same for a state whose process may be gone, by the path under which we saw the file. */
int still_files_look_again(struct still_files *s, uint32_t state);
const struct inode_key *still_files_key(const struct still_files *s, uint32_t state);
/* Of the file system it lies on. */
uint64_t still_files_magic(const struct still_files *s, uint32_t state);
/* Forgets everything: numbers begin anew. */
void still_files_reset(struct still_files *s);

enum stillness {
	STILL_UNKNOWN, /* the last look is older than that */
	STILL_YES,     /* its content was that of the state */
	STILL_NO,      /* it may have been another's */
	STILL_MEMORY,  /* somebody has it mapped, or open, for writing: its bytes may change at any time */
};

/* What it was at a time (CLOCK_MONOTONIC, ns). */
enum stillness still_files_at(const struct still_files *s, uint32_t state, uint64_t time);

#endif
