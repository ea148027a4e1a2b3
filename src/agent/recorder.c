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
 */
#include "agent/recorder.h"

#include "agent/areas.h"
#include "agent/control.h"
#include "agent/facts.h"
#include "agent/first_sight.h"
#include "agent/governor.h"
#include "agent/held.h"
#include "agent/places.h"
#include "agent/undecided.h"
#include "agent/workload.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "capture/cpu_events.h"
#include "capture/engine.h"
#include "capture/probe.h"
#include "content/exec_watch.h"
#include "content/roots.h"
#include "profile/naming.h"
#include "profile/writer.h"
#include "symbols/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_TICK   (NS_PER_SECOND / 10)
/* Files that are still being worked on at the end get this long. */
#define LAST_WORK_NS (5 * NS_PER_SECOND)
#define MAX_EVENTS   16
/* Descriptors that are left alone when files are pinned. */
#define RESERVED_FDS 64

struct recorder {
	const struct record_options *o;
	struct event events[MAX_EVENTS];
	size_t n_events;
	char remark[160]; /* why the event is another one than asked for */

	struct workload workload;
	struct control control;
	struct proc proc;
	struct run_server *server;
	struct sampler *sampler;
	struct store *store;
	struct kernel_symbols *kernel;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct profile_writer *writer;
	struct first_sight *first_sight;
	struct places *places;
	struct held *held; /* NULL: all places are wanted, or which are is known at once */
	struct cgroup_target *cgroups; /* owned, o->n_cgroups of them */
	bool cgroups_in_kernel;        /* the kernel tells which samples are in them */
	uint64_t other_places;         /* samples left out */
	struct run_job jobs[8];
	struct exec_watch *exec_watch; /* NULL: the kernel does not tell what is executed */
	struct images *images;
	struct roots *roots;
	struct areas *areas;
	struct inferred *inferred;
	struct undecided *undecided;
	const struct engine *engine;
	struct naming naming;
	struct governor governor;

