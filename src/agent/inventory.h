/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who else has this build ID? (Immediate engine.)
 *
 * The deferred engine knows each file by its inode. Where the kernel tells the build ID alone, a second
 * content with the same one would get the names of the first. So the programs that are sampled are looked
 * through, a few of them a tick: each file that they have mapped as code, and that nobody has seen
 * yet, is identified (agent/first_sight.h). If its id is that of another content, first sight takes
 * back what it said, and asks for addresses.
 *
 * A process is looked through when it is new, when its address space has changed since (where the kernel
 * does not count the changes: every other second), and now and then. A file may also be written over where it
 * is: so the files themselves are asked in turns whether they changed, by their paths, and if one did
 * all processes are looked through. Programs that were executed are seen at their exec already. What
 * ends before its turn is not seen.
 */
#ifndef AGENT_INVENTORY_H
#define AGENT_INVENTORY_H

#include "agent/first_sight.h"

struct inventory;

/* Borrows both. */
int inventory_new(const struct proc *proc, struct first_sight *first_sight, struct inventory **ret);
void inventory_free(struct inventory *inventory);
/* A process was sampled. */
void inventory_see(struct inventory *inventory, const struct sample *sample);
/* To be called each tick. 0 or -ENOMEM. */
int inventory_tick(struct inventory *inventory);

#endif
