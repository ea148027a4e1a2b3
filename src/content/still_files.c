/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/still_files.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/vec.h"
#include "content/content.h"
#include "content/mapped_file.h"
#include "content/task_root.h"
#include "content/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#define MAX_STATES 4096
#define MAX_PATH   512

/* The coarsest tick of a kernel is 10 ms. File systems that keep whole seconds keep two at worst. */
#define COARSE_NS     UINT64_C(20000000)
#define IN_SECONDS_NS UINT64_C(2020000000)
/* A clock that was set is remembered for this long at least. */
#define CLOCK_PERIOD_NS UINT64_C(10000000000)

struct state {
	struct inode_key key;
	uint64_t magic;
	uint64_t since; /* the first look from which on nothing was written; 0: none yet */
	uint64_t until; /* the last look */
	bool is_first;	/* the file was never seen in another state, nor open for writing */
	bool is_writable; /* at the last look */
	bool is_over;	/* it was seen in another state later */
	char path[MAX_PATH]; /* as we see it; "" unknown */
};

struct still_files {
	const struct proc *proc;
	const struct log *log;
	VEC(struct state) states;
	struct hash_index by_inode; /* the latest state of each file */
	/* CLOCK_REALTIME less CLOCK_MONOTONIC, the lowest of this period and of the last: a clock that is
	 * set must not make a change look older than it is. */
	int64_t offset;
	int64_t last_offset;
	uint64_t period;
};

int still_files_new(const struct proc *proc, const struct log *log, struct still_files **ret)
{
	struct still_files *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->proc = proc;
	s->log = log;
	*ret = s;
	return 0;
}

void still_files_reset(struct still_files *s)
{
	s->states.n = 0;
	hash_index_deinit(&s->by_inode);
	s->by_inode = (struct hash_index){};
}

void still_files_free(struct still_files *s)
{
	if (!s)
		return;
	vec_deinit(&s->states);
	hash_index_deinit(&s->by_inode);
	free(s);
}

const struct inode_key *still_files_key(const struct still_files *s, uint32_t state)
{
	return &s->states.items[state].key;
}

uint64_t still_files_magic(const struct still_files *s, uint32_t state)
{
	return s->states.items[state].magic;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void see_clock(struct still_files *s, uint64_t now)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	int64_t offset = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (int64_t)now;
	if (now - s->period > CLOCK_PERIOD_NS) {
		s->last_offset = s->period ? s->offset : offset;
		s->offset = offset;
		s->period = now;
	}
	s->offset = MIN(s->offset, offset);
}

/* How long before a moment the file changed, ns; negative: after it. */
static int64_t age_of_change(const struct still_files *s, const struct inode_key *key, uint64_t time)
{
	int64_t change, moment = (int64_t)time + MIN(s->offset, s->last_offset);
	if (__builtin_mul_overflow(key->ctime_sec, INT64_C(1000000000), &change) ||
	    __builtin_add_overflow(change, (int64_t)key->ctime_nsec, &change))
		return INT64_MIN;
	return moment - change;
}

static int64_t coarseness(const struct inode_key *key)
{
	return key->ctime_nsec ? (int64_t)COARSE_NS : (int64_t)IN_SECONDS_NS;
}

/* A change at that moment, or just after it, would have another time. */
static bool would_show_change(const struct still_files *s, const struct inode_key *key, uint64_t time)
{
	int64_t age = age_of_change(s, key, time);
	return age > coarseness(key) || age < -coarseness(key);
}

/* ---- one look -------------------------------------------------------------------------------- */

static bool nobody_writes(const struct state *state, int candidate)
{
	if (finder_may_block(state->magic))
		return true; /* cannot be asked without waiting; their servers do as they like anyway */
	_cleanup_close_ int fd = io_reopen(candidate);
	return fd >= 0 && writers_none(fd);
}

static bool is_same_inode(const void *context, uint32_t number, const void *key)
{
	const struct still_files *s = context;
	const struct inode_key *a = &s->states.items[number].key, *b = key;
	return a->inode == b->inode && a->device == b->device;
}

