/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/governor.h"

#include <string.h>

/* Below this part of the limit the rate may rise again. Doubling it at most doubles the cost. */
#define CALM 0.4

void governor_init(struct governor *g, double limit, unsigned cpus)
{
	*g = (struct governor){.limit = limit, .cpus = cpus ? cpus : 1, .divisor = 1};
}

static void remember(struct governor *g, uint64_t now, uint64_t spent)
{
	if (g->n == GOVERNOR_WINDOW + 1) {
		memmove(g->spent, g->spent + 1, GOVERNOR_WINDOW * sizeof g->spent[0]);
		memmove(g->times, g->times + 1, GOVERNOR_WINDOW * sizeof g->times[0]);
		g->n--;
	}
	g->times[g->n] = now;
	g->spent[g->n++] = spent;
}

/* The new rate is to be judged by itself. */
static int change(struct governor *g, unsigned divisor, uint64_t now, uint64_t spent)
{
	g->lowered += divisor > g->divisor;
	g->divisor = divisor;
	g->n = 0;
	remember(g, now, spent);
	return 1;
}

int governor_tell(struct governor *g, uint64_t now, uint64_t spent)
{
	if (g->limit <= 0)
		return 0;
	remember(g, now, spent);
	if (g->n <= GOVERNOR_WINDOW)
		return 0;
	double wall = (double)(now - g->times[0]) * g->cpus;
	double share = wall > 0 ? (double)(spent - g->spent[0]) / wall : 0;
	if (share > g->limit && g->divisor < GOVERNOR_MAX_DIVISOR)
		return change(g, g->divisor * 2, now, spent);
	if (share < g->limit * CALM && g->divisor > 1)
		return change(g, g->divisor / 2, now, spent);
	return 0;
}
