/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel and this build offer for recording, probed by trying. One finding per feature, in
 * the order in which people should read them.
 */
#ifndef AGENT_DOCTOR_H
#define AGENT_DOCTOR_H

#include "base/log.h"

#include <mapwright/mapwright.h>

enum doctor_state {
	DOCTOR_PRESENT,
	DOCTOR_DEGRADED, /* missing, and recording goes on with less */
	DOCTOR_MISSING,  /* missing, and recording needs it */
};

struct doctor_finding {
	const char *name;    /* "task-work": as scripts select it */
	const char *purpose; /* what it is for */
	const char *detail;  /* what was found; may be NULL */
	const char *remedy;  /* what to do where it is missing; NULL if it is there or nothing helps */
	enum doctor_state state;
};

typedef void (*doctor_found_fn)(void *data, const struct doctor_finding *finding);

/* Calls found() for each feature; the finding is valid during the call. Returns 0 or -errno. */
int doctor_examine(const struct log *log, doctor_found_fn found, void *data, struct mw_error *e);

#endif
