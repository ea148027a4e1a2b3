/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a profile says about the machine, the recording, its losses and its cost. */
#ifndef AGENT_FACTS_H
#define AGENT_FACTS_H

#include "agent/first_sight.h"
#include "agent/code_names.h"
#include "agent/inferred.h"
#include "agent/places.h"
#include "capture/sampler.h"
#include "profile/profile.h"
#include "symbols/kernel.h"

#include <sys/resource.h>

void facts_of_machine(struct profile *p, char *const *command);
/* Which kernel, and where it is: addresses mean something only there. symbols may be NULL. */
void facts_of_kernel(struct profile *p, const struct kernel_symbols *symbols);
/* start: CLOCK_MONOTONIC, ns. */
void facts_of_start(struct profile *p, uint64_t start);
void facts_of_end(struct profile *p, const struct sampler_counts *counts, uint64_t duration,
		  uint64_t bpf_ns);
void facts_of_files(struct profile *p, const struct first_sight_counts *counts);
/* Times that the kernel dropped notices of execs; samples decided without proof, since too many waited. */
void facts_of_overflows(struct profile *p, uint64_t exec_notices, uint64_t undecided);
/* CPU time that recording has cost so far, ns: ours, that of the fork server and its children. */
uint64_t facts_cpu_time(const struct proc *proc, uint32_t server);
/* other: samples of places that were not wanted; lost: those of which it did not come to light. */
void facts_of_places(struct profile *p, const struct places_counts *counts, uint64_t other,
		     uint64_t lost);
void facts_of_inferred(struct profile *p, const struct inferred_counts *counts);
void facts_of_code_names(struct profile *p, const struct code_names_counts *counts);
/* Our own cost and that of our children, without the command that was recorded. */
void facts_of_cost(struct profile *p, const struct rusage *command, uint64_t bytes_written);

#endif
