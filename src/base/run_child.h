/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One sandboxed child: the memory that it shares with its parent, how it ended, and how it is made
 * to end. For the fork server (run_service.c) and for run_isolated().
 */
#ifndef BASE_RUN_CHILD_H
#define BASE_RUN_CHILD_H

#include "base/run.h"

#include <stddef.h>
#include <stdint.h>

/* What a child leaves behind. Foreign to everyone else. */
struct run_area {
	uint32_t finished; /* the function returned */
	int32_t value;
	struct mw_error error;
	_Alignas(max_align_t) uint8_t reply[]; /* up to RUN_REPLY_MAX */
};

/* NULL: no memory; errno says so. */
struct run_area *run_area_new(size_t reply_size);
void run_area_free(struct run_area *area, size_t reply_size);

struct run_ending {
	enum run_outcome outcome;
	int value;
	struct mw_error error;
};

/* What the child that ended with `status`, or was killed because it was overdue, came to. */
void run_area_read_ending(const struct run_area *area, int status, bool overdue, const char *name,
			  struct run_ending *ret);

/* In the child. Handlers of the process we were forked from must not run here, nor its mask apply.
 */
void run_child_reset_signals(void);
void run_child_kill(pid_t pid);
/* False if it has not ended by the time it should: it may wait for a file that does not answer. */
bool run_child_kill_within(pid_t pid, int pidfd);

/* CLOCK_MONOTONIC in ms, and the rest of the time until then as poll() wants it. */
uint64_t run_now_ms(void);
int run_ms_until(uint64_t deadline);

#endif
