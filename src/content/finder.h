/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the bytes of a file can be had from, and the proof that they are the right ones.
 *
 * A finder opens one candidate, or passes. Candidates come as O_PATH descriptors, so that nothing of
 * a FIFO or a device is touched before it is known to be a regular file; content.c proves and opens
 * them for reading. docs/HOWTO-add-finder.md says how to add one.
 */
#ifndef CONTENT_FINDER_H
#define CONTENT_FINDER_H

#include "base/frame.h"
#include "base/log.h"
#include "content/roots.h"
#include "proc/proc.h"

/* What is looked for: a file in a state, and who was seen with it where. */
struct file_request {
	struct inode_key key;
	uint64_t magic;      /* of its file system */
	uint32_t pid;
	uint32_t tid;
	uint64_t start_time; /* of the process, ns since boot */
	uint64_t map_start;
	uint64_t map_end;
	const char *name;    /* last component, for people; not NULL */
	const char *path;    /* inside its file system; NULL: not known */
	struct root_key root; /* of the task */
};

struct finder_context {
	const struct proc *proc;
	const struct log *log;
	const struct roots *roots; /* NULL: none are pinned */
	bool may_block; /* nobody waits for the caller: see content/slow_file.h */
};

struct finder {
	const char *name;
	/* An O_PATH descriptor that the caller closes, or -errno to pass. */
	int (*find)(const struct finder_context *context, const struct file_request *request);
};

extern const struct finder finder_map_files; /* /proc/PID/map_files: whatever became of the name */
extern const struct finder finder_exe;	     /* /proc/PID/task/TID/exe: a program without main thread */
extern const struct finder finder_task_root; /* the path in the task's root */
extern const struct finder finder_pinned_root; /* the path in the root that the task had */
extern const struct finder finder_handle;    /* inode and generation: no process needed */

/* FUSE and network file systems may not answer: nothing of theirs is opened by the main loop. */
bool finder_may_block(uint64_t magic);

#endif