	int signals; /* signalfd */
	int timer;   /* timerfd */
	int epoll;
	sigset_t old_mask;
	bool mask_is_set;

	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t last_second;
	unsigned interrupts;
	bool is_over;
	struct mw_error write_error; /* the profile could not be written any more */
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static void notice(const struct recorder *r, const char *text, const char *hint)
{
	const struct record_listener *l = r->o->listener;
	if (l && l->notice)
		l->notice(l->data, text, hint);
}

static void hint(const struct recorder *r, const char *text)
{
	const struct record_listener *l = r->o->listener;
	if (l && l->hint)
		l->hint(l->data, text);
}

/* ---- what the sampler delivers --------------------------------------------------------------- */

static int on_file(void *data, const struct file_sighting *sighting)
{
	struct recorder *r = data;
	return first_sight_add(r->first_sight, sighting);
}

/* The sampler's file numbers to the profile's. */
static int translate_frame(struct recorder *r, const struct sample *sample, struct frame *f)
{
	if (f->kind == FRAME_JIT)
		return areas_find_code(r->areas, sample, f->address, &f->file);
	if (f->kind != FRAME_FILE)
		return 0;
	f->file = first_sight_profile_file(r->first_sight, f->file);
	if (f->file == UINT32_MAX) {
		f->kind = FRAME_RAW;
		if (f->reason == MW_REASON_NONE)
			f->reason = MW_REASON_EVICTED;
	}
	return 0;
}

static int on_sample(void *data, const struct sample *sample)
{
	struct recorder *r = data;
	struct frame frames[512];
	uint64_t cgroup;
	enum places_verdict verdict;
	int seen = places_see(r->places, sample, &cgroup, &verdict);
	if (seen < 0)
		return seen;
	if (verdict == PLACES_OTHER) {
		r->other_places++;
		return 0;
	}
	uint32_t n = MIN(sample->n_frames, ARRAY_SIZE(frames));
	memcpy(frames, sample->frames, n * sizeof frames[0]);
	for (uint32_t i = 0; i < n; i++) {
		int failure = translate_frame(r, sample, &frames[i]);
		if (failure < 0)
			return failure;
	}
	struct sample translated = *sample;
	translated.frames = frames;
	translated.n_frames = n;
	translated.cgroup = cgroup;
	roots_touch(r->roots, sample->mount_namespace);
	if (r->exec_watch)
		exec_watch_see_namespace(r->exec_watch, sample->mount_namespace, sample->task.pid);
	return undecided_take(r->undecided, &translated);
}

static int add_sample(void *data, const struct sample *sample)
{
	struct recorder *r = data;
	int result = profile_add_sample(r->profile, sample);
	return result < 0 ? result : 0;
}

static int on_decided(void *data, struct sample *sample, struct frame *frames)
{
	struct recorder *r = data;
	return r->held ? held_take(r->held, sample) : add_sample(r, sample);
}

static void forget_file(void *data, const struct sight_key *key)
{
	struct recorder *r = data;
	sampler_forget_file(r->sampler, &key->inode, &key->id);
}

static bool is_file_ready(void *data, uint32_t file)
{
	struct recorder *r = data;
	return first_sight_is_finished(r->first_sight, file);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int choose_events(struct recorder *r, struct mw_error *e)
{
	const struct record_options *o = r->o;
	if (o->n_events > MAX_EVENTS)
		return error_set(e, -E2BIG, "more than %d events", MAX_EVENTS);
	r->n_events = MAX(o->n_events, 1);
	for (size_t i = 0; i < r->n_events; i++) {
		r->events[i] = (struct event){.frequency = o->frequency, .period = o->count};
		const char *name = o->n_events ? o->events[i] : "cycles";
		int result = event_parse(name, &r->events[i], e);
		if (result < 0)
			return result;
	}
	if (o->n_events || cpu_events_probe(&r->events[0]) >= 0)
		return 0;
	snprintf(r->remark, sizeof r->remark,
		 "no hardware counters here (no PMU)");
	notice(r, "no hardware counters here (no PMU): cpu-clock instead of cycles", NULL);
	return event_parse("cpu-clock", &r->events[0], e);
}

static int block_signals(struct recorder *r, struct mw_error *e)
{
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->mask_is_set = true;
	r->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? error_errno(e, -errno, "signalfd") : 0;
}

/* A store that cannot be used costs what later recordings would save, not this one. */
static int open_store(struct recorder *r, struct mw_error *e)
{
	struct store_options options = {.directory = r->o->store, .log = r->o->log};
	int result = store_open(&options, &r->store, e);
	if (result >= 0)
		return 0;
	char text[sizeof e->msg + 64];
	snprintf(text, sizeof text, "no store (%s): symbols are kept for this recording only",
		 e->msg);
	notice(r, text, "name another directory with --store");
	return store_open_temporary(&options, &r->store, e);
}

/* Kernel names are worth having, not needed. */
static void open_kernel_symbols(struct recorder *r)
{
	struct mw_error e;
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 && kernel_symbols_open(root, &r->kernel, &e) < 0)
		notice(r, e.msg, mw_reason_hint(MW_REASON_HIDDEN_KERNEL));
}

static int check_target(const struct recorder *r, uint32_t id, const char *what,
			struct mw_error *e)
{
	uint64_t start;
	int result = proc_start_time(&r->proc, id, &start);
	if (result == -ENOENT || result == -ESRCH)
		return error_set(e, -ESRCH, "there is no %s %u", what, id);
	return result < 0 ? error_errno(e, result, "%s %u", what, id) : 0;
}

static bool has_targets(const struct record_options *o)
{
	return o->all_cpus || o->n_pids || o->n_tids || o->n_containers || o->n_cgroups;
}

/* The kernel tells cgroups of the unified hierarchy; others, and containers, are told by us. */
static int find_cgroups(struct recorder *r, struct mw_error *e)
{
	const struct record_options *o = r->o;
	r->cgroups = calloc(o->n_cgroups + 1, sizeof *r->cgroups);
	if (!r->cgroups)
		return -ENOMEM;
	r->cgroups_in_kernel = o->n_cgroups > 0 && o->n_cgroups <= SAMPLER_CGROUPS_MAX;
	for (size_t i = 0; i < o->n_cgroups; i++) {
		int result = cgroup_target_find(&r->proc, o->cgroups[i], &r->cgroups[i], e);
		if (result < 0)
			return result;
		if (r->cgroups[i].hierarchy)
			r->cgroups_in_kernel = false;
	}
	return 0;
}

static int add_targets(struct recorder *r, struct mw_error *e)
{
	const struct record_options *o = r->o;
	int result = 0;
	for (size_t i = 0; i < o->n_pids && result >= 0; i++) {
		result = check_target(r, o->pids[i], "process", e);
		if (result >= 0)
			result = sampler_add_process(r->sampler, o->pids[i], e);
	}
	for (size_t i = 0; i < o->n_tids && result >= 0; i++) {
		result = check_target(r, o->tids[i], "thread", e);
		if (result >= 0)
			result = sampler_add_thread(r->sampler, o->tids[i], e);
	}
	if (result >= 0 && !has_targets(o))
		result = sampler_add_after_exec(r->sampler, (uint32_t)r->workload.pid, e);
	return result;
}

static int open_sampler(struct recorder *r, struct mw_error *e)
{
	const struct record_options *o = r->o;
	struct sampler_options options = {
		.size = sizeof options,
		.engine = r->engine,
		.events = r->events,
		.n_events = r->n_events,
		.all_tasks = o->all_cpus || o->n_containers || (o->n_cgroups && !r->cgroups_in_kernel),
		.count_idle = o->idle,
		.callers = o->call_graph != RECORD_LEAF_ONLY,
		.max_frames = (uint32_t)o->max_stack,
		.ring_size = (uint32_t)o->ring_size,
		.log = o->log,
	};
	for (size_t i = 0; r->cgroups_in_kernel && i < o->n_cgroups; i++)
		options.cgroups[options.n_cgroups++] = r->cgroups[i].id;
	struct sampler_handler handler = {r, on_sample, on_file};
	int result = sampler_open(&options, &handler, &r->sampler, e);
	if (result < 0) {
		hint(r, "mapwright doctor shows what recording needs and what this kernel has");
		return result;
	}
	return add_targets(r, e);
}

static int open_profile(struct recorder *r, struct mw_error *e)
{
	struct profile_options options = {.bucket_ns = r->o->bucket};
	int result = profile_new(&options, &r->profile);
	for (size_t i = 0; i < r->n_events && result >= 0; i++) {
		const struct event *event = &r->events[i];
		uint32_t number;
		result = profile_add_event(r->profile, event->name,
					   event->counts_time ? "ns" : event->name, event->period,
					   event->frequency, &number);
	}
	if (result < 0)
		return error_errno(e, result, "profile");
	facts_of_machine(r->profile, r->o->command);
	if (r->remark[0])
		profile_set_fact(r->profile, PROFILE_FACT_EVENT_REMARK, r->remark);
	profile_set_fact(r->profile, PROFILE_FACT_EVENT_ASKED,
			 r->o->n_events ? r->o->events[0] : "cycles");
	profile_set_fact(r->profile, PROFILE_FACT_EVENT_USED, r->events[0].name);
	profile_set_fact(r->profile, PROFILE_FACT_ENGINE, r->engine->name);
	return profile_writer_create(r->o->output, r->profile, &r->writer, e);
}

/* Half of what may be open, so that the rest of the recorder never runs dry. */
static size_t max_pins(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 16;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	size_t left = limit.rlim_cur > RESERVED_FDS ? limit.rlim_cur - RESERVED_FDS : 2;
	return MIN(left / 2, 256);
}

static int open_undecided(struct recorder *r, uint32_t vdso)
{
	struct inferred_options about_inferred = {
		.profile = r->profile,
		.first_sight = r->first_sight,
		.images = r->images,
		.proc = &r->proc,
		.server = r->server,
		.job = first_sight_n_jobs + 1,
		.log = r->o->log,
	};
	int result = inferred_new(&about_inferred, &r->inferred);
	struct undecided_options options = {
		.areas = r->areas,
		.images = r->images,
		.inferred = r->inferred,
		.vdso = vdso,
		.decided = on_decided,
		.data = r,
	};
	return result < 0 ? result : undecided_new(&options, &r->undecided);
}

static int open_first_sight(struct recorder *r, struct mw_error *e)
{
	int result = images_new(&r->proc, &r->images);
	if (result == 0)
		result = roots_new(&r->proc, r->o->log, &r->roots);
	if (result < 0)
		return error_errno(e, result, "first sight");
	struct first_sight_options options = {
		.profile = r->profile,
		.store = r->store,
		.server = r->server,
		.proc = &r->proc,
		.images = r->images,
		.roots = r->roots,
		.log = r->o->log,
		.max_pins = max_pins(),
		.forget = forget_file,
		.data = r,
	};
	uint32_t vdso = 0;
	result = first_sight_new(&options, &r->first_sight);
	if (result == 0)
		result = first_sight_add_vdso(r->first_sight, &vdso);
	if (result == 0)
		result = areas_new(r->profile, r->first_sight, r->images, &r->areas);
	if (result == 0)
		result = open_undecided(r, vdso);
	return result < 0 ? error_errno(e, result, "first sight") : 0;
}

static int open_places(struct recorder *r, struct mw_error *e)
{
	struct places_options options = {
		.profile = r->profile,
		.proc = &r->proc,
		.server = r->server,
		.job = first_sight_n_jobs,
		.log = r->o->log,
		.containers = r->o->containers,
		.n_containers = r->o->n_containers,
		.cgroups = r->cgroups,
		.n_cgroups = r->cgroups_in_kernel ? 0 : r->o->n_cgroups,
	};
	int result = places_new(&options, &r->places);
	if (result == 0 && r->o->n_containers)
		result = held_new(r->places, add_sample, r, &r->held);
	return result < 0 ? error_errno(e, result, "places") : 0;
}

/* Worth having: without it, a program that lives for a moment may be gone before it is opened. */
static void open_exec_watch(struct recorder *r)
{
	struct mw_error e;
	if (exec_watch_new(&r->proc, r->o->log, &r->exec_watch, &e) < 0)
		notice(r, e.msg, "short-lived programs that are deleted at once may have no names");
}

static int take_executed(struct recorder *r)
{
	int fd, result = 0;
	while (result >= 0 && r->exec_watch && (fd = exec_watch_next(r->exec_watch)) >= 0) {
		exec_watch_ignore(r->exec_watch, fd);
		result = first_sight_add_executed(r->first_sight, fd);
	}
	return result;
}

static int open_naming(struct recorder *r, struct mw_error *e)
{
	open_kernel_symbols(r);
	int result = symbolizer_new(r->store, r->kernel, &r->symbolizer);
	r->naming = (struct naming){.profile = r->profile, .symbolizer = r->symbolizer,
				    .is_ready = is_file_ready, .data = r};
	return result < 0 ? error_errno(e, result, "names") : 0;
}

static int watch(struct recorder *r, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	return fd >= 0 && epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_loop(struct recorder *r, struct mw_error *e)
{
	struct itimerspec tick = {.it_interval.tv_nsec = NS_PER_TICK, .it_value.tv_nsec = NS_PER_TICK};
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->epoll < 0 || r->timer < 0 || timerfd_settime(r->timer, 0, &tick, NULL) < 0)
		return error_errno(e, -errno, "cannot set up the event loop");
	const int fds[] = {r->timer,
			   r->signals,
			   r->workload.pidfd,
			   sampler_fd(r->sampler),
			   run_server_fd(r->server),
			   r->exec_watch ? exec_watch_fd(r->exec_watch) : -1,
			   r->control.orders};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		int result = watch(r, fds[i]);
		if (result < 0)
			return error_errno(e, result, "cannot set up the event loop");
	}
	return 0;
}

