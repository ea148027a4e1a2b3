/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples that must wait until something is known.
 *
 * Addresses that the kernel could not convert at the sample (immediate engine) are decided here by what
 * /proc says of the process.
 *
 * What a look after the sample finds in the program itself is decided at once. For the rest the sample
 * waits until the next tick, when a new snapshot shows whether the mapping is still the one of before: only what was the
 * same before and after the sample is named, everything else gets its reason.
 *
 * Memory without a file may hold the code of one (agent/inferred.h), or code that its process names
 * (agent/code_names.h). A sample waits until that is known, two seconds at most.
 */
#ifndef AGENT_UNDECIDED_H
#define AGENT_UNDECIDED_H

#include "agent/areas.h"
#include "agent/code_names.h"
#include "agent/inferred.h"

struct undecided;

/* Receives each sample when all its frames are decided. Its frames may be changed. */
typedef int (*decided_fn)(void *data, struct sample *sample, struct frame *frames);

struct undecided_options {
	struct areas *areas;
	struct images *images;
	struct inferred *inferred;
	struct code_names *code_names;
	uint32_t vdso; /* the profile's number of the vdso */
	decided_fn decided;
	void *data;
};

/* Borrows everything in the options. */
int undecided_new(const struct undecided_options *options, struct undecided **ret);
void undecided_free(struct undecided *u);

/* Takes a sample whose frames may be undecided (FRAME_RAW without a reason), and delivers it now or
 * later. 0, or what the receiver returned, or -ENOMEM. */
int undecided_take(struct undecided *u, const struct sample *sample);
/* Delivers what is known by now. */
int undecided_tick(struct undecided *u);
/* Delivers all that waits. */
int undecided_finish(struct undecided *u);
/* Samples that wait. */
size_t undecided_waiting(const struct undecided *u);
/* Samples that were decided without proof since too many waited. */
uint64_t undecided_overflows(const struct undecided *u);

#endif
