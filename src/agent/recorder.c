/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A recording, in the order in which things must happen.
 *
 *   1. The fork server and the command are forked while this process is still small.
 *   2. The sampler is loaded; the store, the profile and its file are made.
 *   3. The events start, then the command. From here on one loop, woken by new files, finished
 *      children, signals, and ten times a second.
 *   4. Each second: names for what is new, one transaction of the profile, a look at CPUs.
 *   5. The events stop. Files that are being worked on get some seconds to finish. The rest of the
 *      names, facts and tallies are written, and the profile is closed.
 *
 * 1 and 2 are recorder_setup.c; what the sampler delivers goes through recorder_samples.c.
 */
#include "agent/recorder.h"

#include "agent/facts.h"
#include "agent/late_lines.h"
#include "agent/recorder_state.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>

/* Files that are still being worked on at the end get this long. */
#define LAST_WORK_NS (5 * NS_PER_SECOND)

void recorder_notice(const struct recorder *r, const char *text, const char *hint)
{
	const struct record_listener *l = r->o->listener;
	if (l && l->notice)
		l->notice(l->data, text, hint);
}

void recorder_hint(const struct recorder *r, const char *text)
{
	const struct record_listener *l = r->o->listener;
	if (l && l->hint)
		l->hint(l->data, text);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void show_progress(const struct recorder *r)
{
	const struct record_listener *l = r->o->listener;
	if (!l || !l->progress)
		return;
	char line[160];
	snprintf(line, sizeof line, "recording: %.0f s, %" PRIu64 " samples, %zu files",
		 (double)(clock_now_ns() - r->start) / 1e9, r->profile->total_count,
		 r->profile->files.n);
	l->progress(l->data, line);
}

/*
 * What the file has is not kept for ever: so a recording may last. If there are always files that are
 * being worked on, some frames in them have to do with their reason.
 */
static int forget(struct recorder *r)
{
	int large = profile_is_large(r->profile), result = 0;
	if (large == 2) {
		result = naming_finish(&r->naming);
		if (result == 0)
			result = profile_writer_flush(r->writer, &r->write_error);
	}
	if (result < 0 || !large || !naming_is_done(&r->naming))
		return result;
	result = profile_writer_forget(r->writer, &r->write_error);
	if (result == 1) {
		naming_forget(&r->naming);
		code_names_forget(r->code_names);
		log_debug(r->o->log, "profile: tables begin anew");
	}
	return result;
}

/* A profile that cannot be written any more (disk full) ends the recording; what is written stays. */
static void flush(struct recorder *r)
{
	int result = profile_writer_flush(r->writer, &r->write_error);
	if (result == 0)
		result = forget(r);
	if (result < 0)
		r->is_over = true;
}

/* Says so the first time; the report has the rest. */
static void govern(struct recorder *r)
{
	uint64_t spent = facts_cpu_time(&r->own_proc, (uint32_t)run_server_pid(r->server)) +
			 sampler_run_time(r->sampler);
	if (!governor_tell(&r->governor, clock_now_ns(), spent))
		return;
	sampler_set_divisor(r->sampler, r->governor.divisor);
	log_debug(r->o->log, "governor: the rate is divided by %u now", r->governor.divisor);
	if (r->governor.lowered == 1 && r->governor.divisor == 2)
		recorder_notice(r, "fewer samples from here on: recording cost more than --max-overhead", NULL);
}

/* Once: the store's disk is full. */
static void tell_of_store(struct recorder *r)
{
	int cause = store_elsewhere_cause(r->store);
	if (!cause || r->told_of_store)
		return;
	r->told_of_store = true;
	char text[512];
	snprintf(text, sizeof text,
		 "%.300s takes nothing more (%s): symbols of new files are kept for this recording only",
		 store_directory(r->store), strerror(-cause));
	recorder_notice(r, text, "make room there, or name another directory with --store");
}

static int each_second(struct recorder *r)
{
	tell_of_store(r);
	govern(r);
	int result = naming_go_on(&r->naming);
	if (result >= 0)
		result = naming_review(&r->naming);
	flush(r);
	sampler_refresh(r->sampler);
	roots_expire(r->roots);
	if (r->exec_watch)
		exec_watch_refresh(r->exec_watch);
	show_progress(r);
	return result;
}

static int decide_more(struct recorder *r)
{
	inferred_tick(r->inferred);
	int result = code_names_tick(r->code_names);
	return result < 0 ? result : undecided_tick(r->undecided);
}

static int each_tick(struct recorder *r)
{
	uint64_t expirations;
	if (read(r->timer, &expirations, sizeof expirations) < 0)
		return errno == EAGAIN ? 0 : -errno; /* it is not time yet */
	uint64_t now = clock_now_ns();
	sampler_follow_cpus(r->sampler);
	int result = r->preload ? preload_tick(r->preload) : 0;
	first_sight_go_on(r->first_sight);
	if (result >= 0)
		result = decide_more(r);
	if (result >= 0 && r->inventory)
		result = inventory_tick(r->inventory);
	if (result >= 0)
		result = places_go_on(r->places);
	if (result >= 0 && r->held)
		result = held_go_on(r->held);
	if (result < 0)
		return result;
	if (r->o->duration && now - r->start >= r->o->duration)
		r->is_over = true;
	if (now - r->last_second < NS_PER_SECOND)
		return 0;
	r->last_second = now;
	return each_second(r);
}

static void take_signals(struct recorder *r)
{
	struct signalfd_siginfo info;
	while (read(r->signals, &info, sizeof info) == sizeof info) {
		r->interrupts++;
		r->is_over = true;
	}
}

static void take_orders(struct recorder *r)
{
	enum control_order order;
	while ((order = control_next(&r->control)) != CONTROL_NONE) {
		if (order == CONTROL_ENABLE || order == CONTROL_DISABLE)
			sampler_pause(r->sampler, order == CONTROL_DISABLE);
		else if (order == CONTROL_STOP)
			r->is_over = true;
		control_acknowledge(&r->control);
	}
}

/* Tickets tell whose job it was. */
static int take_result(struct recorder *r, const struct run_result *got)
{
	if (got->ticket & PLACES_TICKET)
		return places_take_result(r->places, got);
	if (got->ticket & CODE_NAMES_TICKET)
		return code_names_take_result(r->code_names, got);
	if (got->ticket >= FIRST_SIGHT_TICKETS)
		return inferred_take_result(r->inferred, got);
	return first_sight_take_result(r->first_sight, got);
}

static int take_results(struct recorder *r)
{
	struct run_result got;
	int result;
	while ((result = run_server_receive(r->server, &got)) == 1) {
		uint64_t extracted = first_sight_get_counts(r->first_sight).extracted;
		result = take_result(r, &got);
		/* At once: a store that is too small may not have them for long. */
		if (result >= 0 && first_sight_get_counts(r->first_sight).extracted != extracted)
			result = naming_go_on(&r->naming);
		if (result < 0)
			return result;
	}
	if (result >= 0)
		result = places_go_on(r->places);
	first_sight_go_on(r->first_sight);
	return result;
}

int recorder_take_executed(struct recorder *r)
{
	int fd, result = 0;
	uint32_t pid;
	while (result >= 0 && r->exec_watch && (fd = exec_watch_next(r->exec_watch, &pid)) >= 0) {
		exec_watch_ignore(r->exec_watch, fd);
		if (r->o->proc) /* may number processes otherwise */
			pid = 0;
		result = first_sight_add_executed(r->first_sight, fd, pid);
		if (r->preload)
			preload_add(r->preload, pid);
	}
	return result;
}

/* Waits for something to happen and does what it asks for. */
static int turn(struct recorder *r, int timeout_ms)
{
	struct epoll_event ready[8];
	int n = epoll_wait(r->epoll, ready, ARRAY_SIZE(ready), timeout_ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	take_signals(r);
	take_orders(r);
	int result = recorder_take_executed(r);
	if (result >= 0)
		result = sampler_dispatch(r->sampler);
	if (result >= 0)
		result = take_results(r);
	if (result == -EPIPE) /* the fork server died: no new names, but the samples go on */
		result = 0;
	if (result >= 0)
		result = each_tick(r);
	if (r->o->command && workload_has_ended(&r->workload))
		r->is_over = true;
	return result;
}

static int record(struct recorder *r, struct mw_error *e)
{
	r->start = r->last_second = clock_now_ns();
	governor_init(&r->governor, r->o->max_overhead / 100, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	facts_of_start(r->profile, r->start);
	int result = sampler_start(r->sampler, e);
	if (result >= 0 && r->o->command)
		result = workload_go(&r->workload, r->o->command[0], e);
	if (result >= 0 && r->o->command && r->preload && !r->o->proc)
		preload_add(r->preload, (uint32_t)r->workload.pid);
	if (result < 0)
		return result;
	while (!r->is_over) {
		result = turn(r, -1);
		if (result < 0)
			return error_errno(e, result, "recording");
	}
	return 0;
}

/* Files that were seen late are worked on for a while after the last sample. */
static int finish_work(struct recorder *r, struct mw_error *e)
{
	uint64_t deadline = clock_now_ns() + LAST_WORK_NS;
	first_sight_leave_unsampled(r->first_sight);
	while ((first_sight_unfinished(r->first_sight) || undecided_waiting(r->undecided) ||
		places_unfinished(r->places)) &&
	       clock_now_ns() < deadline) {
		struct epoll_event ready[8];
		if (epoll_wait(r->epoll, ready, ARRAY_SIZE(ready), 100) < 0 && errno != EINTR)
			return -errno;
		take_signals(r);
		if (r->interrupts > 1)
			return error_set(e, -EINTR, "interrupted twice: %s lacks the end",
					 r->o->output);
		if (take_results(r) < 0)
			break;
		uint64_t expirations;
		if (read(r->timer, &expirations, sizeof expirations) < 0)
			continue;
		int result = decide_more(r);
		if (result < 0)
			return result;
	}
	int result = undecided_finish(r->undecided);
	if (result < 0)
		return result;
	first_sight_give_up(r->first_sight, MW_REASON_TIMEOUT);
	places_give_up(r->places);
	return r->held ? held_go_on(r->held) : 0;
}

static void list_place(void *data, const char *text)
{
	struct buffer *b = data;
	if (b->n < 400)
		buffer_printf(b, "%s%s", b->n ? ", " : "", text);
}

/* Nothing of what was wanted was there: a name was mistyped, or it did not run. */
static void say_if_nothing_matched(struct recorder *r)
{
	struct buffer seen = {};
	if (!r->o->n_containers || r->profile->total_count)
		return;
	places_list(r->places, list_place, &seen);
	buffer_u8(&seen, 0);
	if (!seen.failed)
		recorder_notice(r, "no container of that name was seen", seen.n > 1 ? (char *)seen.data : NULL);
	buffer_deinit(&seen);
}

static bool has_module_frames(const struct profile *p)
{
	vec_foreach(f, &p->frames) {
		if (f->at.kind == FRAME_KERNEL && f->name.module)
			return true;
	}
	return false;
}

/* BPF programs and modules may have come and gone since kallsyms was read. */
static int check_kernel_names(struct recorder *r)
{
	struct kernel_symbols *later = NULL;
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !has_module_frames(r->profile) || kernel_symbols_open(root, &later, NULL) < 0)
		return 0;
	int n = naming_check_kernel(&r->naming, later);
	log_debug(r->o->log, "kernel: %d names of modules and BPF programs are taken back", n);
	kernel_symbols_close(later);
	return n < 0 ? n : 0;
}

static void show_line(void *data, const char *line)
{
	const struct record_listener *l = data;
	l->progress(l->data, line);
}

/* The profile is complete without them: what goes wrong is for the log. */
static int find_lines(struct recorder *r, uint64_t budget)
{
	const struct record_listener *l = r->o->listener;
	const struct late_lines_options options = {
		.profile = r->profile,
		.store = r->store,
		.proc = &r->own_proc,
		.log = r->o->log,
		.budget = budget,
		.progress = l && l->progress ? show_line : NULL,
		.data = (void *)l,
	};
	int result = late_lines_find(&options);
	if (result < 0)
		log_debug(r->o->log, "source lines: %s", strerror(-result));
	return result == -ENOMEM ? result : 0;
}

static int finish(struct recorder *r, struct mw_error *e)
{
	uint64_t duration = clock_now_ns() - r->start;
	int result = sampler_stop(r->sampler);
	if (result >= 0)
		result = decide_more(r);
	if (result >= 0)
		result = finish_work(r, e);
	if (result == -EINTR)
		return result;
	if (result >= 0)
		result = code_names_finish(r->code_names);
	if (result >= 0)
		result = naming_finish(&r->naming);
	if (result >= 0)
		result = check_kernel_names(r);
	if (result >= 0)
		result = find_lines(r, r->o->symbolize_budget);
	if (result < 0)
		return error_errno(e, result, "finishing the recording");

	struct sampler_counts counts;
	sampler_get_counts(r->sampler, &counts);
	facts_of_end(r->profile, &counts, duration, sampler_run_time(r->sampler));
	struct first_sight_counts files = first_sight_get_counts(r->first_sight);
	facts_of_files(r->profile, &files);
	facts_of_overflows(r->profile,
			   r->exec_watch ? exec_watch_get_counts(r->exec_watch).overflows : 0,
			   undecided_overflows(r->undecided));
	struct places_counts places = places_get_counts(r->places);
	struct held_counts held = r->held ? held_get_counts(r->held) : (struct held_counts){};
	facts_of_places(r->profile, &places, r->other_places + held.other, held.lost);
	say_if_nothing_matched(r);
	tell_of_store(r);
	struct inferred_counts inferred = inferred_get_counts(r->inferred);
	facts_of_inferred(r->profile, &inferred);
	struct code_names_counts code = code_names_get_counts(r->code_names);
	facts_of_code_names(r->profile, &code);
	if (r->governor.lowered)
		profile_set_tally(r->profile, PROFILE_COUNTER, "rate-lowered", r->governor.lowered);
	run_server_stop(take_ptr(r->server));
	workload_deinit(&r->workload);
	facts_of_cost(r->profile, &r->workload.usage, profile_writer_bytes(r->writer));
	if (r->write_error.code) {
		*e = r->write_error;
		return e->code;
	}
	return profile_writer_close(take_ptr(r->writer), e);
}

int record_run(const struct record_options *options, struct mw_error *e)
{
	struct recorder r = {
		.o = options,
		.workload = WORKLOAD_INIT,
		.control = CONTROL_INIT,
		.proc = PROC_INIT,
		.own_proc = PROC_INIT,
		.signals = -1,
		.timer = -1,
		.epoll = -1,
	};
	struct mw_error unheard = {};
	e = e ? e : &unheard;
	int result = recorder_set_up(&r, e);
	if (result >= 0)
		result = record(&r, e);
	if (result >= 0)
		result = finish(&r, e);
	if (result >= 0)
		result = r.workload.status;
	recorder_tear_down(&r);
	return result;
}
