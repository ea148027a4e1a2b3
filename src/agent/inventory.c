/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/inventory.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "content/content.h"
#include "content/mapped_file.h"
#include "content/task_root.h"
#include "space/hole.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <time.h>

#define N_PLACES       256
/* What the looks of a tick may take; one is always done. */
#define TICK_NS UINT64_C(500000)
#define FILES_PER_TICK 4
/* Files in work of which there are names to be made: they go first. */
#define BUSY 4
/* Without a count of changes, and with one that stands still. */
#define PERIOD_NS	UINT64_C(2000000000)
#define QUIET_PERIOD_NS UINT64_C(10000000000)
/* Files that are asked whether they changed; others take their places. */
#define N_WATCHED	  512
#define WATCHED_PER_TICK 8
/* Those that changed a moment ago are asked each tick, so many of them. */
#define FRESH_PER_TICK 32
#define FRESH_SECONDS  60
/* A process is not looked at for so many times as long as the last look at it took. */
#define REST_FACTOR 100

/* A process image that was sampled. */
struct place {
	struct task_key task; /* pid 0: free */
	uint32_t sequence;    /* of the last sample */
	uint32_t looked_at;   /* the sequence at the last look */
	uint64_t next;	      /* not to be looked at before; 0: never was */
	uint64_t last;	      /* sample time up to which the last look holds if nothing changes */
	bool is_waiting;
};

/* A file that is mapped as code somewhere. */
struct watched {
	struct inode_key key;
	char *path; /* owned; as we see it. NULL: free */
};

struct inventory {
	const struct proc *proc;
	struct first_sight *first_sight;
	int root; /* ours */
	size_t turn;
	size_t watched_turn;
	struct place places[N_PLACES];
	struct watched watched[N_WATCHED];
};

int inventory_new(const struct proc *proc, struct first_sight *first_sight, struct inventory **ret)
{
	struct inventory *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->proc = proc;
	s->first_sight = first_sight;
	s->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	*ret = s;
	return 0;
}

