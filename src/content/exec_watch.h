/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A descriptor of each file that is executed, at the moment of the exec: whatever becomes of process,
 * name and file afterwards, its content can be read.
 *
 * By fanotify (FAN_OPEN_EXEC), with a mark on every local file system that is mounted somewhere: those
 * in our own mount namespace, and those of other namespaces once a task of theirs was seen. Each file
 * is reported once: then a mark tells the kernel to ignore it, until it is written to or evicted from
 * memory, so that a storm of execs costs nothing. Network and FUSE file systems are never marked:
 * they may block. Libraries are not executed and so not reported.
 */
#ifndef CONTENT_EXEC_WATCH_H
#define CONTENT_EXEC_WATCH_H

#include "base/log.h"
#include "proc/proc.h"

#include <stdbool.h>

struct exec_watch;

/* -EPERM without CAP_SYS_ADMIN, -ENOSYS or -EINVAL without FAN_OPEN_EXEC (Linux 5.0). Borrows both. */
int exec_watch_new(const struct proc *proc, const struct log *log, struct exec_watch **ret,
		   struct mw_error *e);
void exec_watch_free(struct exec_watch *w);
/* Readable when a file was executed. */
int exec_watch_fd(const struct exec_watch *w);
/*
 * The next file that was executed, open for reading, which the caller closes; or -EAGAIN. `ret_pid`
 * (may be NULL) gets the process that executed it, in our own PID namespace; 0: it is not in it.
 */
int exec_watch_next(struct exec_watch *w, uint32_t *ret_pid);
/* The file needs not be reported again as long as it is not changed. */
void exec_watch_ignore(struct exec_watch *w, int fd);

/* Once a second: marks what was mounted since. */
void exec_watch_refresh(struct exec_watch *w);
/* A task in a mount namespace (64-bit id); does something for the first one only. */
void exec_watch_see_namespace(struct exec_watch *w, uint64_t mount_namespace, uint32_t pid);

struct exec_watch_counts {
	uint64_t file_systems; /* marked */
	uint64_t events;
	uint64_t overflows;    /* times that the kernel dropped events */
};
struct exec_watch_counts exec_watch_get_counts(const struct exec_watch *w);

#endif
