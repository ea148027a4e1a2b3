/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The call graph of one row of a report: stacks merged by what their frames are called.
 *
 * It is made from the outside in. At each place there is a set of stack nodes with weights; those of
 * equal label become one call, and the next set is their callees (or callers). A call lighter than the
 * limit is left out with all below it, so only what will be shown is ever looked at.
 */
#ifndef PROFILE_CALL_TREE_H
#define PROFILE_CALL_TREE_H

#include "profile/stack_sums.h"

/* Deeper calls are left out: whoever walks the tree may do so by recursion. */
#define CALL_TREE_DEPTH 1000

struct call {
	uint64_t weight;
	uint32_t label;
	uint32_t first_child; /* children lie together, the heaviest first */
	uint32_t n_children;
	uint32_t depth;
};

struct call_tree {
	VEC(struct call) calls; /* 0 is the root, which has no label */
};

/* What trees are made from. */
struct call_source {
	const struct profile *p;
	const struct stack_sums *sums;
	const struct stack_children *children;
	const uint32_t *rows;  /* by frame: which row it counts for */
	const uint32_t *calls; /* by frame: what it is called in the graph */
	uint64_t limit;        /* lightest call to be shown */
	struct stack_sums *scratch; /* of the same profile, empty */
};

void call_tree_deinit(struct call_tree *t);
/*
 * A row is given by its nodes: those whose frames count for it.
 *
 * Callers go from the row's own frame outwards. Callees go from its outermost frame inwards; stacks
 * that end in the row come with all of their callers, from the outermost one inwards.
 */
int call_tree_callers(struct call_tree *t, const struct call_source *source, const uint32_t *nodes,
		      size_t n_nodes);
int call_tree_callees(struct call_tree *t, const struct call_source *source, const uint32_t *nodes,
		      size_t n_nodes);

#endif
