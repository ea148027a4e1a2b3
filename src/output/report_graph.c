/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call tree as perf report --stdio draws it. A run of calls that all weight passes through is one
 * below the other; where it divides, each branch begins with its share of all samples:
 *
 *             |
 *             ---main
 *                |
 *                |--60.00%--work
 *                |
 *                 --25.00%--idle
 */
#include "output/report_parts.h"

#include <string.h>

#define MARGIN	   12 /* columns before the tree */
#define MAX_BARS   64 /* deeper levels are drawn at this depth */

struct pen {
	const struct call_tree *tree;
	const struct labels *labels;
	uint64_t total;
	bool colour;
	FILE *out;
	int margin;
	bool bars[MAX_BARS + 1]; /* by level: does its line go on downwards? */
};

/* By hand: tens of thousands of rows have two of them, and printf() takes half of the time. */
void report_write_percent(FILE *out, uint64_t part, uint64_t total, size_t width, bool colour)
{
	uint64_t hundredths = (uint64_t)(report_percent(part, total) * 100 + 0.5);
	const char *on = !colour ? "" : hundredths >= 500 ? "\033[31m" : hundredths >= 50 ? "\033[32m" : "";
	char text[32];
	size_t at = sizeof text;
	text[--at] = '%';
	for (unsigned digits = 0; digits < 3 || hundredths; digits++) {
		if (digits == 2)
			text[--at] = '.';
		text[--at] = (char)('0' + hundredths % 10);
		hundredths /= 10;
	}
	while (sizeof text - at < width)
		text[--at] = ' ';
	fputs_unlocked(on, out);
	fwrite_unlocked(text + at, 1, sizeof text - at, out);
	if (*on)
		fputs_unlocked("\033[0m", out);
}

static const struct call *call_at(const struct pen *pen, uint32_t at)
{
	return &pen->tree->calls.items[at];
}

/* The call that a run goes on with: the only one, with all of the weight. 0: none. */
static uint32_t next_of_run(const struct pen *pen, uint32_t at)
{
	const struct call *call = call_at(pen, at);
	if (call->n_children != 1 || call_at(pen, call->first_child)->weight != call->weight)
		return 0;
	return call->first_child;
}

static void draw_name(const struct pen *pen, uint32_t at)
{
	fprintf(pen->out, "%s\n", labels_text(pen->labels, call_at(pen, at)->label));
}

/* Bars of the outer levels; each level is a bar or nothing and ten blanks. */
static void draw_bars(const struct pen *pen, int levels)
{
	fprintf(pen->out, "%*s", pen->margin, "");
	for (int i = 0; i < levels; i++)
		fputs(pen->bars[i] ? "|          " : "           ", pen->out);
}

static void draw_branches(struct pen *pen, uint32_t parent, int level);

static void draw_branch(struct pen *pen, uint32_t at, int level, bool last)
{
	draw_bars(pen, level);
	fprintf(pen->out, "|\n");
	draw_bars(pen, level);
	fprintf(pen->out, "%s--", last ? " " : "|");
	report_write_percent(pen->out, call_at(pen, at)->weight, pen->total, 0, pen->colour);
	fprintf(pen->out, "--");
	draw_name(pen, at);
	pen->bars[level] = !last;
	for (uint32_t next; (next = next_of_run(pen, at)); at = next) {
		draw_bars(pen, level + 1);
		draw_name(pen, next);
	}
	draw_branches(pen, at, MIN(level + 1, MAX_BARS - 1));
}

static void draw_branches(struct pen *pen, uint32_t parent, int level)
{
	const struct call *call = call_at(pen, parent);
	for (uint32_t i = 0; i < call->n_children; i++)
		draw_branch(pen, call->first_child + i, level, i + 1 == call->n_children);
}

void report_write_graph(const struct call_tree *tree, const struct labels *labels,
			uint64_t row_weight, uint64_t total, bool colour, FILE *out)
{
	struct pen pen = {.tree = tree,
			  .labels = labels,
			  .total = total,
			  .colour = colour,
			  .out = out,
			  .margin = MARGIN};
	const struct call *root = call_at(&pen, 0);
	if (!root->n_children)
		return;
	uint32_t at = 0;
	if (root->n_children == 1 && call_at(&pen, root->first_child)->weight == row_weight) {
		at = root->first_child;
		fprintf(out, "%*s|\n%*s---", MARGIN, "", MARGIN, "");
		draw_name(&pen, at);
		pen.margin += 3;
		for (uint32_t next; (next = next_of_run(&pen, at)); at = next) {
			draw_bars(&pen, 0);
			draw_name(&pen, next);
		}
	}
	draw_branches(&pen, at, 0);
	fprintf(out, "\n");
}
