/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Making a recording ready to start, and taking it apart again. */
#include "agent/facts.h"
#include "agent/recorder_state.h"
#include "symbols/kernel_image.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "capture/cpu_events.h"
#include "capture/probe.h"
#include "proc/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#define NS_PER_TICK (NS_PER_SECOND / 10)
/* Descriptors that are left alone when files are pinned. */
#define RESERVED_FDS 64

static void forget_file(void *data, const struct sight_key *key)
{
	struct recorder *r = data;
	sampler_forget_file(r->sampler, &key->inode, &key->id);
}

static void ask_for_addresses(void *data, const struct mw_file_id *id)
{
	struct recorder *r = data;
	if (r->engine == &engine_immediate)
		sampler_ask_for_addresses(r->sampler, id);
}

static void note_change(void *data, uint32_t file)
{
	struct recorder *r = data;
	if (naming_note_change(&r->naming, file) < 0)
		recorder_notice(r, "out of memory: some names may be missing", NULL);
}

static uint32_t reserve_file(void *data, const struct inode_key *key)
{
	struct recorder *r = data;
	return sampler_reserve_file(r->sampler, key);
}

static bool is_file_ready(void *data, uint32_t file)
{
	struct recorder *r = data;
	return first_sight_is_finished(r->first_sight, file);
}

static uint32_t find_code(void *data, const struct frame *frame)
{
	struct recorder *r = data;
	return code_names_find(r->code_names, frame);
}

static int choose_events(struct recorder *r, struct mw_error *e)
{
	const struct record_options *o = r->o;
	if (o->n_events > RECORDER_MAX_EVENTS)
		return error_set(e, -E2BIG, "more than %d events", RECORDER_MAX_EVENTS);
	r->n_events = MAX(o->n_events, 1);
	for (size_t i = 0; i < r->n_events; i++) {
		r->events[i] = (struct event){.frequency = o->frequency, .period = o->count};
		const char *name = o->n_events ? o->events[i] : "cycles";
		int result = event_parse(name, &r->events[i], e);
		if (result < 0)
			return result;
	}
	for (size_t i = 0; i < r->n_events; i++) {
		if (r->events[i].is_off_cpu && !r->engine->measures_waits)
			return error_set(e, -ENOTSUP, "the %s engine does not measure waits (off-cpu)",
					 r->engine->name);
	}
	if (o->n_events || cpu_events_probe(&r->events[0]) >= 0)
		return 0;
	snprintf(r->remark, sizeof r->remark,
		 "no hardware counters here (no PMU)");
	recorder_notice(r, "no hardware counters here (no PMU): cpu-clock instead of cycles", NULL);
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
	r->old_xfsz = signal(SIGXFSZ, SIG_IGN); /* a write over the limit of file sizes fails instead */
	r->mask_is_set = true;
	r->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? error_errno(e, -errno, "signalfd") : 0;
}

/* A store that cannot be used costs what later recordings would save, not this one. */
static int open_store(struct recorder *r, struct mw_error *e)
{
	struct store_options options = {
		.directory = r->o->store,
		.size_limit = r->o->store_size,
		.log = r->o->log,
	};
	int result = store_open(&options, &r->store, e);
	if (result >= 0)
		return 0;
	char text[sizeof e->msg + 64];
	snprintf(text, sizeof text, "no store (%s): symbols are kept for this recording only",
		 e->msg);
	recorder_notice(r, text, "name another directory with --store");
	return store_open_temporary(&options, &r->store, e);
}

/* kallsyms does not say how long functions are; the kernel's own file does, where it is installed. */
static void refine_kernel_symbols(struct recorder *r, int root)
{
	struct kernel_image image = {};
	struct mw_file_id id;
	struct utsname u;
	if (uname(&u) < 0 || kernel_build_id(root, &id, NULL) < 0 ||
	    kernel_image_open(r->store, &r->own_proc, r->o->log, root, u.release, &id, false,
			      &image) < 0)
		return;
	int n = kernel_image_refine(&image, r->kernel);
	log_debug(r->o->log, "kernel: sizes of its own file: %d functions are shorter", n);
	kernel_image_deinit(&image);
}

/* Kernel names are worth having, not needed. */
static void open_kernel_symbols(struct recorder *r)
{
	struct mw_error e;
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 && kernel_symbols_open(root, &r->kernel, &e) < 0)
		recorder_notice(r, e.msg, mw_reason_hint(MW_REASON_HIDDEN_KERNEL));
	if (r->kernel)
		refine_kernel_symbols(r, root);
	facts_of_kernel(r->profile, r->kernel);
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

