/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/areas.h"

#include "base/cleanup.h"
#include "base/hash.h"

#include <errno.h>

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
	uint32_t file;
};

struct areas {
	struct profile *profile;
	struct first_sight *first_sight;
	struct images *images;
	VEC(struct area) list;
	struct hash_index index;
};

int areas_new(struct profile *profile, struct first_sight *first_sight, struct images *images,
	      struct areas **ret)
{
	struct areas *areas = calloc(1, sizeof *areas);
	if (!areas)
		return -ENOMEM;
	areas->profile = profile;
	areas->first_sight = first_sight;
	areas->images = images;
	*ret = areas;
	return 0;
}

void areas_free(struct areas *areas)
{
	if (!areas)
		return;
	vec_deinit(&areas->list);
	hash_index_deinit(&areas->index);
	free(areas);
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

static int add_code(struct areas *areas, const struct mapping *mapping, uint32_t *ret)
{
	const char *label = mapping && mapping->name[0] ? mapping->name : "//anon";
	int r = profile_add_file(areas->profile, label, 0, 0, ret);
	return r < 0 ? r : profile_set_file(areas->profile, *ret, NULL, MW_REASON_JIT_NO_MAP);
}

static int find(struct areas *areas, const struct sample *sample, const struct mapping *mapping,
		uint32_t *ret)
{
	struct area area = {
		.pid = sample->task.pid,
		.exec_count = sample->task.exec_count,
		.start_time = sample->task.start_time,
	};
	if (mapping) {
		area.start = mapping->start;
		area.offset = mapping->offset;
		area.inode = mapping->inode;
		area.major = mapping->major;
		area.minor = mapping->minor;
	}
	uint32_t known = hash_index_find(&areas->index, area_hash(&area), area_equal, areas, &area);
	if (known != HASH_INDEX_NONE) {
		*ret = areas->list.items[known].file;
		return 0;
	}
	int r = mapping && mapping->inode
			? first_sight_add_mapping(areas->first_sight, &sample->task, mapping,
						  &area.file)
			: add_code(areas, mapping, &area.file);
	/* A file that could not be asked may be at the next sample. */
	bool is_sure = !(mapping && mapping->inode) || r == 1;
	if (is_sure && r >= 0)
		r = vec_push(&areas->list, area);
	if (is_sure && r >= 0)
		r = hash_index_add(&areas->index, area_hash(&area), (uint32_t)areas->list.n - 1);
	*ret = area.file;
	return r;
}

int areas_find(struct areas *areas, const struct sample *sample, const struct mapping *mapping,
	       uint32_t *ret)
{
	return find(areas, sample, mapping, ret);
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
	return find(areas, sample, m && !m->inode ? m : NULL, ret);
}
