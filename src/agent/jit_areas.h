/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Executable memory without a file, told apart by process image and mapping while the process lives.
 *
 * At the first sample in such memory a snapshot of the process's mappings is taken. Later samples are
 * looked up in it; a new one is taken when an address is in none of its mappings.
 */
#ifndef AGENT_JIT_AREAS_H
#define AGENT_JIT_AREAS_H

#include "proc/proc.h"
#include "profile/profile.h"

struct jit_areas;

/* Borrows profile and proc. */
int jit_areas_new(struct profile *profile, const struct proc *proc, struct jit_areas **ret);
void jit_areas_free(struct jit_areas *j);
/* The profile's file number for an address of a task; made if it is new. 0 or -ENOMEM. */
int jit_areas_find(struct jit_areas *j, const struct task_key *task, uint64_t address,
		   uint32_t *ret);

#endif