/* The command has another number in our own PID namespace. */
static int add_command(struct recorder *r, struct mw_error *e)
{
	uint32_t pid = (uint32_t)r->workload.pid;
	int result = r->o->proc ? pid_namespace_translate(&r->proc, pid, &pid) : 0;
	if (result < 0)
		return error_errno(e, result, "the command is not in %s", r->o->proc);
	return sampler_add_after_exec(r->sampler, pid, e);
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
		result = add_command(r, e);
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
		.walk = r->walk,
		.unwind_memory = o->unwind_memory,
		.off_cpu_min = o->off_cpu_min,
		.ring_size = (uint32_t)o->ring_size,
		.log = o->log,
	};
	for (size_t i = 0; r->cgroups_in_kernel && i < o->n_cgroups; i++)
		options.cgroups[options.n_cgroups++] = r->cgroups[i].id;
	struct sampler_handler handler = {r, recorder_on_sample, recorder_on_file,
					  recorder_on_table_wanted};
	int result = sampler_open(&options, &handler, &r->sampler, e);
	if (result < 0) {
		recorder_hint(r, "mapwright doctor shows what recording needs and what this kernel has");
		return result;
	}
	return add_targets(r, e);
}

static const char *const walk_names[] = {
	[SAMPLER_FRAME_POINTERS] = "fp",
	[SAMPLER_TABLES] = "tables",
	[SAMPLER_AUTO] = "auto",
};

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
	if (r->o->call_graph != RECORD_LEAF_ONLY)
		profile_set_fact(r->profile, PROFILE_FACT_CALL_GRAPH, walk_names[r->walk]);
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
	struct code_names_options about_names = {
		.profile = r->profile,
		.proc = &r->proc,
		.server = r->server,
		.job = first_sight_n_jobs + 2,
		.log = r->o->log,
	};
	if (result == 0)
		result = code_names_new(&about_names, &r->code_names);
	struct undecided_options options = {
		.areas = r->areas,
		.images = r->images,
		.inferred = r->inferred,
		.code_names = r->code_names,
		.vdso = vdso,
		.decided = recorder_on_decided,
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
		.reserve = r->walk == SAMPLER_FRAME_POINTERS ? NULL : reserve_file,
		.on_table = r->walk == SAMPLER_FRAME_POINTERS ? NULL : recorder_on_table,
		.forget = forget_file,
		.ambiguous = ask_for_addresses,
		.changed = note_change,
		.data = r,
	};
	uint32_t vdso = 0;
	result = first_sight_new(&options, &r->first_sight);
	if (result == 0)
		result = first_sight_add_vdso(r->first_sight, &vdso);
	if (result == 0)
		result = areas_new(r->profile, r->first_sight, r->images, &r->proc, &r->areas);
	if (result == 0 && r->engine == &engine_immediate)
		result = inventory_new(&r->proc, r->first_sight, &r->inventory);
	if (result == 0)
		result = open_undecided(r, vdso);
	return result < 0 ? error_errno(e, result, "first sight") : 0;
}

/* What runs now first; a /proc that cannot be listed costs only the first samples' callers. */
static int open_preload(struct recorder *r, struct mw_error *e)
{
	const struct record_options *o = r->o;
	if (r->walk == SAMPLER_FRAME_POINTERS)
		return 0;
	int result = preload_new(&r->proc, r->first_sight, &r->preload);
	if (result < 0)
		return error_errno(e, result, "first sight");
	for (size_t i = 0; i < o->n_pids; i++)
		preload_add(r->preload, o->pids[i]);
	for (size_t i = 0; i < o->n_tids; i++)
		preload_add(r->preload, o->tids[i]);
	if (!o->n_pids && !o->n_tids && preload_add_all(r->preload) < 0)
		log_debug(o->log, "unwinding tables: the running processes cannot be listed");
	return 0;
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
		result = held_new(r->places, recorder_add_sample, r, &r->held);
	return result < 0 ? error_errno(e, result, "places") : 0;
}

/* Worth having: without it, a program that lives for a moment may be gone before it is opened. */
static void open_exec_watch(struct recorder *r)
{
	struct mw_error e;
	if (exec_watch_new(&r->proc, r->o->log, &r->exec_watch, &e) < 0)
		recorder_notice(r, e.msg, "short-lived programs that are deleted at once may have no names");
}

