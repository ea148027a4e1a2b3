/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report for people: what perf report --stdio shows, under what was recorded and lost, and above
 * what has no name and why.
 */
#ifndef OUTPUT_REPORT_H
#define OUTPUT_REPORT_H

#include "profile/profile.h"

#include <stdio.h>

enum report_key {
	REPORT_COMM,
	REPORT_PID,
	REPORT_TID,
	REPORT_DSO,
	REPORT_SYM,
	REPORT_CGROUP,
	REPORT_CPU,
	REPORT_CONTAINER,
	REPORT_IMAGE,
	REPORT_POD,
	REPORT_SRCLINE, /* file:line of the innermost code */
	REPORT_SRCFILE,
	REPORT_N_KEYS,
};

struct report_options {
	uint8_t keys[REPORT_N_KEYS]; /* enum report_key */
	size_t n_keys;          /* 0: comm, dso, sym */
	bool call_graph;        /* -g */
	bool no_children;       /* --no-children; without call_graph it makes no difference */
	bool colour;
	double percent_limit;   /* rows below are left out */
	double graph_limit;     /* call graph lines below are left out; 0: 0.5 */
	unsigned width;         /* columns of the terminal; 0: rows are as long as they are */
};

/* Reads "comm,dso,sym". -EINVAL names the key at fault and lists those that there are. */
int report_parse_sort(const char *text, struct report_options *options, struct mw_error *e);

/* Whether a sort key is about source lines. */
bool report_wants_lines(const struct report_options *options);

/* Writes the report. Returns 0, -ENOMEM, or what writing gave (-EPIPE, -ENOSPC, ...). */
int report_write(const struct profile *p, const struct report_options *options, FILE *out);

#endif
