/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Roots that tasks had: one pin for each distinct (mount namespace, root directory), so that a file can
 * still be found by its path when the task that was seen with it is gone.
 *
 * A pin must not keep anybody's umount from succeeding. In our own mount namespace it is a detached
 * copy of the mount (open_tree(2)), which does not count as use; for another namespace, where that is
 * not allowed, it is a plain descriptor of the directory. Both would keep a loop device busy, so a pin
 * is dropped a moment after its last task has gone.
 */
#ifndef CONTENT_ROOTS_H
#define CONTENT_ROOTS_H

#include "base/log.h"
#include "proc/proc.h"

struct roots;

struct root_key {
	uint64_t mount_namespace; /* 64-bit id; 0: unknown, never pinned */
	uint64_t inode;		  /* of the root directory */
	uint32_t device;
	uint32_t unused;
};

/* Borrows both. */
int roots_new(const struct proc *proc, const struct log *log, struct roots **ret);
void roots_free(struct roots *roots);
/* A task with this root was sampled. Pins it if it is new and the task still lives. */
void roots_see(struct roots *roots, const struct root_key *key, uint32_t pid, uint32_t tid);
/* Some task of this mount namespace was sampled: its pins are of use. */
void roots_touch(struct roots *roots, uint64_t mount_namespace);
/* Once a second: drops pins whose tasks are gone. */
void roots_expire(struct roots *roots);

/*
 * A file by its path inside its file system (device as the kernel has it), in a pinned root: an O_PATH
 * descriptor that the caller closes and proves, or -errno. Never waits for a file system.
 */
int roots_open(const struct roots *roots, const struct root_key *key, uint32_t device,
	       const char *path);

#endif
