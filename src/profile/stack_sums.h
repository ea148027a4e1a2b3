/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sums over stacks: how much weight ends in each node of a profile's stack tree, and how much passes
 * through it. One object is used for one set of samples after the other; emptying it costs what was
 * in it, not what the profile has.
 */
#ifndef PROFILE_STACK_SUMS_H
#define PROFILE_STACK_SUMS_H

#include "profile/profile.h"

struct stack_sums {
	const struct profile *p;
	bool leaves_only; /* set after init: only self is wanted, total stays 0 */
	uint64_t *self;  /* by node */
	uint64_t *total; /* by node; valid after stack_sums_finish() */
	uint8_t *seen;   /* by node */
	VEC(uint32_t) touched; /* nodes with a weight, callers first after stack_sums_finish() */
	uint64_t weight;       /* of all that was added */
};

int stack_sums_init(struct stack_sums *s, const struct profile *p);
void stack_sums_deinit(struct stack_sums *s);
int stack_sums_add(struct stack_sums *s, uint32_t stack, uint64_t weight);
/* Once everything is added. */
void stack_sums_finish(struct stack_sums *s);
void stack_sums_clear(struct stack_sums *s);

/*
 * True if no caller of the node has the same label: the place where a sample counts for a label, also
 * if recursion has it several times. labels is by frame.
 */
bool stack_is_outermost(const struct profile *p, const uint32_t *labels, uint32_t node);

/* The callees of each node, as lists. */
struct stack_children {
	uint32_t *first; /* by node; 0: none */
	uint32_t *next;  /* by node: the next one with the same caller; 0: none */
};

int stack_children_init(struct stack_children *c, const struct profile *p);
void stack_children_deinit(struct stack_children *c);

#endif
