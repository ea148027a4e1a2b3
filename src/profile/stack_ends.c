/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/stack_ends.h"

#include <errno.h>

/* What of a stack is known at each of its nodes, from the outermost frame inwards. */
struct end {
	uint32_t frame; /* the outermost one */
	bool is_guessed;
};

static void count_end(struct stack_ends *ends, const struct profile *p, struct end end,
		      uint64_t count)
{
	const struct frame *outermost = &p->frames.items[end.frame].at;
	if (outermost->kind == FRAME_KERNEL)
		return;
	enum mw_reason reason = outermost->kind == FRAME_RAW ? outermost->reason : MW_REASON_NONE;
	if (reason == MW_REASON_EXITING || reason == MW_REASON_EXEC_RACED) {
		*(reason == MW_REASON_EXITING ? &ends->exiting : &ends->exec_raced) += count;
		return;
	}
	ends->stacks += count;
	if (reason)
		ends->reasons[reason < MW_N_REASONS ? reason : 0] += count;
	else if (end.is_guessed)
		ends->guessed += count;
	else
		ends->whole += count;
}

int stack_ends_count(const struct profile *p, struct stack_ends *ret)
{
	*ret = (struct stack_ends){};
	_cleanup_free_ struct end *ends = calloc(p->nodes.n + 1, sizeof *ends);
	if (!ends)
		return -ENOMEM;
	for (size_t i = 1; i < p->nodes.n; i++) { /* a caller's number is lower than its callee's */
		const struct profile_node *node = &p->nodes.items[i];
		ends[i] = node->caller ? ends[node->caller] : (struct end){.frame = node->frame};
		ends[i].is_guessed |= !!(p->frames.items[node->frame].at.flags & FRAME_GUESSED);
	}
	vec_foreach(sample, &p->samples) {
		if (sample->stack)
			count_end(ret, p, ends[sample->stack], sample->count);
	}
	return 0;
}
