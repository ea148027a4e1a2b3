/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mappings of one process image at one moment, and what lies at an address in them.
 *
 * The text of maps is read in one go; the kernel gives each line as it is at some moment of the
 * reading, and joins and splits ranges as it likes. Good for telling what anonymous code is called;
 * what a file frame is, the sampler knows better.
 */
#ifndef SPACE_SNAPSHOT_H
#define SPACE_SNAPSHOT_H

#include "proc/maps.h"

#include <stdbool.h>
#include <stddef.h>

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;      /* 0: memory without a file */
	uint32_t major;      /* with inode: which file, as maps tells it */
	uint32_t minor;
	uint32_t protection; /* MAP_* */
	bool is_program;     /* somebody found it to be of the process's own program */
	const char *name;    /* in the snapshot's text; "" for nameless memory */
};

struct snapshot;

/* -ESRCH or -ENOENT if the task is gone. Ranges that are not in order are dropped. */
int snapshot_take(const struct proc *proc, uint32_t pid, uint32_t tid, struct snapshot **ret);
void snapshot_free(struct snapshot *snapshot);
/* One of its mappings is of the program that the process runs. */
void snapshot_mark_program(struct snapshot *snapshot, const struct mapping *mapping);
size_t snapshot_count(const struct snapshot *snapshot);
/* NULL if nothing is mapped there. Valid as long as the snapshot. */
const struct mapping *snapshot_find(const struct snapshot *snapshot, uint64_t address);
/* By their order: the first that ends behind an address, and the one of a number, NULL if there is none. */
size_t snapshot_index(const struct snapshot *snapshot, uint64_t address);
const struct mapping *snapshot_get(const struct snapshot *snapshot, size_t index);

#endif