static int choose_engine(struct recorder *r, struct mw_error *e)
{
	static const struct engine *const asked_for[] = {
		[RECORD_ENGINE_DEFERRED] = &engine_deferred,
		[RECORD_ENGINE_IMMEDIATE] = &engine_immediate,
	};
	const char *remedy = NULL;
	int result = probe_needed(&remedy, e);
	if (result < 0) {
		hint(r, remedy);
		return result;
	}
	if (r->o->engine == RECORD_ENGINE_AUTO) {
		r->engine = engine_choose();
		return r->engine ? 0 : error_set(e, -ENOSYS, "no engine works on this kernel");
	}
	r->engine = asked_for[r->o->engine];
	if (r->engine->is_offered())
		return 0;
	hint(r, "leave --engine out: then one that works here is chosen");
	return error_set(e, -ENOSYS, "this kernel lacks what the %s engine is built on",
			 r->engine->name);
}

/* First sight's jobs are numbered from 0 on, the others' numbers are behind them. */
static int start_server(struct recorder *r, struct mw_error *e)
{
	size_t n = first_sight_n_jobs;
	if (n + 2 > ARRAY_SIZE(r->jobs))
		return error_errno(e, -E2BIG, "jobs");
	memcpy(r->jobs, first_sight_jobs, n * sizeof r->jobs[0]);
	r->jobs[n] = places_job;
	r->jobs[n + 1] = inferred_job;
	return run_server_start(r->jobs, n + 2, &r->server, e);
}

