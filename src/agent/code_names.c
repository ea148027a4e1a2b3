/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/code_names.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "content/perf_map_file.h"
#include "content/same_code.h"
#include "symbols/code_timeline.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_PROCESSES 128
#define MAX_ENTRIES   ((size_t)4 << 20) /* of all processes */
#define N_PROOFS      8192
#define MAX_SPOTS     ((size_t)4 << 20) /* named addresses, until the profile begins anew */
#define MAX_CODES     ((size_t)1 << 20) /* entries in the profile */

#define MS_NS	  UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
/* Looks at one process are not closer than this, unless a sample is newer than the last one. */
#define LOOK_NS (90 * MS_NS)
/* A process without samples for so long is looked at once a second only. */
#define QUIET_NS (2 * SECOND_NS)
/* A sample waits so long for another that proves whose its bytes are. */
#define PROOF_NS (500 * MS_NS)
/* A replaced map is kept for samples that come late. */
#define LATE_NS (5 * SECOND_NS)
/* A writer that writes in buffers ends them anywhere, but at such a place in the file. */
#define BUFFER_SIZE 512

/* An entry of a map that named something, and its number in the profile. */
struct use {
	struct code_span span; /* its name is not kept */
	uint32_t code;
};

struct process {
	struct task_key task;
	uint64_t used; /* time of the latest sample */
	uint64_t looked;
	struct perf_map_place place;
	struct perf_map_file file;
	struct code_timeline timeline;
	VEC(struct use) uses;

	bool has_read;
	struct perf_map_state read; /* the file's state that is known */
	uint64_t consumed;
	uint64_t hash;
	bool in_line;
	uint64_t since; /* when the state that is known was seen first */

	bool is_asked; /* a child reads */
	uint32_t question;
	int answer; /* memfd, owned */
	struct perf_map_state asked;
	uint64_t asked_at;
	struct perf_map_request request;

	bool is_gone; /* the process; */
	bool is_over; /* nothing more will be learned */
	enum mw_reason trouble;
};

/* A place in the profile's memory that has a name. */
struct spot {
	uint64_t address; /* for look-ups */
	uint32_t file;
	uint32_t code;
};

/* Bytes that were surely those of an entry. */
struct proof {
	uint64_t start_time; /* of the process */
	uint64_t line;
	uint32_t pid;
	uint32_t check; /* 0: the place is free */
	uint32_t generation;
	uint32_t entry;
};

struct alias {
	uint32_t file;
	uint32_t next; /* the entry that stands for the same memory where `file` has another name */
};

struct code_names {
	struct code_names_options o;
	VEC(struct process *) processes; /* owned */
	VEC(struct spot) spots;
	struct hash_index spot_index;
	VEC(struct alias) aliases;
	struct proof proofs[N_PROOFS];
	uint64_t clocks; /* how far the two clocks of files and samples are apart */
	uint32_t next_question;
	struct code_names_counts counts;
};

/* ---- the job, in the child ------------------------------------------------------------------- */

static int job_perf_map(const int *fds, size_t n_fds, const void *args, size_t args_size,
			void *reply, size_t reply_size, struct mw_error *e)
{
	return perf_map_read(fds[0], fds[1], args, reply, e);
}

const struct run_job code_names_job = {
	.name = "mw-perf-map",
	.fn = job_perf_map,
	.reply_size = sizeof(struct perf_map_reply),
	.memory_limit = UINT64_C(512) << 20,
	.file_size_limit = UINT64_C(256) << 20,
	.cpu_seconds = 2,
	.deadline_ms = 3000,
};

/* ---- life ------------------------------------------------------------------------------------ */