static int open_naming(struct recorder *r, struct mw_error *e)
{
	open_kernel_symbols(r);
	int result = symbolizer_new(r->store, r->kernel, &r->symbolizer);
	r->naming = (struct naming){.profile = r->profile, .symbolizer = r->symbolizer,
				    .is_ready = is_file_ready, .find_code = find_code,
				    .data = r};
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
		recorder_hint(r, remedy);
		return result;
	}
	if (r->o->engine == RECORD_ENGINE_AUTO) {
		r->engine = engine_choose();
		return r->engine ? 0 : error_set(e, -ENOSYS, "no engine works on this kernel");
	}
	r->engine = asked_for[r->o->engine];
	if (r->engine->is_offered())
		return 0;
	recorder_hint(r, "leave --engine out: then one that works here is chosen");
	return error_set(e, -ENOSYS, "this kernel lacks what the %s engine is built on",
			 r->engine->name);
}

/* First sight's jobs are numbered from 0 on, the others' numbers are behind them. */
static int start_server(struct recorder *r, struct mw_error *e)
{
	size_t n = first_sight_n_jobs;
	if (n + 3 > ARRAY_SIZE(r->jobs))
		return error_errno(e, -E2BIG, "jobs");
	memcpy(r->jobs, first_sight_jobs, n * sizeof r->jobs[0]);
	r->jobs[n] = places_job;
	r->jobs[n + 1] = inferred_job;
	r->jobs[n + 2] = code_names_job;
	return run_server_start(r->jobs, n + 3, &r->server, e);
}

/* Samples carry the numbers of the initial PID namespace: with another /proc they would be others'. */
static int open_proc(struct recorder *r, struct mw_error *e)
{
	const char *where = r->o->proc ? r->o->proc : "/proc";
	int result = proc_init(&r->own_proc, "/proc", e);
	if (result >= 0)
		result = proc_init(&r->proc, where, e);
	if (result < 0)
		return result;
	if (pid_namespace_is_initial(&r->proc) != 0) /* yes, or it cannot be told */
		return 0;
	recorder_hint(r, "mount the machine's /proc into the container and name it with --proc DIR");
	return error_set(e, -EXDEV,
			 "%s is that of another PID namespace: its numbers are not those of the samples",
			 where);
}

/* Tables need an engine that walks by them. */
static int choose_walk(struct recorder *r, struct mw_error *e)
{
	switch (r->o->call_graph) {
	case RECORD_LEAF_ONLY:
	case RECORD_FRAME_POINTERS:
		r->walk = SAMPLER_FRAME_POINTERS;
		return 0;
	case RECORD_AUTO:
		r->walk = r->engine->walks_by_tables ? SAMPLER_AUTO : SAMPLER_FRAME_POINTERS;
		if (!r->engine->walks_by_tables)
			recorder_notice(r, "callers are found by frame pointers: this engine cannot walk by unwinding tables",
					"programs built without frame pointers will lack callers; Linux 6.18 has what the deferred engine needs");
		return 0;
	case RECORD_TABLES:
		break;
	}
	r->walk = SAMPLER_TABLES;
	if (r->engine->walks_by_tables)
		return 0;
	recorder_hint(r, "--call-graph fp finds callers by frame pointers, and auto does what can be done");
	return error_set(e, -ENOTSUP, "the %s engine cannot walk stacks by unwinding tables",
			 r->engine->name);
}

int recorder_set_up(struct recorder *r, struct mw_error *e)
{
	int result = choose_engine(r, e);
	if (result >= 0)
		result = choose_walk(r, e);
	if (result >= 0)
		result = start_server(r, e);
	if (result >= 0)
		result = block_signals(r, e);
	if (result >= 0 && r->o->command)
		result = workload_prepare(&r->workload, r->o->command, e);
	if (result >= 0)
		result = open_proc(r, e);
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
	if (result >= 0)
		result = open_preload(r, e);
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

void recorder_tear_down(struct recorder *r)
{
	workload_deinit(&r->workload);
	exec_watch_free(r->exec_watch);
	preload_free(r->preload);
	first_sight_free(r->first_sight);
	held_free(r->held);
	places_free(r->places);
	free(r->cgroups);
	undecided_free(r->undecided);
	code_names_free(r->code_names);
	inferred_free(r->inferred);
	areas_free(r->areas);
	inventory_free(r->inventory);
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
	proc_deinit(&r->own_proc);
	control_close(&r->control);
	cleanup_close(&r->epoll);
	cleanup_close(&r->timer);
	cleanup_close(&r->signals);
	if (r->mask_is_set)
		sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	if (r->mask_is_set)
		signal(SIGXFSZ, r->old_xfsz);
}
