/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events as users name them on the command line, with perf's names, and what perf_event_open(2)
 * wants to hear for them.
 */
#ifndef CAPTURE_EVENT_H
#define CAPTURE_EVENT_H

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <stdint.h>

struct event {
	char name[32];
	uint32_t type;   /* PERF_TYPE_* */
	uint64_t config; /* PERF_COUNT_* */
	bool counts_time; /* its unit is ns of CPU time, not occurrences */
	bool is_off_cpu;  /* no event of the kernel's: the time of waits, measured by the sampler */
	bool user_only;   /* the :u modifier */
	bool kernel_only; /* :k */
	uint64_t frequency; /* samples a second; 0: period counts */
	uint64_t period;
};

/*
 * Reads one name with its modifiers ("cycles", "cpu-clock:u", perf's short forms "cs", "faults").
 * Frequency and period are left alone, but off-cpu has none. -EINVAL with the names that exist in the message.
 */
int event_parse(const char *name, struct event *ret, struct mw_error *e);
/* The table of names, one after the other from 0; NULL at its end. For help and completion. */
const char *event_name(unsigned i);

#endif