static uint64_t clock_real(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* How far the clock of files is before that of samples. We may be interrupted between the two. */
static uint64_t distance_of_clocks(void)
{
	uint64_t least = UINT64_MAX, distance = 0;
	for (int i = 0; i < 10 && least > MS_NS / 10; i++) {
		uint64_t before = clock_now_ns(), real = clock_real(), after = clock_now_ns();
		if (after - before < least) {
			least = after - before;
			distance = real - before;
		}
	}
	return distance;
}

int code_names_new(const struct code_names_options *options, struct code_names **ret)
{
	struct code_names *names = calloc(1, sizeof *names);
	if (!names)
		return -ENOMEM;
	names->o = *options;
	names->clocks = distance_of_clocks();
	*ret = names;
	return 0;
}

static void process_free(struct process *p)
{
	perf_map_file_deinit(&p->file);
	code_timeline_deinit(&p->timeline);
	vec_deinit(&p->uses);
	cleanup_close(&p->answer);
	free(p);
}

void code_names_free(struct code_names *names)
{
	if (!names)
		return;
	vec_foreach(p, &names->processes)
		process_free(*p);
	vec_deinit(&names->processes);
	vec_deinit(&names->spots);
	vec_deinit(&names->aliases);
	hash_index_deinit(&names->spot_index);
	free(names);
}

struct code_names_counts code_names_get_counts(const struct code_names *names)
{
	return names->counts;
}

/* ---- what goes into the profile -------------------------------------------------------------- */

/* Until when the names of a process were valid, as far as it is known. */
static int tell_validity(struct code_names *names, struct process *p)
{
	int r = 0;
	vec_foreach(use, &p->uses) {
		struct profile_code code = names->o.profile->codes.items[use->code];
		uint64_t until = code_timeline_until(&p->timeline, &use->span);
		if (until == CODE_TIMELINE_NEVER) /* as long as the process was there */
			until = p->looked;
		if (r == 0 && until > code.until) {
			code.until = until;
			r = profile_set_code(names->o.profile, use->code, &code);
		}
	}
	return r;
}

/* Maps that nobody asks for any more. What came of them is told before. */
static int forget_old(struct code_names *names, struct process *p, uint64_t before)
{
	int r = tell_validity(names, p);
	code_timeline_forget(&p->timeline, before);
	uint32_t first = p->timeline.generations.n ? code_timeline_oldest(&p->timeline) : 0;
	size_t kept = 0;
	vec_foreach(use, &p->uses) {
		if (use->span.generation >= first)
			p->uses.items[kept++] = *use;
	}
	p->uses.n = kept;
	return r;
}

/* The profile's number of an entry that names something. */
static int use_entry(struct code_names *names, struct process *p, const struct code_span *span,
		     uint32_t file, uint32_t *ret)
{
	vec_foreach(use, &p->uses) {
		if (use->span.entry == span->entry && use->span.generation == span->generation) {
			*ret = use->code;
			return 0;
		}
	}
	struct profile_code code = {
		.file = file, .start = span->start, .end = span->end, .from = span->by};
	int r = profile_add_string(names->o.profile, span->name, &code.name);
	if (r == 0)
		r = profile_add_code(names->o.profile, &code, ret);
	return r < 0 ? r : vec_push(&p->uses, (struct use){*span, *ret});
}

static bool spot_equal(const void *context, uint32_t number, const void *key)
{
	const struct code_names *names = context;
	const struct spot *a = &names->spots.items[number], *b = key;
	return a->file == b->file && a->address == b->address;
}

static uint64_t spot_hash(const struct spot *spot)
{
	return hash_u64(spot->address ^ hash_u64(spot->file));
}

static uint32_t find_spot(const struct code_names *names, uint32_t file, uint64_t address)
{
	struct spot spot = {address, file, 0};
	return hash_index_find(&names->spot_index, spot_hash(&spot), spot_equal, names, &spot);
}

static bool is_same_code(const struct code_names *names, uint32_t code,
			 const struct code_span *span)
{
	const struct profile_code *known = &names->o.profile->codes.items[code];
	return known->start == span->start && known->end == span->end &&
	       strcmp(profile_string(names->o.profile, known->name), span->name) == 0;
}

/* Another entry of the profile for the same memory. */
static int find_alias(struct code_names *names, uint32_t file, uint32_t *ret)
{
	vec_foreach(alias, &names->aliases) {
		if (alias->file == file) {
			*ret = alias->next;
			return 0;
		}
	}
	struct profile *p = names->o.profile;
	int r = profile_add_file(p, profile_string(p, p->files.items[file].path), 0, 0, ret);
	if (r == 0)
		r = profile_set_file(p, *ret, NULL, MW_REASON_JIT_NO_MAP);
	return r < 0 ? r : vec_push(&names->aliases, (struct alias){file, *ret});
}

static int add_spot(struct code_names *names, struct process *p, const struct code_span *span,
		    struct frame *frame)
{
	struct spot spot = {.address = frame_lookup_address(frame), .file = frame->file};
	if (names->spots.n >= MAX_SPOTS || names->o.profile->codes.n >= MAX_CODES) {
		frame->reason = MW_REASON_EVICTED;
		return 0;
	}
	int r = use_entry(names, p, span, frame->file, &spot.code);
	if (r == 0)
		r = vec_push(&names->spots, spot);
	return r < 0 ? r
		     : hash_index_add(&names->spot_index, spot_hash(&spot),
				      (uint32_t)names->spots.n - 1);
}

/* Gives the frame a file number under which its address has this name and no other. */
static int give_name(struct code_names *names, struct process *p, const struct code_span *span,
		     struct frame *frame)
{
	int r = 0;
	while (r == 0) {
		uint32_t known = find_spot(names, frame->file, frame_lookup_address(frame));
		if (known == HASH_INDEX_NONE)
			return add_spot(names, p, span, frame);
		if (is_same_code(names, names->spots.items[known].code, span))
			return 0;
		r = find_alias(names, frame->file, &frame->file);
	}
	return r;
}

void code_names_forget(struct code_names *names)
{
	names->spots.n = 0;
	hash_index_deinit(&names->spot_index);
	names->spot_index = (struct hash_index){};
}

uint32_t code_names_find(const struct code_names *names, const struct frame *frame)
{
	uint32_t spot = find_spot(names, frame->file, frame_lookup_address(frame));
	return spot == HASH_INDEX_NONE ? UINT32_MAX : names->spots.items[spot].code;
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool is_same_image(const struct task_key *a, const struct task_key *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->exec_count == b->exec_count;
}

/* The one that matters least goes: what is over before what lives, then the one least recently
 * sampled. */
static int make_room(struct code_names *names)
{
	size_t worst = 0;
	for (size_t i = 1; i < names->processes.n; i++) {
		const struct process *a = names->processes.items[i];
		const struct process *b = names->processes.items[worst];
		if (a->is_over != b->is_over ? a->is_over : a->used < b->used)
			worst = i;
	}
	struct process *p = names->processes.items[worst];
	names->counts.forgotten += !p->is_over;
	int r = tell_validity(names, p);
	process_free(p);
	names->processes.items[worst] = names->processes.items[--names->processes.n];
	return r;
}

/*
 * What an earlier program of the same process left in the map is not about this one: it is known,
 * and has no entries.
 */
static void inherit(const struct code_names *names, struct process *p)
{
	vec_foreach(other, &names->processes) {
		const struct process *before = *other;
		if (before->task.pid != p->task.pid ||
		    before->task.start_time != p->task.start_time || !before->has_read)
			continue;
		p->consumed = before->consumed;
		p->hash = before->hash;
		p->in_line = before->in_line;
	}
}

static int find_process(struct code_names *names, const struct sample *sample, struct process **ret)
{
	vec_foreach(p, &names->processes) {
		if (is_same_image(&(*p)->task, &sample->task)) {
			*ret = *p;
			return 0;
		}
	}
	int r = names->processes.n >= MAX_PROCESSES ? make_room(names) : 0;
	struct process *p = calloc(1, sizeof *p);
	if (r < 0 || !p || vec_reserve(&names->processes, names->processes.n + 1) < 0) {
		free(p);
		return -ENOMEM;
	}
	p->task = sample->task;
	p->place = (struct perf_map_place){.pid = sample->task.pid,
					   .tid = sample->task.tid,
					   .start_time = sample->task.start_time};
	p->file = (struct perf_map_file)PERF_MAP_FILE_INIT;
	p->answer = -1;
	inherit(names, p);
	names->processes.items[names->processes.n++] = p;
	*ret = p;
	return 0;
}

static bool is_room_left(const struct code_names *names)
{
	size_t n = 0;
	vec_foreach(p, &names->processes)
		n += (*p)->timeline.n_entries;
	return n < MAX_ENTRIES;
}

/* ---- looking at a map ------------------------------------------------------------------------ */

static bool is_same_state(const struct perf_map_state *a, const struct perf_map_state *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/*
 * A moment at which the file was surely already as it is, as samples count time; `now` at the
 * latest. Files carry the time of the clock's last tick, on some file systems that of the last full
 * seconds.
 */
static uint64_t settled_at(const struct code_names *names, const struct perf_map_state *state,
			   uint64_t now)
{
	struct timespec tick;
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	uint64_t drift = distance_of_clocks() - names->clocks + MS_NS;
	uint64_t changed = (uint64_t)state->changed, settled;
	if (drift > 2 * MS_NS) /* the clock was set meanwhile */
		return now;
	uint64_t later = changed % SECOND_NS ? 2 * (uint64_t)tick.tv_nsec : 3 * SECOND_NS;
	if (__builtin_sub_overflow(changed + later, names->clocks, &settled))
		return 0; /* before this machine was started */
	return MIN(settled, now);
}

static int forget_map(struct code_names *names, struct process *p, enum mw_reason trouble)
{
	p->trouble = trouble;
	p->is_over = true;
	perf_map_file_deinit(&p->file);
	log_debug(names->o.log, "task %u: its perf map is given up (%s)", p->task.pid,
		  mw_reason_name(trouble));
	return 0;
}

/* Nothing more comes. */
static void end(struct process *p)
{
	code_timeline_extend(&p->timeline, CODE_TIMELINE_NEVER);
	perf_map_file_deinit(&p->file);
	p->is_over = true;
}

/* A last line without its end is whole if nobody goes on writing it, and no buffer ended there. */
static bool takes_rest(const struct process *p, const struct perf_map_state *state, uint64_t now)
{
	bool is_quiet =
		p->has_read && is_same_state(&p->read, state) && now - p->since >= SECOND_NS;
	return state->size % BUFFER_SIZE && (p->is_gone || is_quiet);
}

static int ask(struct code_names *names, struct process *p, const struct perf_map_state *state,
	       uint64_t now)
{
	_cleanup_close_ int fd = perf_map_file_open(&p->file);
	_cleanup_close_ int answer = fd < 0 ? -1 : memfd_create("perf-map", MFD_CLOEXEC);
	if (answer < 0)
		return 0; /* at a later look */
	p->request = (struct perf_map_request){
		.known = p->consumed,
		.known_hash = p->hash,
		.size = MIN(state->size, PERF_MAP_MAX),
		.take_rest = takes_rest(p, state, now),
		.in_line = p->in_line,
	};
	const int fds[] = {fd, answer};
	uint32_t question = names->next_question + 1;
	int r = run_server_submit(names->o.server, names->o.job, fds, ARRAY_SIZE(fds), &p->request,
				  sizeof p->request, CODE_NAMES_TICKET | question);
	if (r == -EAGAIN || r == -EMFILE || r == -ENFILE)
		return 0;
	if (r < 0)
		return forget_map(names, p, MW_REASON_PARSER_FAILED);
	p->question = names->next_question = question;
	p->answer = take_fd(answer);
	p->asked = *state;
	p->asked_at = now;
	p->is_asked = true;
	return 0;
}

static bool has_unread(const struct process *p, const struct perf_map_state *state, uint64_t now)
{
	if (!p->has_read || !is_same_state(&p->read, state))
		return true;
	return p->consumed < state->size && takes_rest(p, state, now);
}

/* Looks at the file that is held. */
static int look_at_file(struct code_names *names, struct process *p, uint64_t now)
{
	struct perf_map_state state;
	if (p->file.fd < 0 || perf_map_file_look(&p->file, &state) < 0) {
		if (p->is_gone)
			end(p);
		else
			code_timeline_extend(&p->timeline, now);
		return 0;
	}
	if (has_unread(p, &state, now))
		return ask(names, p, &state, now);
	if (p->is_gone)
		end(p);
	else
		code_timeline_extend(&p->timeline, now);
	return 0;
}

/*
 * Looks whether the process has a map, another map than before, or more in it. Another file is
 * looked at only when what the old one had is known.
 */
static int look(struct code_names *names, struct process *p)
{
	uint64_t now = clock_now_ns();
	if (p->is_over || p->is_asked)
		return 0;
	p->looked = now;
	int r = p->is_gone ? -ESRCH
			   : perf_map_file_find(names->o.proc, names->o.log, &p->place, &p->file);
	bool is_same = proc_is_same_process(names->o.proc, p->task.pid, p->task.start_time);
	if (r == 1 && !is_same) { /* somebody else's, who has the number now */
		perf_map_file_deinit(&p->file);
		r = -ESRCH;
	}
	p->is_gone = p->is_gone || r == -ESRCH || !is_same;
	if (r == 1) {
		names->counts.maps += !p->has_read;
		p->has_read = false;
	}
	return look_at_file(names, p, now);
}

/* ---- what a child read ----------------------------------------------------------------------- */

static int take_entries(struct code_names *names, struct process *p,
			const struct perf_map_reply *reply, const struct perf_map *map)
{
	/* Were it written to since, it may be this state that was read. */
	struct perf_map_state now_state;
	uint64_t now = clock_now_ns(), by = settled_at(names, &p->asked, p->asked_at);
	if (perf_map_file_look(&p->file, &now_state) < 0 || !is_same_state(&now_state, &p->asked))
		by = now;
	uint64_t after = p->timeline.known_until;
	by = MAX(by, after);
	int r = 0;
	if (reply->is_rewritten && p->timeline.generations.n) {
		names->counts.rewritten++;
		r = code_timeline_replace(&p->timeline, after, by);
	}
	if (r == 0)
		r = code_timeline_append(&p->timeline, map, after, by);
	return r;
}

static bool is_reply_sound(const struct process *p, const struct perf_map_reply *reply)
{
	uint64_t before = reply->is_rewritten ? 0 : p->consumed;
	return reply->consumed >= before && reply->consumed <= before + PERF_MAP_BATCH &&
	       reply->consumed <= p->request.size;
}

/* What was asked for is known now. */
static int take_reply(struct code_names *names, struct process *p,
		      const struct perf_map_reply *reply, const struct perf_map *map)
{
	int r = take_entries(names, p, reply, map);
	if (r == -ENOMEM)
		return r;
	bool has_more = reply->consumed < p->request.size &&
			reply->consumed - (reply->is_rewritten ? 0 : p->request.known) > 0 &&
			p->request.size - reply->consumed > PERF_MAP_LINE_MAX;
	names->counts.readings++;
	names->counts.entries += map->entries.n;
	names->counts.broken += map->n_broken;
	p->consumed = reply->consumed;
	p->hash = reply->hash;
	p->in_line = reply->in_line;
	if (r == -E2BIG || p->asked.size > PERF_MAP_MAX || !is_room_left(names)) {
		names->counts.full++;
		return forget_map(names, p, MW_REASON_EVICTED);
	}
	if (has_more)
		return ask(names, p, &p->asked, p->asked_at);
	if (!p->has_read || !is_same_state(&p->read, &p->asked))
		p->since = p->asked_at;
	p->read = p->asked;
	p->has_read = true;
	code_timeline_extend(&p->timeline, p->asked_at);
	if (p->is_gone)
		return look(names, p);
	return 0;
}

int code_names_take_result(struct code_names *names, const struct run_result *result)
{
	struct process *p = NULL;
	uint32_t question = (uint32_t)result->ticket;
	vec_foreach(other, &names->processes) {
		if ((*other)->is_asked && (*other)->question == question)
			p = *other;
	}
	if (!p) /* forgotten meanwhile */
		return 0;
	p->is_asked = false;
	_cleanup_close_ int answer = take_fd(p->answer);
	_cleanup_(perf_map_deinit) struct perf_map map = {};
	const struct perf_map_reply *reply = result->reply;
	int r = -EBADMSG;
	if (result->outcome == RUN_DONE && result->reply_size == sizeof *reply &&
	    is_reply_sound(p, reply))
		r = perf_map_take(answer, reply, &map);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		log_debug(names->o.log, "task %u: perf map: %s", p->task.pid, result->error.msg);
		names->counts.failed++;
		return forget_map(names, p,
				  result->outcome == RUN_TIMED_OUT ? MW_REASON_TIMEOUT
								   : MW_REASON_PARSER_FAILED);
	}
	return take_reply(names, p, reply, &map);
}

/* ---- the frame ------------------------------------------------------------------------------- */

static struct proof *proof_place(struct code_names *names, const struct process *p,
				 uint64_t address, uint32_t check, struct proof *key)
{
	*key = (struct proof){.start_time = p->task.start_time,
			      .pid = p->task.pid,
			      .check = check,
			      .line = address / CODE_LINE_SIZE};
	uint64_t hash =
		hash_u64(key->line ^ hash_u64(key->start_time ^ (uint64_t)key->pid << 32 ^ check));
	return &names->proofs[hash % N_PROOFS];
}

static void remember_bytes(struct code_names *names, const struct process *p, uint64_t address,
			   uint32_t check, const struct code_span *span)
{
	struct proof key, *place = proof_place(names, p, address, check, &key);
	if (!check)
		return;
	*place = key;
	place->generation = span->generation;
	place->entry = span->entry;
}

/* Whether these bytes were seen where the entry surely was. */
static bool are_bytes_proved(struct code_names *names, const struct process *p, uint64_t address,
			     uint32_t check, const struct code_span *span)
{
	struct proof key, *place = proof_place(names, p, address, check, &key);
	return check && place->check == check && place->line == key.line && place->pid == key.pid &&
	       place->start_time == key.start_time && place->generation == span->generation &&
	       place->entry == span->entry;
}

static int set_reason(struct frame *frame, enum mw_reason reason)
{
	frame->reason = (uint8_t)reason;
	return 1;
}

static int race(struct code_names *names, struct frame *frame)
{
	names->counts.raced++;
	return set_reason(frame, MW_REASON_RACED);
}

static int decide_maybe(struct code_names *names, struct process *p, const struct sample *sample,
			uint32_t check, bool is_last_time, const struct code_span *span,
			struct frame *frame)
{
	uint64_t address = frame_lookup_address(frame);
	bool is_near = span->by < sample->time + SECOND_NS;
	if (is_near && are_bytes_proved(names, p, address, check, span)) {
		int r = give_name(names, p, span, frame);
		return r < 0 ? r : 1;
	}
	bool may_come = is_near && check && !is_last_time && !p->is_over &&
			clock_now_ns() - sample->time < PROOF_NS;
	return may_come ? 0 : race(names, frame);
}

static int decide(struct code_names *names, struct process *p, const struct sample *sample,
		  uint32_t check, bool is_last_time, struct frame *frame)
{
	struct code_span span;
	uint64_t address = frame_lookup_address(frame);
	int r;
	switch (code_timeline_find(&p->timeline, address, sample->time, &span)) {
	case CODE_NAMED:
		remember_bytes(names, p, address, check, &span);
		r = give_name(names, p, &span, frame);
		return r < 0 ? r : 1;
	case CODE_MAYBE:
		return decide_maybe(names, p, sample, check, is_last_time, &span, frame);
	case CODE_UNSURE:
		return race(names, frame);
	case CODE_NAMELESS:
		return set_reason(frame, MW_REASON_JIT_NO_MAP);
	case CODE_LATER:
		break;
	}
	if (p->trouble)
		return set_reason(frame, p->trouble);
	return is_last_time ? set_reason(frame, MW_REASON_TIMEOUT) : 0;
}

int code_names_decide(struct code_names *names, const struct sample *sample, uint32_t check,
		      bool is_last_time, struct frame *frame)
{
	struct process *p;
	if (frame->kind != FRAME_JIT || frame->reason != MW_REASON_NONE)
		return 1;
	int r = find_process(names, sample, &p);
	if (r < 0)
		return r;
	p->used = MAX(p->used, sample->time);
	p->place.tid = sample->task.tid;
	if (sample->time > p->timeline.known_until && sample->time > p->looked)
		r = look(names, p);
	return r < 0 ? r : decide(names, p, sample, check, is_last_time, frame);
}

int code_names_tick(struct code_names *names)
{
	uint64_t now = clock_now_ns();
	int r = 0;
	for (size_t i = 0; i < names->processes.n && r == 0; i++) {
		struct process *p = names->processes.items[i];
		bool is_quiet = now > p->used + QUIET_NS;
		if (now - p->looked >= (is_quiet ? SECOND_NS : LOOK_NS))
			r = look(names, p);
		if (r == 0 && p->timeline.generations.n > 1 && now > LATE_NS)
			r = forget_old(names, p, now - LATE_NS);
	}
	return r;
}

int code_names_finish(struct code_names *names)
{
	int r = 0;
	for (size_t i = 0; i < names->processes.n && r == 0; i++)
		r = tell_validity(names, names->processes.items[i]);
	return r;
}
