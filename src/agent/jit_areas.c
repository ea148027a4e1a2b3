/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/jit_areas.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "space/snapshot.h"

#include <errno.h>
#include <string.h>

/* Process images whose snapshots are held at once; the one least recently used goes first. */
#define N_IMAGES 64
/* Snapshots of one image in a row; a program that maps and unmaps all the time is not followed. */
#define MAX_SNAPSHOTS 1000

struct image {
	uint32_t pid;
	uint32_t exec_count;
	uint64_t start_time;
	uint64_t used; /* 0: the place is free */
	unsigned n_snapshots;
	struct snapshot *snapshot; /* NULL: none could be taken */
};

/* One mapping of one image, and its number in the profile. */
struct area {
	uint32_t pid;
	uint32_t exec_count;
	uint64_t start_time;
	uint64_t start; /* 0: the address was in no mapping that we saw */
	uint32_t file;
};

struct jit_areas {
	struct profile *profile;
	const struct proc *proc;
	uint64_t clock;
	struct image images[N_IMAGES];
	VEC(struct area) areas;
	struct hash_index index;
};

int jit_areas_new(struct profile *profile, const struct proc *proc, struct jit_areas **ret)
{
	struct jit_areas *j = calloc(1, sizeof *j);
	if (!j)
		return -ENOMEM;
	j->profile = profile;
	j->proc = proc;
	*ret = j;
	return 0;
}

void jit_areas_free(struct jit_areas *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < N_IMAGES; i++)
		snapshot_free(j->images[i].snapshot);
	vec_deinit(&j->areas);
	hash_index_deinit(&j->index);
	free(j);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static bool is_image(const struct image *image, const struct task_key *task)
{
	return image->used && image->pid == task->pid && image->start_time == task->start_time &&
	       image->exec_count == task->exec_count;
}

static struct image *find_image(struct jit_areas *j, const struct task_key *task)
{
	struct image *oldest = &j->images[0];
	for (size_t i = 0; i < N_IMAGES; i++) {
		struct image *image = &j->images[i];
		if (is_image(image, task)) {
			image->used = ++j->clock;
			return image;
		}
		if (image->used < oldest->used)
			oldest = image;
	}
	snapshot_free(oldest->snapshot);
	*oldest = (struct image){
		.pid = task->pid,
		.exec_count = task->exec_count,
		.start_time = task->start_time,
		.used = ++j->clock,
	};
	return oldest;
}

static void refresh(struct jit_areas *j, struct image *image, uint32_t tid)
{
	struct snapshot *snapshot;
	if (image->n_snapshots++ >= MAX_SNAPSHOTS ||
	    !proc_is_same_process(j->proc, image->pid, image->start_time) ||
	    snapshot_take(j->proc, image->pid, tid, &snapshot) < 0)
		return; /* gone: what an older snapshot says still holds for older addresses */
	snapshot_free(image->snapshot);
	image->snapshot = snapshot;
}

static const struct mapping *find_mapping(struct jit_areas *j, const struct task_key *task,
					  uint64_t address)
{
	struct image *image = find_image(j, task);
	const struct mapping *m =
		image->snapshot ? snapshot_find(image->snapshot, address) : NULL;
	if (m)
		return m;
	refresh(j, image, task->tid);
	return image->snapshot ? snapshot_find(image->snapshot, address) : NULL;
}

/* ---- areas ----------------------------------------------------------------------------------- */

static bool area_equal(const void *context, uint32_t number, const void *key)
{
	const struct jit_areas *j = context;
	const struct area *a = &j->areas.items[number], *b = key;
	return a->pid == b->pid && a->exec_count == b->exec_count &&
	       a->start_time == b->start_time && a->start == b->start;
}

static uint64_t area_hash(const struct area *a)
{
	return hash_u64(a->start ^ hash_u64(a->start_time ^ (uint64_t)a->exec_count << 32 ^ a->pid));
}

static int add_area(struct jit_areas *j, struct area *area, const char *label)
{
	int r = profile_add_file(j->profile, label, 0, 0, &area->file);
	if (r == 0)
		r = profile_set_file(j->profile, area->file, NULL, MW_REASON_JIT_NO_MAP);
	if (r == 0)
		r = vec_push(&j->areas, *area);
	return r < 0 ? r : hash_index_add(&j->index, area_hash(area), (uint32_t)(j->areas.n - 1));
}

int jit_areas_find(struct jit_areas *j, const struct task_key *task, uint64_t address,
		   uint32_t *ret)
{
	const struct mapping *m = find_mapping(j, task, address);
	struct area area = {
		.pid = task->pid,
		.exec_count = task->exec_count,
		.start_time = task->start_time,
		.start = m ? m->start : 0,
	};
	uint32_t known = hash_index_find(&j->index, area_hash(&area), area_equal, j, &area);
	if (known != HASH_INDEX_NONE) {
		*ret = j->areas.items[known].file;
		return 0;
	}
	int r = add_area(j, &area, m && m->name[0] ? m->name : "//anon");
	*ret = area.file;
	return r;
}