static int set_up(struct recorder *r, struct mw_error *e)
{
	int result = choose_engine(r, e);
	if (result >= 0)
		result = start_server(r, e);
	if (result >= 0)
		result = block_signals(r, e);
	if (result >= 0 && r->o->command)
		result = workload_prepare(&r->workload, r->o->command, e);
	if (result >= 0)
		result = proc_init(&r->proc, "/proc", e);
	if (result >= 0)
		result = choose_events(r, e);
	if (result >= 0)
		result = find_cgroups(r, e);
	if (result >= 0)
		result = open_sampler(r, e);
	if (result >= 0)
		result = open_store(r, e);
	if (result >= 0)
		result = open_profile(r, e);
	if (result >= 0)
		result = open_naming(r, e);
	if (result >= 0)
		result = open_first_sight(r, e);
	if (result >= 0 && r->o->control)
		result = control_open(&r->control, r->o->control, e);
	if (result >= 0)
		result = open_places(r, e);
	if (result >= 0) {
		open_exec_watch(r);
		result = open_loop(r, e);
	}
	return result;
}

static void tear_down(struct recorder *r)
{
	workload_deinit(&r->workload);
	exec_watch_free(r->exec_watch);
	first_sight_free(r->first_sight);
	held_free(r->held);
	places_free(r->places);
	free(r->cgroups);
	undecided_free(r->undecided);
	inferred_free(r->inferred);
	areas_free(r->areas);
	images_free(r->images);
	roots_free(r->roots);
	naming_deinit(&r->naming);
	sampler_free(r->sampler);
	profile_writer_free(r->writer);
	profile_free(r->profile);
	symbolizer_free(r->symbolizer);
	kernel_symbols_close(r->kernel);
	store_close(r->store);
	run_server_stop(r->server);
	proc_deinit(&r->proc);
	control_close(&r->control);
	cleanup_close(&r->epoll);
	cleanup_close(&r->timer);
	cleanup_close(&r->signals);
	if (r->mask_is_set)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void show_progress(const struct recorder *r)
{
	const struct record_listener *l = r->o->listener;
	if (!l || !l->progress)
		return;
	char line[160];
	snprintf(line, sizeof line, "recording: %.0f s, %" PRIu64 " samples, %zu files",
		 (double)(now_ns() - r->start) / 1e9, r->profile->total_count,
		 r->profile->files.n);
	l->progress(l->data, line);
}

/* A profile that cannot be written any more (disk full) ends the recording; what is written stays. */
static void flush(struct recorder *r)
{
	if (profile_writer_flush(r->writer, &r->write_error) < 0)
		r->is_over = true;
}

/* Says so the first time; the report has the rest. */
static void govern(struct recorder *r)
{
	uint64_t spent = facts_cpu_time(&r->proc, (uint32_t)run_server_pid(r->server)) +
			 sampler_run_time(r->sampler);
	if (!governor_tell(&r->governor, now_ns(), spent))
		return;
	sampler_set_divisor(r->sampler, r->governor.divisor);
	log_debug(r->o->log, "governor: the rate is divided by %u now", r->governor.divisor);
	if (r->governor.lowered == 1 && r->governor.divisor == 2)
		notice(r, "fewer samples from here on: recording cost more than --max-overhead", NULL);
}

static int each_second(struct recorder *r)
{
	govern(r);
	int result = naming_go_on(&r->naming);
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
	return undecided_tick(r->undecided);
}

static int each_tick(struct recorder *r)
{
	uint64_t expirations;
	if (read(r->timer, &expirations, sizeof expirations) < 0)
		return errno == EAGAIN ? 0 : -errno; /* it is not time yet */
	uint64_t now = now_ns();
	first_sight_go_on(r->first_sight);
	int result = decide_more(r);
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
	if (got->ticket >= FIRST_SIGHT_TICKETS)
		return inferred_take_result(r->inferred, got);
	return first_sight_take_result(r->first_sight, got);
}

static int take_results(struct recorder *r)
{
	struct run_result got;
	int result;
	while ((result = run_server_receive(r->server, &got)) == 1) {
		result = take_result(r, &got);
		if (result < 0)
			return result;
	}
	if (result >= 0)
		result = places_go_on(r->places);
	first_sight_go_on(r->first_sight);
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
	int result = take_executed(r);
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
	r->start = r->last_second = now_ns();
	governor_init(&r->governor, r->o->max_overhead / 100, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	facts_of_start(r->profile, r->start);
	int result = sampler_start(r->sampler, e);
	if (result >= 0 && r->o->command)
		result = workload_go(&r->workload, r->o->command[0], e);
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
	uint64_t deadline = now_ns() + LAST_WORK_NS;
	while ((first_sight_unfinished(r->first_sight) || undecided_waiting(r->undecided) ||
		places_unfinished(r->places)) &&
	       now_ns() < deadline) {
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
		notice(r, "no container of that name was seen", seen.n > 1 ? (char *)seen.data : NULL);
	buffer_deinit(&seen);
}

static int finish(struct recorder *r, struct mw_error *e)
{
	uint64_t duration = now_ns() - r->start;
	int result = sampler_stop(r->sampler);
	if (result >= 0)
		result = decide_more(r);
	if (result >= 0)
		result = finish_work(r, e);
	if (result == -EINTR)
		return result;
	if (result >= 0)
		result = naming_finish(&r->naming);
	if (result < 0)
		return error_errno(e, result, "finishing the recording");

	struct sampler_counts counts;
	sampler_get_counts(r->sampler, &counts);
	facts_of_end(r->profile, &counts, duration, sampler_run_time(r->sampler));
	struct first_sight_counts files = first_sight_get_counts(r->first_sight);
	facts_of_files(r->profile, &files);
	struct places_counts places = places_get_counts(r->places);
	struct held_counts held = r->held ? held_get_counts(r->held) : (struct held_counts){};
	facts_of_places(r->profile, &places, r->other_places + held.other, held.lost);
	say_if_nothing_matched(r);
	struct inferred_counts inferred = inferred_get_counts(r->inferred);
	facts_of_inferred(r->profile, &inferred);
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
		.signals = -1,
		.timer = -1,
		.epoll = -1,
	};
	struct mw_error unheard = {};
	e = e ? e : &unheard;
	int result = set_up(&r, e);
	if (result >= 0)
		result = record(&r, e);
	if (result >= 0)
		result = finish(&r, e);
	if (result >= 0)
		result = r.workload.status;
	tear_down(&r);
	return result;
}
