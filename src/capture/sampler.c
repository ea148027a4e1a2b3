/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/sampler.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bpf/reasons.h"
#include "bpf/records.h"
#include "capture/cpu_events.h"
#include "capture/engine.h"
#include "capture/join.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

_Static_assert(REASON_NO_MAPPING == MW_REASON_NO_MAPPING, "bpf/reasons.h");
_Static_assert(REASON_RACED == MW_REASON_RACED, "bpf/reasons.h");
_Static_assert(REASON_BROKEN_UNWIND == MW_REASON_BROKEN_UNWIND, "bpf/reasons.h");
_Static_assert(REASON_EXEC_RACED == MW_REASON_EXEC_RACED, "bpf/reasons.h");
_Static_assert(REASON_EXITING == MW_REASON_EXITING, "bpf/reasons.h");
_Static_assert(REASON_NO_USER_STACK == MW_REASON_NO_USER_STACK, "bpf/reasons.h");
_Static_assert(REASON_GHOST == MW_REASON_GHOST, "bpf/reasons.h");
_Static_assert(REASON_LOCK_CONTENDED == MW_REASON_LOCK_CONTENDED, "bpf/reasons.h");
_Static_assert(REASON_CUT_DEPTH == MW_REASON_CUT_DEPTH, "bpf/reasons.h");
_Static_assert(REASON_EVICTED == MW_REASON_EVICTED, "bpf/reasons.h");
_Static_assert(REASON_NO_TABLE == MW_REASON_NO_TABLE, "bpf/reasons.h");
_Static_assert(REASON_STACK_UNREADABLE == MW_REASON_STACK_UNREADABLE, "bpf/reasons.h");
_Static_assert((int)WALK_FRAME_POINTERS == (int)SAMPLER_FRAME_POINTERS, "bpf/records.h");
_Static_assert((int)WALK_TABLES == (int)SAMPLER_TABLES, "bpf/records.h");
_Static_assert((int)WALK_AUTO == (int)SAMPLER_AUTO, "bpf/records.h");
_Static_assert(CGROUPS_MAX == SAMPLER_CGROUPS_MAX, "bpf/records.h");
_Static_assert(FILE_VDSO == SAMPLER_FILE_VDSO, "bpf/records.h");
_Static_assert(sizeof(struct file_key) == sizeof(struct inode_key), "bpf/records.h");
_Static_assert(offsetof(struct file_key, device) == offsetof(struct inode_key, device),
	       "bpf/records.h");

/* Samples that may wait for their user part at once: tasks that sleep in the kernel, mostly. */
#define MAX_WAITING 16384
/* The table of files is emptied before it is full; its size is in the BPF programs. */
#define FILES_BEFORE_CLEARING 60000

struct sampler {
	struct sampler_options options;
	struct sampler_handler handler;
	struct bpf_object *bpf;
	struct bpf_program *program; /* on_sample */
	int files;		     /* maps, of the object */
	int targets;
	int counters;
	struct bpf_program *on_switch; /* NULL: the engine has none */
	struct bpf_link *switches;     /* of on_switch, while waits are measured */
	struct bpf_link *links[3]; /* of the programs that follow targets */
	size_t n_links;
	struct ring_buffer *ring;
	struct cpu_events *events;
	struct join *join;
	struct tables *tables; /* NULL: none are walked by */
	int n_cpus;
	int statistics; /* while it is open the kernel counts the run time of BPF programs */
	uint32_t next_reserved; /* file number; 0: the first */
	size_t n_files; /* announced since the table was emptied */
	int result;     /* of the handlers during a dispatch */
};

static int deliver_sample(void *data, const struct sample *sample)
{
	struct sampler *s = data;
	return s->handler.on_sample(s->handler.data, sample);
}

/* "prog\0bin\0usr\0" to "/usr/bin/prog". An empty path if it was cut. */
static void join_path(const struct file_record *r, char path[static FILE_PATH_MAX + 1])
{
	size_t size = MIN(r->path_size, FILE_PATH_MAX), n = 0;
	bool is_cut = size > FILE_PATH_MAX - FILE_NAME_MAX;
	for (size_t end = size; end > 0 && !is_cut;) {
		size_t start = end - 1; /* of the component's NUL */
		while (start > 0 && r->path[start - 1])
			start--;
		path[n++] = '/';
		memcpy(path + n, r->path + start, end - 1 - start);
		n += end - 1 - start;
		end = start;
	}
	path[n] = '\0';
}

