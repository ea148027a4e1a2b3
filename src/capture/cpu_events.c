/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/cpu_events.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "capture/cpu_changes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define NS_PER_SECOND UINT64_C(1000000000)

struct counter {
	uint32_t event;
	uint32_t cpu;
	bool is_online; /* while drop_offline() looks */
	int fd; /* owned by the link once there is one */
	struct bpf_link *link;
};

struct cpu_events {
	const struct event *events; /* not owned */
	size_t n_events;
	struct bpf_program *program;
	const struct log *log;
	VEC(struct counter) counters;
	unsigned divisor; /* of the rate that was asked for */
	bool is_paused;
	int changes; /* cpu_changes.h; -1 if nothing is heard */
	uint64_t last_look; /* at the list of CPUs */
	uint64_t unwatched;
	uint64_t *closed; /* for each event: overflows of counters that are closed by now */
};

static int perf_event_open(struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_counter(const struct event *event, unsigned divisor, int cpu)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof attr,
		.config = event->config,
		.disabled = 1,
		.exclude_kernel = event->user_only,
		.exclude_user = event->kernel_only,
		.exclude_hv = 1,
	};
	if (event->frequency) {
		attr.freq = 1;
		attr.sample_freq = MAX(event->frequency / divisor, 1);
	} else {
		attr.sample_period = event->period * divisor;
	}
	return perf_event_open(&attr, cpu);
}

