/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that will be sampled: what running processes have mapped, looked up in /proc before the first
 * sample needs its unwinding table. Processes that used the most CPU time come first, a few at each
 * tick, so that nothing else waits. Programs that are executed meanwhile, and their libraries, follow.
 */
#ifndef AGENT_PRELOAD_H
#define AGENT_PRELOAD_H

#include "agent/first_sight.h"

struct preload;

int preload_new(const struct proc *proc, struct first_sight *first_sight, struct preload **ret);
void preload_free(struct preload *p);
/* All processes of the machine. 0 or -errno. */
int preload_add_all(struct preload *p);
/* One, from the next tick on: by then it has mapped its libraries. */
void preload_add(struct preload *p, uint32_t pid);
/* 0 or -ENOMEM. */
int preload_tick(struct preload *p);

#endif