static int deliver_file(struct sampler *s, const struct file_record *r)
{
	char path[FILE_PATH_MAX + 1];
	join_path(r, path);
	struct file_sighting sighting = {
		.number = r->number,
		.magic = r->magic,
		.pid = r->pid,
		.tid = r->tid,
		.start_time = r->start_time,
		.map_start = r->map_start,
		.map_end = r->map_end,
		.name = r->path_size ? r->path : "",
		.path = path,
		.mount_namespace = r->mount_namespace,
		.root_inode = r->root_inode,
		.root_device = r->root_device,
		.is_program = r->is_program,
	};
	memcpy(&sighting.key, &r->key, sizeof sighting.key);
	s->n_files++;
	return s->handler.on_file(s->handler.data, &sighting);
}

static int deliver_build_id(struct sampler *s, const struct build_id_record *r)
{
	struct file_sighting sighting = {
		.number = r->number,
		.pid = r->pid,
		.tid = r->tid,
		.start_time = r->start_time,
		.exec_count = r->exec_count,
		.image = r->image,
		.address = r->address,
		.name = "",
		.path = "",
		.id = {.kind = MW_FILE_ID_GNU_PADDED, .size = BUILD_ID_SIZE},
	};
	memcpy(sighting.id.bytes, r->build_id, BUILD_ID_SIZE);
	s->n_files++;
	return s->handler.on_file(s->handler.data, &sighting);
}

static int deliver_table_wanted(struct sampler *s, const struct table_record *r)
{
	return s->handler.on_table_wanted ? s->handler.on_table_wanted(s->handler.data, r->number) : 0;
}

static int on_record(void *data, void *record, size_t size)
{
	struct sampler *s = data;
	const struct record_header *header = record;
	int r = 0;
	switch (header->type) {
	case RECORD_SAMPLE:
		r = join_sample(s->join, record);
		break;
	case RECORD_USER:
		r = join_user(s->join, record);
		break;
	case RECORD_FILE:
		r = deliver_file(s, record);
		break;
	case RECORD_TABLE:
		r = deliver_table_wanted(s, record);
		break;
	case RECORD_BUILD_ID:
		r = deliver_build_id(s, record);
		break;
	}
	if (r < 0 && s->result == 0)
		s->result = r;
	return s->result;
}

/*
 * libbpf prints to stderr unless it is told otherwise, through a function without context; so while a
 * thread loads, this is whom it loads for.
 */
static _Thread_local const struct log *loading_for;

static int on_libbpf_message(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;
	if (!log_wanted(loading_for) || level == LIBBPF_DEBUG || vasprintf(&text, format, args) < 0)
		return 0;
	/* What the verifier has to say comes as one message of many lines. */
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (*line)
			log_debug(loading_for, "%s", line);
	}
	return 0;
}

/* Number of the event that is the time of waits; -1: nobody asked. */
static int off_cpu_event(const struct sampler *s)
{
	for (size_t i = 0; i < s->options.n_events; i++) {
		if (s->options.events[i].is_off_cpu)
			return (int)i;
	}
	return -1;
}

static uint32_t at_most(uint32_t asked, uint32_t limit)
{
	return asked && asked < limit ? asked : limit;
}

/* More than CPUs: who walks may have to wait for a page of its stack. */
static uint32_t n_walks(const struct sampler *s)
{
	return (uint32_t)MIN(MAX(2 * s->n_cpus, 32), 512);
}