void inventory_free(struct inventory *s)
{
	if (!s)
		return;
	cleanup_close(&s->root);
	for (size_t i = 0; i < N_WATCHED; i++)
		free(s->watched[i].path);
	free(s);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct watched *watched_place(struct inventory *s, const struct inode_key *key)
{
	return &s->watched[hash_u64(key->inode ^ (uint64_t)key->device << 32) % N_WATCHED];
}

static bool is_watched(struct inventory *s, const struct inode_key *key)
{
	const struct watched *w = watched_place(s, key);
	return w->path && memcmp(&w->key, key, sizeof *key) == 0;
}

static void watch(struct inventory *s, const struct file_request *request, const struct inode_key *key)
{
	struct watched *w = watched_place(s, key);
	char name[96], path[4096];
	snprintf(name, sizeof name, "map_files/%llx-%llx", (unsigned long long)request->map_start,
		 (unsigned long long)request->map_end);
	free(take_ptr(w->path));
	if (proc_readlink(s->proc, request->pid, name, path, sizeof path) > 0)
		w->path = strdup(path);
	w->key = *key;
}

/* Whether it is the same inode in another state. What lies at its path by now may be another file. */
static bool has_changed(const struct inventory *s, const struct watched *w)
{
	struct inode_key now;
	_cleanup_close_ int fd = task_root_open_path(s->root, w->path, RESOLVE_CACHED);
	return fd >= 0 && content_ask_attributes(fd, &now) == 0 && now.inode == w->key.inode &&
	       now.device == w->key.device && memcmp(&now, &w->key, sizeof now) != 0;
}

static void ask_file(struct inventory *s, struct watched *w)
{
	if (!has_changed(s, w))
		return;
	free(take_ptr(w->path));
	for (size_t p = 0; p < N_PLACES; p++) {
		s->places[p].is_waiting |= s->places[p].task.pid != 0;
		s->places[p].next = MIN(s->places[p].next, 1u);
	}
}

static void ask_files(struct inventory *s)
{
	int64_t fresh = (int64_t)time(NULL) - FRESH_SECONDS;
	size_t n_fresh = 0, n_old = 0;
	for (size_t i = 0; i < N_WATCHED; i++) {
		struct watched *w = &s->watched[(s->watched_turn + i) % N_WATCHED];
		if (!w->path)
			continue;
		bool is_fresh = w->key.ctime_sec >= fresh;
		size_t *n = is_fresh ? &n_fresh : &n_old;
		if (++*n <= (is_fresh ? FRESH_PER_TICK : WATCHED_PER_TICK))
			ask_file(s, w);
	}
	/* Those that it was not the turn of come next. */
	for (size_t n = 0; n < WATCHED_PER_TICK; s->watched_turn = (s->watched_turn + 1) % N_WATCHED) {
		const struct watched *w = &s->watched[s->watched_turn];
		n += w->path || s->watched_turn == N_WATCHED - 1;
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

void inventory_see(struct inventory *s, const struct sample *sample)
{
	const struct task_key *task = &sample->task;
	uint64_t hash = hash_u64(task->start_time ^ (uint64_t)task->exec_count << 32 ^ task->pid);
	struct place *place = &s->places[hash % N_PLACES];
	if (!sample->image) /* the kernel's own */
		return;
	if (place->task.pid != task->pid || place->task.start_time != task->start_time ||
	    place->task.exec_count != task->exec_count)
		*place = (struct place){.task = *task};
	place->task.tid = task->tid;
	place->sequence = sample->sequence;
	place->is_waiting |= !place->next || !sample->sequence ||
			     sample->sequence != place->looked_at || sample->time > place->last;
}

static struct file_request request_for(const struct task_key *task, const struct mapping *m)
{
	return (struct file_request){
		.pid = task->pid,
		.tid = task->tid,
		.map_start = m->start,
		.map_end = m->end,
		.name = "",
	};
}

/* 1: all of it was seen, 0: there is more to see, or -ENOMEM. */
static int look(struct inventory *s, const struct place *place, size_t *files_left)
{
	struct snapshot *snapshot;
	int r = snapshot_take(s->proc, place->task.pid, place->task.tid, &snapshot);
	if (r < 0)
		return r == -ENOMEM ? r : 1; /* it is gone */
	size_t n = snapshot_count(snapshot);
	for (size_t i = 0; i < n && r >= 0 && *files_left; i++) {
		const struct mapping *m = snapshot_get(snapshot, i);
		if (!m->inode || !(m->protection & MAP_EXECUTE) || hole_may_be(m))
			continue;
		struct file_request request = request_for(&place->task, m);
		r = mapped_file_attributes(s->proc, &request, &request.key);
		if (r < 0 || is_watched(s, &request.key)) {
			r = 0;
			continue;
		}
		watch(s, &request, &request.key);
		r = first_sight_identify_mapping(s->first_sight, &place->task, m);
		*files_left -= r == 1;
	}
	snapshot_free(snapshot);
	return r < 0 ? r : *files_left > 0;
}

int inventory_tick(struct inventory *s)
{
	size_t files_left = first_sight_unfinished(s->first_sight) > BUSY ? 1 : FILES_PER_TICK;
	uint64_t until = clock_now_ns() + TICK_NS;
	ask_files(s);
	for (size_t i = 0; i < N_PLACES && files_left; i++) {
		struct place *place = &s->places[s->turn];
		uint64_t now = clock_now_ns();
		s->turn = (s->turn + 1) % N_PLACES;
		if (!place->is_waiting || now < place->next)
			continue;
		uint32_t sequence = place->sequence;
		int r = look(s, place, &files_left);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		uint64_t after = clock_now_ns();
		if (after > until)
			i = N_PLACES;
		place->looked_at = sequence;
		place->is_waiting = false;
		place->last = after + QUIET_PERIOD_NS;
		place->next = after + (sequence ? (after - now) * REST_FACTOR : PERIOD_NS);
	}
	return 0;
}
