/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The perf map of a process: /tmp/perf-PID.map in its own root, by the number that the process
 * itself knows, which is that of the innermost PID namespace.
 *
 * The file is anybody's: only a regular one counts, no link, of the process' user or of root, not
 * on a file system that may never answer, and written to since the process started. A process that
 * had the same number may have left another.
 *
 * It is held while the process lives, since it may be removed with it. So that this is not in the
 * way of an umount, what is held is a detached copy of its mount where that is allowed (as in
 * content/roots.h).
 */
#ifndef CONTENT_PERF_MAP_FILE_H
#define CONTENT_PERF_MAP_FILE_H

#include "base/log.h"
#include "proc/proc.h"

#include <stdbool.h>

/* Where to look. */
struct perf_map_place {
	uint32_t pid;
	uint32_t tid;	      /* some living thread of it, for its root */
	uint64_t start_time;  /* of the process, ns since boot */
	uint32_t own_pid;     /* 0: not asked yet */
	uint64_t safe_device; /* of a file system that answers; 0: none is known */
	bool is_refused;      /* there is something, but it does not count: said once */
};

/* A file in one state. */
struct perf_map_state {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t changed; /* the later one of modification and change time, ns since 1970 */
	int64_t written; /* modification time */
};

struct perf_map_file {
	int fd;			     /* owned; -1: none */
	struct perf_map_state state; /* when it was last looked at */
};

#define PERF_MAP_FILE_INIT                                                                         \
	{                                                                                          \
		.fd = -1                                                                           \
	}

void perf_map_file_deinit(struct perf_map_file *file);
/*
 * What lies at the place now, if it is another file than `held`: 1, it is in *held, and the one
 * that was there is closed. 0: the same one. -ENOENT: there is none, or none that counts. -ESRCH:
 * the process is gone.
 */
int perf_map_file_find(const struct proc *proc, const struct log *log, struct perf_map_place *place,
		       struct perf_map_file *held);
/* The state of a held file now, whether it still has its name or not. 0 or -errno. */
int perf_map_file_look(const struct perf_map_file *file, struct perf_map_state *ret);
/* The held file for reading; the caller closes it. -errno. */
int perf_map_file_open(const struct perf_map_file *file);

#endif