static int change_settings(struct sampler *s, struct mw_error *e)
{
	const struct sampler_options *o = &s->options;
	struct bpf_map *map = bpf_object__find_map_by_name(s->bpf, ".rodata.settings");
	struct settings settings = {
		.all_tasks = o->all_tasks,
		.count_idle = o->count_idle,
		.callers = o->callers,
		.max_frames = at_most(o->max_frames, MAX_FRAMES),
		.max_user_frames = at_most(o->max_frames, USER_FRAMES_MAX),
		.walk_by = o->engine->walks_by_tables ? o->walk : SAMPLER_FRAME_POINTERS,
		.n_walks = n_walks(s),
		.off_cpu_event = (uint32_t)MAX(off_cpu_event(s), 0),
		.off_cpu_min = o->off_cpu_min,
	};
	for (size_t i = 0; i < MIN(o->n_cgroups, (size_t)SAMPLER_CGROUPS_MAX); i++)
		settings.cgroups[settings.n_cgroups++] = o->cgroups[i];
	int r = map ? bpf_map__set_initial_value(map, &settings, sizeof settings) : -EINVAL;
	if (r < 0)
		return error_errno(e, r, "the settings of the sampler's BPF object");
	if (o->ring_size)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(s->bpf, "ring"), o->ring_size);
	struct bpf_map *walks = bpf_object__find_map_by_name(s->bpf, "walks");
	if (walks)
		bpf_map__set_max_entries(walks, settings.n_walks);
	struct bpf_map *off_cpu = bpf_object__find_map_by_name(s->bpf, "off_cpu");
	if (off_cpu && off_cpu_event(s) < 0)
		bpf_map__set_max_entries(off_cpu, 1);
	return 0;
}

/* The programs that follow forks, execs and exits are needed only where there are targets. */
static void choose_programs(struct sampler *s)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, s->bpf) {
		if (strcmp(bpf_program__name(program), "on_sample") == 0)
			s->program = program;
		else if (strcmp(bpf_program__name(program), "on_switch") == 0)
			bpf_program__set_autoload(s->on_switch = program, off_cpu_event(s) >= 0);
		else
			bpf_program__set_autoload(program, !s->options.all_tasks);
	}
}

static int attach_followers(struct sampler *s, struct mw_error *e)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, s->bpf) {
		if (program == s->program || program == s->on_switch ||
		    s->n_links == ARRAY_SIZE(s->links))
			continue;
		struct bpf_link *link = bpf_program__attach(program);
		if (!link)
			return error_errno(e, -errno, "cannot follow the children of targets (%s)",
					   bpf_program__name(program));
		s->links[s->n_links++] = link;
	}
	return 0;
}

static int load(struct sampler *s, struct mw_error *e)
{
	size_t size;
	const void *bytes = s->options.engine->object(&size);
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "mapwright");
	s->bpf = bpf_object__open_mem(bytes, size, &options);
	if (!s->bpf)
		return error_errno(e, -errno, "cannot prepare the sampler's BPF programs");
	int r = change_settings(s, e);
	if (r < 0)
		return r;
	choose_programs(s);
	r = bpf_object__load(s->bpf);
	if (r < 0)
		return error_errno(e, r, "the kernel refuses the %s engine's BPF programs",
				   s->options.engine->name);
	s->files = bpf_object__find_map_fd_by_name(s->bpf, "files");
	s->targets = bpf_object__find_map_fd_by_name(s->bpf, "targets");
	s->counters = bpf_object__find_map_fd_by_name(s->bpf, "counters");
	return s->options.all_tasks ? 0 : attach_followers(s, e);
}

static int open_tables(struct sampler *s, struct mw_error *e)
{
	const struct sampler_options *o = &s->options;
	if (!o->callers || o->walk == SAMPLER_FRAME_POINTERS || !o->engine->walks_by_tables)
		return 0;
	int r = tables_new(bpf_object__find_map_fd_by_name(s->bpf, "tables"),
			   bpf_object__find_map_fd_by_name(s->bpf, "tables_wanted"),
			   o->unwind_memory ? o->unwind_memory : TABLES_LIMIT, &s->tables);
	return r < 0 ? error_errno(e, r, "unwinding tables") : 0;
}

