/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the recorder's own cost below what the user allows.
 *
 * Once a second it is told what has been spent in all: CPU time of the recorder and its children, and
 * time inside the BPF programs. If the mean over the last few seconds exceeds the limit, the rate is
 * to be halved; if it is far below, it may double again, up to the one asked for. Steps are a factor
 * of two and some seconds apart, so that the effect of one shows before the next.
 */
#ifndef AGENT_GOVERNOR_H
#define AGENT_GOVERNOR_H

#include <stdint.h>

#define GOVERNOR_WINDOW 5 /* seconds that are averaged */

struct governor {
	double limit;     /* share of the whole machine, 0.01 is one percent; 0: no limit */
	unsigned cpus;
	unsigned divisor; /* of the rate: 1, 2, 4, ... */
	unsigned lowered; /* how often */
	uint64_t spent[GOVERNOR_WINDOW + 1]; /* ns in all, at the seconds of `times` */
	uint64_t times[GOVERNOR_WINDOW + 1];
	unsigned n;
};

#define GOVERNOR_MAX_DIVISOR 64

void governor_init(struct governor *g, double limit, unsigned cpus);
/* 1 if the divisor is another now, 0 if not. Both in ns. */
int governor_tell(struct governor *g, uint64_t now, uint64_t spent);

#endif
