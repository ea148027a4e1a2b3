/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/areas.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "content/still_files.h"
#include "space/hole.h"

#include <errno.h>
#include <fcntl.h>

/* Mappings that are remembered. When there are more, all are forgotten. */
#define AREAS_MAX 16384

#define NO_STATE UINT32_MAX

/* One mapping of one image, and its number in the profile. */
struct area {
	uint64_t start_time;
	uint64_t start; /* 0: the address was in no mapping that we saw */
	uint64_t offset;
	uint64_t inode;
	uint32_t pid;
	uint32_t exec_count;
	uint32_t major;
	uint32_t minor;
	/* What is known of it. */
	uint32_t state; /* of its file, in still; NO_STATE: not looked at yet */
	uint32_t file;	/* in that state */
	uint32_t code;	/* as memory that may change; UINT32_MAX: it was not asked for */
	uint64_t tried; /* the last look at it, in vain or not */
};

struct areas {
	struct profile *profile;
	struct first_sight *first_sight;
	struct images *images;
	struct still_files *still; /* owned */
	bool programs_are_fixed;   /* this kernel lets nobody write to a program that runs */
	VEC(struct area) list;
	struct hash_index index;
};

/* Linux 6.11 and 6.12 let them be written to; whoever cannot try, as on a file system for reading, need
 * not care. */
static bool are_programs_fixed(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_WRONLY | O_CLOEXEC);
	return fd < 0;
}

int areas_new(struct profile *profile, struct first_sight *first_sight, struct images *images,
	      const struct proc *proc, struct areas **ret)
{
	struct areas *areas = calloc(1, sizeof *areas);
	if (!areas)
		return -ENOMEM;
	areas->profile = profile;
	areas->first_sight = first_sight;
	areas->images = images;
	areas->programs_are_fixed = are_programs_fixed();
	int r = still_files_new(proc, NULL, &areas->still);
	if (r < 0) {
		free(areas);
		return r;
	}
	*ret = areas;
	return 0;
}

void areas_free(struct areas *areas)
{
	if (!areas)
		return;
	still_files_free(areas->still);
	vec_deinit(&areas->list);
	hash_index_deinit(&areas->index);
	free(areas);
}

static void reset(struct areas *areas)
{
	still_files_reset(areas->still);
	areas->list.n = 0;
	hash_index_deinit(&areas->index);
	areas->index = (struct hash_index){};
}

static bool area_equal(const void *context, uint32_t number, const void *key)
{
	const struct areas *areas = context;
	const struct area *a = &areas->list.items[number], *b = key;
	return a->pid == b->pid && a->exec_count == b->exec_count &&
	       a->start_time == b->start_time && a->start == b->start && a->inode == b->inode &&
	       a->offset == b->offset && a->major == b->major && a->minor == b->minor;
}

static uint64_t area_hash(const struct area *a)
{
	uint64_t process = a->start_time ^ (uint64_t)a->exec_count << 32 ^ a->pid;
	return hash_u64(a->start ^ hash_u64(a->inode ^ hash_u64(process)));
}

