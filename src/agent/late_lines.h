/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source lines and inlined calls for a recording that has ended, so that its profile is complete by
 * itself: of what the store has, and of files that are read for it, the hottest first, until the time
 * for it is over.
 */
#ifndef AGENT_LATE_LINES_H
#define AGENT_LATE_LINES_H

#include "base/log.h"
#include "proc/proc.h"
#include "profile/profile.h"
#include "store/store.h"

struct late_lines_options {
	struct profile *profile;
	struct store *store;
	const struct proc *proc;
	const struct log *log;
	uint64_t budget; /* ns; 0: nothing is read, only the store is asked */
	void (*progress)(void *data, const char *line); /* may be NULL */
	void *data;
};

/* How many frames got lines, or -errno. Lines are an addition: files without are no error. */
int late_lines_find(const struct late_lines_options *options);

#endif
