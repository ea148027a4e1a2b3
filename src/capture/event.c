/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/event.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

struct known_event {
	const char *name;
	const char *other_name;
	uint32_t type;
	uint64_t config;
};

/* Ours, beside those of the kernel. */
#define OFF_CPU	     "off-cpu"
#define TYPE_OFF_CPU UINT32_MAX

static const struct known_event known_events[] = {
	{"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{OFF_CPU, NULL, TYPE_OFF_CPU, 0},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
};

const char *event_name(unsigned i)
{
	return i < ARRAY_SIZE(known_events) ? known_events[i].name : NULL;
}

static const struct known_event *find_event(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_events); i++) {
		const struct known_event *k = &known_events[i];
		if (strlen(k->name) == n && strncmp(k->name, name, n) == 0)
			return k;
		if (k->other_name && strlen(k->other_name) == n &&
		    strncmp(k->other_name, name, n) == 0)
			return k;
	}
	return NULL;
}

static int refuse(const char *name, struct mw_error *e)
{
	char names[360] = "";
	for (size_t i = 0; i < ARRAY_SIZE(known_events); i++) {
		size_t n = strlen(names);
		snprintf(names + n, sizeof names - n, "%s%s", i ? " " : "", known_events[i].name);
	}
	return error_set(e, -EINVAL, "unknown event '%.60s'; there are: %s", name, names);
}

static int parse_modifiers(const char *text, struct event *event)
{
	for (; *text; text++) {
		if (*text == 'u')
			event->user_only = true;
		else if (*text == 'k')
			event->kernel_only = true;
		else
			return -EINVAL;
	}
	if (event->user_only && event->kernel_only)
		event->user_only = event->kernel_only = false; /* both: no filter */
	return 0;
}

int event_parse(const char *name, struct event *ret, struct mw_error *e)
{
	size_t n = strcspn(name, ":");
	const struct known_event *known = find_event(name, n);
	if (!known)
		return refuse(name, e);
	struct event event = *ret;
	event.type = known->type;
	event.config = known->config;
	event.is_off_cpu = known->type == TYPE_OFF_CPU;
	event.counts_time = event.is_off_cpu || (known->type == PERF_TYPE_SOFTWARE &&
						 (known->config == PERF_COUNT_SW_CPU_CLOCK ||
						  known->config == PERF_COUNT_SW_TASK_CLOCK));
	event.user_only = event.kernel_only = false;
	if (name[n] == ':' && parse_modifiers(name + n + 1, &event) < 0)
		return error_set(e, -EINVAL,
				 "unknown modifier in event '%.60s': u and k are known", name);
	if (event.is_off_cpu && name[n])
		return error_set(e, -EINVAL, "off-cpu takes no modifier: a wait has both parts");
	if (event.is_off_cpu) /* each wait is one */
		event.frequency = event.period = 0;
	snprintf(event.name, sizeof event.name, "%s%s", known->name, name + n);
	*ret = event;
	return 0;
}