int cpu_events_probe(const struct event *event)
{
	int fd = open_counter(event, 1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The period of an event whose period does not change by itself; 0 if it does. */
static uint64_t fixed_period(const struct event *event, unsigned divisor)
{
	if (!event->frequency)
		return event->period * divisor;
	return event->counts_time ? NS_PER_SECOND / MAX(event->frequency / divisor, 1) : 0;
}

static uint64_t overflows(const struct cpu_events *c, const struct counter *counter)
{
	uint64_t period = fixed_period(&c->events[counter->event], c->divisor);
	uint64_t value = 0;
	if (!period || read(counter->fd, &value, sizeof value) != sizeof value)
		return 0;
	return value / period;
}

static void close_counter(struct cpu_events *c, struct counter *counter)
{
	ioctl(counter->fd, PERF_EVENT_IOC_DISABLE, 0);
	c->closed[counter->event] += overflows(c, counter);
	bpf_link__destroy(counter->link); /* closes counter->fd */
}

void cpu_events_free(struct cpu_events *c)
{
	if (!c)
		return;
	vec_foreach(counter, &c->counters)
		close_counter(c, counter);
	vec_deinit(&c->counters);
	cleanup_close(&c->changes);
	free(c->closed);
	free(c);
}

static int explain(const struct event *event, uint32_t cpu, int error, struct mw_error *e)
{
	switch (-error) {
	case EACCES:
	case EPERM:
		return error_set(e, error,
				 "event %s: not permitted (kernel.perf_event_paranoid; needs root or "
				 "CAP_PERFMON)", event->name);
	case EMFILE:
	case ENFILE:
		return error_set(e, error,
				 "event %s on CPU %u: out of file descriptors (two for each event "
				 "and CPU; see ulimit -n)", event->name, cpu);
	case EINVAL:
		if (event->frequency)
			return error_set(e, error,
					 "event %s: the kernel refuses %" PRIu64 " samples a second "
					 "(see kernel.perf_event_max_sample_rate)",
					 event->name, event->frequency);
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return error_set(e, error, "event %s: this machine has none (no PMU?)",
				 event->name);
	}
	return error_errno(e, error, "event %s on CPU %u", event->name, cpu);
}

static int add_counter(struct cpu_events *c, uint32_t event, uint32_t cpu, struct mw_error *e)
{
	_cleanup_close_ int fd = open_counter(&c->events[event], c->divisor, (int)cpu);
	if (fd < 0)
		return explain(&c->events[event], cpu, fd, e);
	int r = vec_reserve(&c->counters, c->counters.n + 1);
	if (r < 0)
		return r;
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = event);
	struct bpf_link *link = bpf_program__attach_perf_event_opts(c->program, fd, &options);
	if (!link)
		return explain(&c->events[event], cpu, -errno, e);
	struct counter counter = {.event = event, .cpu = cpu, .fd = take_fd(fd), .link = link};
	if (c->is_paused) /* attaching starts it */
		ioctl(counter.fd, PERF_EVENT_IOC_DISABLE, 0);
	return vec_push(&c->counters, counter);
}

/* Calls fn for each CPU in a list like "0-3,8,10-11". */
static int each_cpu(const char *list, int (*fn)(struct cpu_events *, uint32_t, struct mw_error *),
		    struct cpu_events *c, struct mw_error *e)
{
	for (const char *at = list; *at >= '0' && *at <= '9';) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = first; cpu <= last && cpu < 65536; cpu++) {
			int r = fn(c, (uint32_t)cpu, e);
			if (r < 0)
				return r;
		}
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static int read_online(char **ret, struct mw_error *e)
{
	int r = io_read_text(AT_FDCWD, "/sys/devices/system/cpu/online", 65536, ret, NULL);
	return r < 0 ? error_errno(e, r, "/sys/devices/system/cpu/online") : 0;
}

static bool has_cpu(const struct cpu_events *c, uint32_t cpu)
{
	vec_foreach(counter, &c->counters) {
		if (counter->cpu == cpu)
			return true;
	}
	return false;
}

static int add_cpu(struct cpu_events *c, uint32_t cpu, struct mw_error *e)
{
	if (has_cpu(c, cpu))
		return 0;
	for (uint32_t event = 0; event < c->n_events; event++) {
		if (c->events[event].is_off_cpu)
			continue;
		int r = add_counter(c, event, cpu, e);
		if (r == -ENODEV && c->counters.n)
			return 0; /* it went while we looked */
		if (r < 0)
			return r;
	}
	if (c->last_look && !c->is_paused)
		c->unwatched += clock_now_ns() - c->last_look;
	log_debug(c->log, "events: started on CPU %u", cpu);
	return 0;
}

int cpu_events_open(const struct event *events, size_t n_events, struct bpf_program *program,
		    const struct log *log, struct cpu_events **ret, struct mw_error *e)
{
	struct cpu_events *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	*c = (struct cpu_events){.events = events, .n_events = n_events, .program = program,
				 .log = log, .divisor = 1, .closed = calloc(n_events, sizeof *c->closed),
				 .changes = cpu_changes_open()};
	_cleanup_free_ char *online = NULL;
	int r = c->closed ? read_online(&online, e) : -ENOMEM;
	if (r == 0)
		r = each_cpu(online, add_cpu, c, e);
	if (r < 0) {
		cpu_events_free(c);
		return r;
	}
	c->last_look = clock_now_ns();
	*ret = c;
	return 0;
}

/* Those that are not marked. */
static int drop_counters(struct cpu_events *c)
{
	size_t kept = 0;
	vec_foreach(counter, &c->counters) {
		if (counter->is_online) {
			c->counters.items[kept++] = *counter;
			continue;
		}
		log_debug(c->log, "events: stopped on CPU %u", counter->cpu);
		close_counter(c, counter);
	}
	int dropped = (int)(c->counters.n - kept);
	c->counters.n = kept;
	return dropped;
}

static int mark_online(struct cpu_events *c, uint32_t cpu, struct mw_error *e)
{
	vec_foreach(counter, &c->counters) {
		if (counter->cpu == cpu)
			counter->is_online = true;
	}
	return 0;
}

/* Closes the counters of CPUs that are not in the list. */
static int drop_offline(struct cpu_events *c, const char *online)
{
	vec_foreach(counter, &c->counters)
		counter->is_online = false;
	each_cpu(online, mark_online, c, NULL);
	return drop_counters(c);
}

int cpu_events_refresh(struct cpu_events *c)
{
	_cleanup_free_ char *online = NULL;
	int r = read_online(&online, NULL);
	if (r < 0)
		return r;
	int dropped = drop_offline(c, online);
	size_t before = c->counters.n;
	r = each_cpu(online, add_cpu, c, NULL);
	c->last_look = clock_now_ns();
	return r < 0 ? r : dropped + (int)(c->counters.n - before);
}

/* A counter does not survive that its CPU was away, though nothing shows it. */
void cpu_events_follow(struct cpu_events *c)
{
	uint32_t cpu;
	bool changed = false;
	while (c->changes >= 0 && cpu_changes_next(c->changes, &cpu) == 1) {
		vec_foreach(counter, &c->counters)
			counter->is_online = cpu != CPU_CHANGES_ANY && counter->cpu != cpu;
		drop_counters(c);
		changed = true;
	}
	if (changed)
		cpu_events_refresh(c);
}

/*
 * By counters that are opened anew: after PERF_EVENT_IOC_PERIOD the samples of a clock would go on to
 * carry the period of before (Linux 6.18), and weigh too little.
 */
void cpu_events_set_divisor(struct cpu_events *c, unsigned divisor)
{
	vec_foreach(counter, &c->counters)
		counter->is_online = false;
	drop_counters(c);
	c->divisor = divisor;
	c->last_look = clock_now_ns();
	cpu_events_refresh(c);
}

uint64_t cpu_events_unwatched(const struct cpu_events *c)
{
	return c->unwatched;
}

void cpu_events_pause(struct cpu_events *c, bool pause)
{
	c->is_paused = pause;
	vec_foreach(counter, &c->counters)
		ioctl(counter->fd, pause ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

void cpu_events_stop(struct cpu_events *c)
{
	cpu_events_pause(c, true);
}

uint64_t cpu_events_expected(struct cpu_events *c, size_t i)
{
	uint64_t sum = c->closed[i];
	vec_foreach(counter, &c->counters) {
		if (counter->event == i)
			sum += overflows(c, counter);
	}
	return sum;
}