static int find_area(struct areas *areas, const struct sample *sample, const struct mapping *mapping,
		     struct area **ret)
{
	struct area area = {
		.pid = sample->task.pid,
		.exec_count = sample->task.exec_count,
		.start_time = sample->task.start_time,
		.state = NO_STATE,
		.file = UINT32_MAX,
		.code = UINT32_MAX,
	};
	if (mapping) {
		area.start = mapping->start;
		area.offset = mapping->offset;
		area.inode = mapping->inode;
		area.major = mapping->major;
		area.minor = mapping->minor;
	}
	uint32_t number = hash_index_find(&areas->index, area_hash(&area), area_equal, areas, &area);
	if (number == HASH_INDEX_NONE) {
		if (areas->list.n >= AREAS_MAX)
			reset(areas);
		number = (uint32_t)areas->list.n;
		int r = vec_push(&areas->list, area);
		if (r == 0)
			r = hash_index_add(&areas->index, area_hash(&area), number);
		if (r < 0)
			return r;
	}
	*ret = &areas->list.items[number];
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int find_code(struct areas *areas, struct area *area, const struct mapping *mapping,
		     uint32_t *ret)
{
	if (area->code == UINT32_MAX) {
		const char *label = mapping && mapping->name[0] ? mapping->name : "//anon";
		int r = profile_add_file(areas->profile, label, 0, 0, &area->code);
		if (r == 0)
			r = profile_set_file(areas->profile, area->code, NULL, MW_REASON_JIT_NO_MAP);
		if (r < 0)
			return r;
	}
	*ret = area->code;
	return 0;
}

int areas_find_code(struct areas *areas, const struct sample *sample, uint64_t address,
		    uint32_t *ret)
{
	const struct mapping *m;
	images_find(areas->images, sample, address, &m);
	if (!m || m->inode) { /* a program that makes code maps new memory for it: a newer snapshot has it */
		images_refresh(areas->images, sample, sample->time);
		images_find(areas->images, sample, address, &m);
	}
	m = m && !m->inode ? m : NULL;
	struct area *area;
	int r = find_area(areas, sample, m, &area);
	return r < 0 ? r : find_code(areas, area, m, ret);
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * The file of the area's mapping, in the state of the last look, becomes one of the profile. Not before
 * nobody can write to it: it is read now. 1, 0: it is another one already, or -ENOMEM.
 */
static int take_file(struct areas *areas, struct area *area, const struct sample *sample,
		     const struct mapping *mapping)
{
	uint32_t file;
	int r = first_sight_add_mapping(areas->first_sight, &sample->task, mapping, &file);
	if (r <= 0 || !first_sight_has_key(areas->first_sight, file,
					   still_files_key(areas->still, area->state)))
		return r < 0 ? r : 0;
	area->file = file;
	return 1;
}

/* 0, -ENOSPC or -ENOMEM. */
static int look(struct areas *areas, struct area *area, const struct sample *sample,
		const struct mapping *mapping)
{
	struct file_request request = {
		.pid = sample->task.pid,
		.tid = sample->task.tid,
		.map_start = mapping->start,
		.map_end = mapping->end,
	};
	uint32_t state;
	area->tried = clock_now_ns();
	int r = still_files_look(areas->still, &request, &state);
	if (r == 0 && !first_sight_is_of_mapping(areas->first_sight, &sample->task, mapping,
						 still_files_key(areas->still, state),
						 still_files_magic(areas->still, state)))
		r = -ESTALE; /* another file is mapped there by now */
	if (r == 0 && state != area->state) {
		area->state = state;
		area->file = UINT32_MAX;
	}
	if (r == -ENOMEM || r == -ENOSPC)
		return r;
	if (r < 0 && area->state != NO_STATE)
		r = still_files_look_again(areas->still, area->state);
	return r == -ENOMEM ? r : 0;
}

static int find_file(struct areas *areas, struct area *area, const struct sample *sample,
		     const struct mapping *mapping, uint32_t *ret)
{
	int r = area->file == UINT32_MAX ? take_file(areas, area, sample, mapping) : 1;
	*ret = area->file;
	return r < 0 ? r : r == 1 ? AREA_FOUND : AREA_LATER;
}

static int judge(struct areas *areas, struct area *area, const struct sample *sample,
		 const struct mapping *mapping, uint32_t *ret)
{
	switch (still_files_at(areas->still, area->state, sample->time)) {
	case STILL_YES:
		return find_file(areas, area, sample, mapping, ret);
	case STILL_UNKNOWN:
		return AREA_LATER;
	case STILL_NO:
		return AREA_RACED;
	case STILL_MEMORY:
		break;
	}
	int r = find_code(areas, area, mapping, ret);
	return r < 0 ? r : AREA_CODE;
}

int areas_find(struct areas *areas, const struct sample *sample, const struct mapping *mapping,
	       uint32_t *ret)
{
	struct area *area;
	int r = find_area(areas, sample, mapping, &area);
	if (r < 0)
		return r;
	if (!mapping->inode) {
		r = find_code(areas, area, mapping, ret);
		return r < 0 ? r : AREA_CODE;
	}
	bool is_fixed = mapping->is_program && areas->programs_are_fixed && !hole_may_be(mapping);
	bool is_known = area->state != NO_STATE &&
			(is_fixed ||
			 still_files_at(areas->still, area->state, sample->time) != STILL_UNKNOWN);
	if (!is_known && area->tried < sample->time) {
		r = look(areas, area, sample, mapping);
		if (r == -ENOSPC) { /* too many states are known: all begins anew */
			reset(areas);
			r = find_area(areas, sample, mapping, &area);
			if (r == 0)
				r = look(areas, area, sample, mapping);
		}
		if (r < 0)
			return r;
	}
	if (area->state == NO_STATE)
		return AREA_LATER;
	if (is_fixed)
		return find_file(areas, area, sample, mapping, ret);
	return judge(areas, area, sample, mapping, ret);
}
