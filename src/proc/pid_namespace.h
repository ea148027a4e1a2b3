/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whose numbers are these? The kernel's programs number tasks as the initial PID namespace does. A /proc
 * shows the numbers of the namespace that it was mounted in.
 */
#ifndef PROC_PID_NAMESPACE_H
#define PROC_PID_NAMESPACE_H

#include "proc/proc.h"

/* 1 if this /proc has the numbers of the initial namespace, 0 if not, or -errno if it cannot be told. */
int pid_namespace_is_initial(const struct proc *proc);
/*
 * The number that a process of our own namespace has in this /proc: its own if that is ours, too.
 * -ESRCH if it is not there.
 */
int pid_namespace_translate(const struct proc *proc, uint32_t own_pid, uint32_t *ret);

#endif