static uint64_t hash_inode(const struct inode_key *key)
{
	return hash_u64(key->inode ^ (uint64_t)key->device << 32);
}

/* The look that an open file was found in this state, begun at a time. */
static void see(struct still_files *s, struct state *state, int candidate, uint64_t begun)
{
	state->is_writable = !nobody_writes(state, candidate);
	if (state->is_writable) {
		state->since = 0;
		state->is_first = false;
	} else if (!state->since && would_show_change(s, &state->key, begun)) {
		state->since = begun;
	}
	state->until = begun;
}

static void set_path(struct state *state, int candidate)
{
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", candidate);
	ssize_t n = readlink(link, state->path, sizeof state->path);
	state->path[n > 0 && (size_t)n < sizeof state->path ? n : 0] = '\0';
}

/* Another state than the latest one, `earlier`, that is known of the file. */
static int add_state(struct still_files *s, const struct state *state, uint32_t earlier,
		     uint32_t *ret)
{
	if (s->states.n >= MAX_STATES)
		return -ENOSPC;
	*ret = (uint32_t)s->states.n;
	int r = vec_push(&s->states, *state);
	if (r < 0)
		return r;
	if (earlier != HASH_INDEX_NONE) {
		s->states.items[earlier].is_over = true;
		s->states.items[*ret].is_first = false;
		hash_index_remove(&s->by_inode, hash_inode(&state->key), earlier);
	}
	r = hash_index_add(&s->by_inode, hash_inode(&state->key), *ret);
	if (r < 0)
		s->states.n--;
	return r;
}

static int find_state(struct still_files *s, const struct file_request *request, int candidate,
		      uint32_t *ret)
{
	struct state state = {.is_first = true};
	int r = content_ask_attributes(candidate, &state.key);
	if (r < 0)
		return r;
	uint32_t latest = hash_index_find(&s->by_inode, hash_inode(&state.key), is_same_inode, s,
					  &state.key);
	if (latest != HASH_INDEX_NONE &&
	    memcmp(&s->states.items[latest].key, &state.key, sizeof state.key) == 0) {
		*ret = latest;
		return 0;
	}
	state.magic = mapped_file_magic(s->proc, request->pid, state.key.device, candidate);
	set_path(&state, candidate);
	return add_state(s, &state, latest, ret);
}

int still_files_look(struct still_files *s, const struct file_request *request, uint32_t *ret)
{
	struct finder_context context = {.proc = s->proc, .log = s->log};
	uint64_t begun = clock_now_ns();
	see_clock(s, begun);
	_cleanup_close_ int candidate = finder_map_files.find(&context, request);
	if (candidate < 0)
		return candidate;
	int r = find_state(s, request, candidate, ret);
	if (r == 0)
		see(s, &s->states.items[*ret], candidate, begun);
	return r;
}

int still_files_look_again(struct still_files *s, uint32_t number)
{
	struct state *state = &s->states.items[number];
	struct inode_key now;
	uint64_t begun = clock_now_ns();
	see_clock(s, begun);
	if (state->is_over || !state->path[0])
		return -ENOENT;
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	_cleanup_close_ int candidate = task_root_open_path(root, state->path, RESOLVE_CACHED);
	if (candidate < 0)
		return candidate;
	int r = content_ask_attributes(candidate, &now);
	if (r < 0 || memcmp(&now, &state->key, sizeof now) != 0)
		return r < 0 ? r : -ESTALE;
	see(s, state, candidate, begun);
	return 0;
}

enum stillness still_files_at(const struct still_files *s, uint32_t number, uint64_t time)
{
	const struct state *state = &s->states.items[number];
	if (time > state->until)
		return STILL_UNKNOWN;
	if (state->since && time >= state->since)
		return STILL_YES;
	if (state->is_writable)
		return STILL_MEMORY;
	bool is_older = age_of_change(s, &state->key, time) > coarseness(&state->key);
	return state->is_first && is_older ? STILL_YES : STILL_NO;
}
