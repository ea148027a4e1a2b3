/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the user parts of a profile's stacks end: whether the walk reached the bottom, the function that
 * nobody called, and if not, why. Counted over samples. Kernel threads are not counted, and tasks that
 * were about to lose their stack, in exit or exec, are counted apart.
 */
#ifndef PROFILE_STACK_ENDS_H
#define PROFILE_STACK_ENDS_H

#include "profile/profile.h"

struct stack_ends {
	uint64_t stacks;  /* user parts, in samples */
	uint64_t whole;   /* ... that reach the bottom */
	uint64_t guessed; /* ... that end without a reason, but have frames found by frame pointers for want of
			   * an unwinding table: callers may be missing */
	uint64_t reasons[MW_N_REASONS]; /* ... that end with a reason */
	uint64_t exiting;    /* samples of tasks that had no user stack any more: they had given up their memory, */
	uint64_t exec_raced; /* or became another program before it could be read */
};

/* 0 or -ENOMEM. Of stacks by frame pointers alone (the fact call_graph) nobody knows what is whole. */
int stack_ends_count(const struct profile *p, struct stack_ends *ret);

#endif
