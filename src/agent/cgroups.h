/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control group of each sample, with its path.
 *
 * The kernel gives the id in the unified hierarchy. On hybrid hosts, where tasks are moved only in
 * the hierarchies of version 1, that id is the root's for all of them; then the path is read from
 * /proc at the first sample of a process, and an id of our own stands for it.
 */
#ifndef AGENT_CGROUPS_H
#define AGENT_CGROUPS_H

#include "proc/proc.h"
#include "profile/profile.h"

struct cgroups;

/* Borrows profile and proc. */
int cgroups_new(struct profile *profile, const struct proc *proc, struct cgroups **ret);
void cgroups_free(struct cgroups *c);
/* The id for this sample's profile entry; its path is put into the profile if it can be had. */
uint64_t cgroups_see(struct cgroups *c, const struct sample *sample);

#endif
