/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel offers for sampling, found out by trying: kernels are patched, configured and
 * locked down in ways that no version number tells.
 */
#ifndef CAPTURE_PROBE_H
#define CAPTURE_PROBE_H

#include "base/log.h"

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <stddef.h>

struct feature {
	const char *name;    /* "task-work" */
	const char *purpose; /* what it is for */
	const char *remedy;  /* what to do where it is missing */
	bool is_needed;	     /* without it there is no recording */
	/* 0 if it is there, -errno if not; what was found goes to detail. */
	int (*probe)(const struct log *log, char *detail, size_t size);
};

/* In the order in which they build on each other; ends with a NULL name. */
extern const struct feature capture_features[];

/* 0, or the first needed feature that is missing as an error; its remedy in *ret_remedy. */
int probe_needed(const char **ret_remedy, struct mw_error *e);

#endif
