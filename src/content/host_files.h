/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of the machine itself (a runtime's list of containers) on paths that others chose.
 *
 * Nothing here waits for a file system that may never answer: paths are resolved from the kernel's
 * caches, and what is not cached is looked up only in directories that are known to be local. Nothing
 * leads out of the root, and only regular files are opened.
 */
#ifndef CONTENT_HOST_FILES_H
#define CONTENT_HOST_FILES_H

#include "base/log.h"
#include "proc/proc.h"

#include <stdbool.h>
#include <stddef.h>

/* What is larger is not opened: a list of ten thousand containers is smaller. */
#define HOST_FILE_MAX ((size_t)16 << 20)

struct host_files {
	const struct proc *proc; /* borrowed */
	int root;                /* O_PATH of the machine's root directory; owned */
	const struct log *log;
};

#define HOST_FILES_INIT {.root = -1}

/* The machine's root is that of its first process. Falls back to our own if that cannot be opened. */
int host_files_init(struct host_files *h, const struct proc *proc, const struct log *log);
void host_files_deinit(struct host_files *h);

/* Opens a regular file for reading; the caller closes it. -errno. */
int host_files_open(const struct host_files *h, const char *path);
/* The same in another root directory, of which only what is cached is seen. */
int host_files_open_in(const struct host_files *h, int root, const char *path);

/*
 * Where the machine itself has a directory: a directory of the file system on a device, as a task's
 * mountinfo names it, to a path. False if the machine has it mounted nowhere.
 */
bool host_files_find_mounted(const struct host_files *h, uint32_t major, uint32_t minor,
			     const char *directory, char *buf, size_t size);

/*
 * Whether a root directory, as a task's mountinfo names it, is the machine's own; also if that cannot be
 * told.
 */
bool host_files_is_own_root(const struct host_files *h, uint32_t major, uint32_t minor,
			    const char *directory);

#endif
