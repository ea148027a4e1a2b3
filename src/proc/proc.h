/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /proc behind a prefix: the machine's own, one mounted elsewhere, or a dumped directory in a test.
 * Everything below it is reached through the open directory, so the prefix is resolved once.
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include <mapwright/mapwright.h>

#include <stdint.h>
#include <sys/types.h>

struct proc {
	int dir; /* owned */
};

#define PROC_INIT {.dir = -1}

int proc_init(struct proc *proc, const char *prefix, struct mw_error *e);
void proc_deinit(struct proc *proc);

/* The start of a thread group's leader, ns since boot with the clock tick's resolution. */
int proc_start_time(const struct proc *proc, uint32_t pid, uint64_t *ret);
/* Whether this pid is still the process that started then (ns since boot, from the kernel). */
int proc_is_same_process(const struct proc *proc, uint32_t pid, uint64_t start_time);

struct proc_image {
	uint64_t start_code;
	uint64_t start_stack;
};
/* Where the program of a process and its stack start: random for each exec. Needs ptrace rights. */
int proc_image(const struct proc *proc, uint32_t pid, struct proc_image *ret);
/*
 * The path of a task in the hierarchy that names it best: the unified one, or on hybrid hosts, where
 * that says only "/", systemd's or the first other. The caller frees *ret.
 */
int proc_cgroup(const struct proc *proc, uint32_t pid, char **ret);
/* Where the link pid/NAME points ("exe", "root", "map_files/..."), cut to size. Length or -errno. */
ssize_t proc_readlink(const struct proc *proc, uint32_t pid, const char *name, char *buf,
		      size_t size);

#endif
