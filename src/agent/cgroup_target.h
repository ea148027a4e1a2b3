/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A cgroup that people named: which hierarchy it is in, its id and its path there. */
#ifndef AGENT_CGROUP_TARGET_H
#define AGENT_CGROUP_TARGET_H

#include "proc/proc.h"

#include <stdbool.h>

struct cgroup_target {
	uint32_t hierarchy; /* as in /proc/PID/cgroup; 0: the unified one */
	uint64_t id;        /* as the kernel gives it for tasks; unified hierarchy */
	char path[4096];    /* as in /proc/PID/cgroup */
};

/*
 * Reads what people write: a directory below a mount of a hierarchy ("/sys/fs/cgroup/system.slice/x"), or
 * a path in one ("/system.slice/x"), looked for in the unified hierarchy first. -ENOENT says so in *e.
 */
int cgroup_target_find(const struct proc *proc, const char *text, struct cgroup_target *ret,
		       struct mw_error *e);
/* The same with our mounts as text, as in /proc/self/mountinfo. */
int cgroup_target_find_among(const struct proc *proc, const char *mounts, const char *text,
			     struct cgroup_target *ret, struct mw_error *e);
/* Whether a process is in it or in one below. */
bool cgroup_target_has(const struct cgroup_target *target, const struct proc *proc, uint32_t pid);

/* The path of a cgroup of the unified hierarchy by its id, without any process. The caller frees it. */
int cgroup_path_of_id(const struct proc *proc, uint64_t id, char **ret);

#endif
