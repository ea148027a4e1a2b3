/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's counters: each event of a recording on each CPU that is online, with a BPF program
 * that runs at each overflow. CPUs come and go; cpu_events_refresh() follows.
 */
#ifndef CAPTURE_CPU_EVENTS_H
#define CAPTURE_CPU_EVENTS_H

#include "base/log.h"
#include "capture/event.h"

#include <stddef.h>

struct bpf_program;
struct cpu_events;

/* Whether this machine has the event at all, asked by opening it once. 0 or -errno. */
int cpu_events_probe(const struct event *event);

/*
 * Opens every event on every CPU and starts it: from here on `program` runs, with the event's number
 * as its cookie. The events' array must outlive the object.
 */
int cpu_events_open(const struct event *events, size_t n_events, struct bpf_program *program,
		    const struct log *log, struct cpu_events **ret, struct mw_error *e);
void cpu_events_free(struct cpu_events *c);

/* Opens on CPUs that came, closes on those that went. Returns how many of each changed. */
int cpu_events_refresh(struct cpu_events *c);
/* The same if the kernel said that a CPU went or came; cheap, to be called often. */
void cpu_events_follow(struct cpu_events *c);
/* CPU time, at most, in which CPUs that had come were not sampled yet: ns, over all. */
uint64_t cpu_events_unwatched(const struct cpu_events *c);
/*
 * From now on the rate is the one asked for divided by this, on CPUs that come later too. Samples
 * weigh as much more, so what is summed up stays right.
 */
void cpu_events_set_divisor(struct cpu_events *c, unsigned divisor);
/* Stops all, or lets all go on; CPUs that come later too. */
void cpu_events_pause(struct cpu_events *c, bool pause);
/* Stops all; the counts stay readable. */
void cpu_events_stop(struct cpu_events *c);

/*
 * How often event number i should have called the program, by what the kernel counted: exact for
 * events with a fixed period (all clocks), 0 for hardware events at a frequency, whose period varies.
 */
uint64_t cpu_events_expected(struct cpu_events *c, size_t i);

#endif
