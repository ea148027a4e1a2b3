/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where only some places are wanted (agent/places.h): samples wait here until it is known whether
 * theirs is one of them. What they take is bounded; one too many is counted as lost.
 */
#ifndef AGENT_HELD_H
#define AGENT_HELD_H

#include "agent/places.h"

struct held;

typedef int (*held_deliver_fn)(void *data, const struct sample *sample);

/* Borrows places. */
int held_new(const struct places *places, held_deliver_fn deliver, void *data, struct held **ret);
void held_free(struct held *h);

/* Delivers a sample, or leaves it out, or keeps it for later. 0, what the receiver returned, -ENOMEM. */
int held_take(struct held *h, const struct sample *sample);
/* Decides what can be decided by now. */
int held_go_on(struct held *h);

struct held_counts {
	uint64_t other; /* left out: of another place */
	uint64_t lost;  /* too many waited */
};
struct held_counts held_get_counts(const struct held *h);

#endif
