/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths inside a task's root, resolved so that nothing in them leads out of it.
 */
#ifndef CONTENT_TASK_ROOT_H
#define CONTENT_TASK_ROOT_H

#include "proc/proc.h"

#include <sys/types.h>

/* An O_PATH descriptor of the task's root directory, which the caller closes, or -errno. */
int task_root_open(const struct proc *proc, uint32_t pid, uint32_t tid);
/*
 * What is left of a path below the root's own path, where it is below it; else the path itself. Paths
 * in /proc are relative to the reader's root, those of tasks in a chroot lie below it.
 */
const char *task_root_strip(int root, const char *path);
/*
 * An O_PATH descriptor of a path in a root, links kept inside. `resolve` adds RESOLVE_* of openat2(2):
 * RESOLVE_CACHED never waits for a file system, RESOLVE_NO_XDEV stays on the root's own.
 */
int task_root_open_path(int root, const char *path, uint64_t resolve);

#endif
