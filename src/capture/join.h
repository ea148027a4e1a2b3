/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts the two halves of a sample together: what the interrupt saw, and the user part that comes
 * later under the same ticket. Several samples may wait for one user part; and a sample taken while
 * its user part was being written comes just after it, so the last few user parts are kept.
 */
#ifndef CAPTURE_JOIN_H
#define CAPTURE_JOIN_H

#include "base/frame.h"

struct sample_record;
struct user_record;
struct join;

/* Receives each whole sample; its frames are valid during the call. Negative ends the caller. */
typedef int (*join_deliver_fn)(void *data, const struct sample *sample);

/* Holds up to max_waiting samples; when there are more, the longest waiting goes without. */
int join_new(size_t max_waiting, join_deliver_fn deliver, void *data, struct join **ret);
void join_free(struct join *join);

/* 0, or what the receiver returned, or -ENOMEM. */
int join_sample(struct join *join, const struct sample_record *record);
int join_user(struct join *join, const struct user_record *record);
/* Delivers all that still wait, with the reason `no-user-stack`. */
int join_flush(struct join *join);

struct join_counts {
	uint64_t delivered;
	uint64_t without_user; /* delivered without the user part they waited for */
};
struct join_counts join_counts(const struct join *join);

#endif