int sampler_open(const struct sampler_options *options, const struct sampler_handler *handler,
		 struct sampler **ret, struct mw_error *e)
{
	struct sampler *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->options = *options;
	s->handler = *handler;
	s->n_cpus = libbpf_num_possible_cpus();
	s->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	int r = join_new(MAX_WAITING, deliver_sample, s, &s->join);
	if (r == 0) {
		libbpf_print_fn_t printer = libbpf_set_print(on_libbpf_message);
		loading_for = options->log;
		r = load(s, e);
		loading_for = NULL;
		libbpf_set_print(printer);
	}
	if (r == 0)
		r = open_tables(s, e);
	if (r == 0) {
		int ring = bpf_object__find_map_fd_by_name(s->bpf, "ring");
		s->ring = ring_buffer__new(ring, on_record, s, NULL);
		if (!s->ring)
			r = error_errno(e, -errno, "cannot map the sampler's ring buffer");
	}
	if (r < 0) {
		sampler_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	bpf_link__destroy(s->switches);
	cpu_events_free(s->events);
	tables_free(s->tables);
	ring_buffer__free(s->ring);
	for (size_t i = 0; i < s->n_links; i++)
		bpf_link__destroy(s->links[i]);
	bpf_object__close(s->bpf);
	join_free(s->join);
	cleanup_close(&s->statistics);
	free(s);
}

static int add_target(struct sampler *s, uint64_t kind, uint32_t id, bool waits_for_exec,
		      struct mw_error *e)
{
	uint64_t key = kind << 32 | id;
	struct target target = {.waits_for_exec = waits_for_exec};
	int r = bpf_map_update_elem(s->targets, &key, &target, BPF_ANY);
	return r < 0 ? error_errno(e, r, "cannot add target %u", id) : 0;
}

int sampler_add_process(struct sampler *s, uint32_t pid, struct mw_error *e)
{
	return add_target(s, TARGET_PROCESS, pid, false, e);
}

int sampler_add_thread(struct sampler *s, uint32_t tid, struct mw_error *e)
{
	return add_target(s, TARGET_THREAD, tid, false, e);
}

int sampler_add_after_exec(struct sampler *s, uint32_t pid, struct mw_error *e)
{
	return add_target(s, TARGET_PROCESS, pid, true, e);
}

/* Whether waits are measured now. */
static int follow_switches(struct sampler *s, bool follow, struct mw_error *e)
{
	if (off_cpu_event(s) < 0)
		return 0;
	if (!follow) {
		bpf_link__destroy(take_ptr(s->switches));
		return 0;
	}
	if (!s->switches)
		s->switches = bpf_program__attach(s->on_switch);
	return s->switches ? 0 : error_errno(e, -errno, "cannot follow the scheduler");
}

int sampler_start(struct sampler *s, struct mw_error *e)
{
	int r = cpu_events_open(s->options.events, s->options.n_events, s->program,
				s->options.log, &s->events, e);
	return r == 0 ? follow_switches(s, true, e) : r;
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

int sampler_dispatch(struct sampler *s)
{
	s->result = 0;
	ring_buffer__consume(s->ring);
	return s->result;
}

/* Numbers are never used twice, so forgetting them all costs one more announcement each. */
static void clear_files(struct sampler *s)
{
	uint8_t key[MAX(sizeof(struct file_key), BUILD_ID_SIZE)];
	while (bpf_map_get_next_key(s->files, NULL, key) == 0)
		bpf_map_delete_elem(s->files, key);
	if (s->tables)
		tables_forget_numbers(s->tables);
	s->n_files = 0;
}

void sampler_refresh(struct sampler *s)
{
	cpu_events_refresh(s->events);
	if (s->n_files >= FILES_BEFORE_CLEARING)
		clear_files(s);
}

void sampler_follow_cpus(struct sampler *s)
{
	cpu_events_follow(s->events);
}

void sampler_pause(struct sampler *s, bool pause)
{
	cpu_events_pause(s->events, pause);
	follow_switches(s, !pause, NULL);
}

void sampler_set_divisor(struct sampler *s, unsigned divisor)
{
	cpu_events_set_divisor(s->events, divisor);
}

void sampler_forget_file(struct sampler *s, const struct inode_key *key,
			 const struct mw_file_id *id)
{
	bpf_map_delete_elem(s->files, id->kind == MW_FILE_ID_NONE ? (const void *)key : id->bytes);
}

void sampler_ask_for_addresses(struct sampler *s, const struct mw_file_id *id)
{
	uint32_t number = FILE_BY_ADDRESS;
	bpf_map_update_elem(s->files, id->bytes, &number, BPF_ANY);
}

uint32_t sampler_reserve_file(struct sampler *s, const struct inode_key *key)
{
	uint32_t number = s->next_reserved ? s->next_reserved : FILE_FIRST_RESERVED;
	if (!s->tables || s->n_files >= FILES_BEFORE_CLEARING ||
	    bpf_map_update_elem(s->files, key, &number, BPF_NOEXIST) < 0)
		return 0;
	s->n_files++;
	s->next_reserved = number + FILE_STEP;
	return number;
}

int sampler_supply(struct sampler *s, uint32_t number, const struct mw_file_id *id, int fd)
{
	if (s->tables)
		return tables_supply(s->tables, number, id, fd);
	cleanup_close(&fd);
	return 0;
}

static uint64_t sum_counter(const struct sampler *s, uint32_t which)
{
	_cleanup_free_ uint64_t *values = calloc((size_t)s->n_cpus, sizeof *values);
	if (!values ||
	    bpf_map_lookup_elem(s->counters, &which, values) < 0)
		return 0;
	uint64_t sum = 0;
	for (int i = 0; i < s->n_cpus; i++)
		sum += values[i];
	return sum;
}

static uint64_t n_under_way(const struct sampler *s)
{
	uint64_t done = sum_counter(s, COUNT_CALLBACKS);
	uint64_t asked = sum_counter(s, COUNT_TICKETS);
	return asked > done ? asked - done : 0;
}

int sampler_stop(struct sampler *s)
{
	cpu_events_stop(s->events);
	follow_switches(s, false, NULL);
	/* Tasks that run deliver their user part at once; those that sleep are not waited for. */
	for (int tries = 0; tries < 10 && n_under_way(s); tries++)
		usleep(2000);
	int r = sampler_dispatch(s);
	int flushed = join_flush(s->join);
	return r < 0 ? r : flushed;
}

void sampler_get_counts(struct sampler *s, struct sampler_counts *ret)
{
	*ret = (struct sampler_counts){
		.hits = sum_counter(s, COUNT_HITS),
		.idle = sum_counter(s, COUNT_IDLE),
		.other_task = sum_counter(s, COUNT_OTHER_TASKS),
		.samples = sum_counter(s, COUNT_SAMPLES),
		.ring_full = sum_counter(s, COUNT_RING_FULL),
		.user_lost = sum_counter(s, COUNT_USER_RING_FULL),
		.user_not_asked = sum_counter(s, COUNT_PENDING_FULL),
		.user_refused = sum_counter(s, COUNT_REFUSED),
		.user_missing = join_counts(s->join).without_user,
		.user_pending = n_under_way(s),
		.files_full = sum_counter(s, COUNT_FILES_FULL),
		.targets_full = sum_counter(s, COUNT_TARGETS_FULL),
		.lookups = sum_counter(s, COUNT_FOUND),
		.lookups_busy = sum_counter(s, COUNT_BUSY),
		.walks_full = sum_counter(s, COUNT_WALKS_FULL),
		.walks = sum_counter(s, COUNT_WALKS),
		.walk_frames = sum_counter(s, COUNT_FRAMES),
		.walk_ns = sum_counter(s, COUNT_RETURN_NS),
		.walk_faults = sum_counter(s, COUNT_FAULTS),
		.walks_moved = sum_counter(s, COUNT_MOVED),
		.off_cpu = sum_counter(s, COUNT_OFF_CPU),
		.off_cpu_short = sum_counter(s, COUNT_OFF_CPU_SHORT),
		.off_cpu_short_ns = sum_counter(s, COUNT_OFF_CPU_SHORT_NS),
		.off_cpu_lost = sum_counter(s, COUNT_OFF_CPU_LOST),
	};
	ret->cpu_unwatched_ns = s->events ? cpu_events_unwatched(s->events) : 0;
	if (s->tables)
		ret->tables = tables_get_counts(s->tables);
	for (size_t i = 0; s->events && i < s->options.n_events; i++)
		ret->expected += cpu_events_expected(s->events, i);
}

static uint64_t run_time_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof info;
	int fd = bpf_program__fd(program);
	return bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.run_time_ns;
}

/* The kernel counts programs, but not the task works that they leave behind. */
uint64_t sampler_run_time(const struct sampler *s)
{
	uint64_t spent = run_time_of(s->program);
	if (s->switches)
		spent += run_time_of(s->on_switch);
	return spent + sum_counter(s, COUNT_RETURN_NS);
}
