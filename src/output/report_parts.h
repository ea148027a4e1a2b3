/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the report around and inside the table of report.c. */
#ifndef OUTPUT_REPORT_PARTS_H
#define OUTPUT_REPORT_PARTS_H

#include "output/labels.h"
#include "profile/call_tree.h"

#include <stdio.h>

/* The weight of samples: their value, or their count if nothing has a value. */
struct report_weight {
	uint32_t event;
	bool by_count;
	uint64_t total;
	uint64_t count; /* samples */
};

static inline uint64_t report_weigh(const struct report_weight *w, const struct profile_sample *s)
{
	return w->by_count ? s->count : s->value;
}

/* 0 to 100. */
static inline double report_percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0.0;
}

/* " 12.34%" of total in a width, coloured like perf: red from 5 % on, green from 0.5 % on. */
void report_write_percent(FILE *out, uint64_t part, uint64_t total, size_t width, bool colour);

/* What was recorded where, what was lost, what the recorder cost: lines that begin with #. */
int report_write_head(const struct profile *p, FILE *out);

/* Below a row: perf's tree of callers or callees. row_weight is what the row has in all. */
void report_write_graph(const struct call_tree *tree, const struct labels *labels,
			uint64_t row_weight, uint64_t total, bool colour, FILE *out);

/* What has no name, by reason and file, and what each reason means. */
int report_write_nameless(const struct profile *p, const struct report_weight *weight, FILE *out);

#endif
