/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The containers of a profile. A sample does not carry one: it has a cgroup and a mount namespace, and
 * the two together lie in at most one container. So what is learned of a container after its first
 * samples, or after its end, reaches them all.
 */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

static int intern_texts(struct profile *p, const char *const *texts, struct profile_container *ret)
{
	int r = 0;
	*ret = (struct profile_container){};
	for (size_t i = 0; i < PROFILE_CONTAINER_N_TEXTS && r == 0; i++)
		r = profile_add_string(p, texts[i] ? texts[i] : "", &ret->text[i]);
	return r;
}

int profile_add_container(struct profile *p, const char *const *texts, uint32_t *ret)
{
	struct profile_container container;
	int r = intern_texts(p, texts, &container);
	if (r == 0)
		r = vec_push(&p->containers, container);
	if (r == 0)
		*ret = (uint32_t)(p->containers.n - 1);
	return r;
}

int profile_set_container(struct profile *p, uint32_t container, const char *const *texts)
{
	struct profile_container new;
	if (container >= p->containers.n)
		return -ENOENT;
	int r = intern_texts(p, texts, &new);
	if (r == 0)
		r = vec_push(&p->changed_containers, container);
	if (r == 0)
		p->containers.items[container] = new;
	return r;
}

static bool place_equal(const void *context, uint32_t entry, const void *key)
{
	const struct profile *p = context;
	const struct profile_place *a = &p->places.items[entry], *b = key;
	return a->cgroup == b->cgroup && a->mount_namespace == b->mount_namespace;
}

static uint64_t place_hash(const struct profile_place *place)
{
	return hash_u64(place->mount_namespace ^ hash_u64(place->cgroup));
}

int profile_put_place(struct profile *p, const struct profile_place *place)
{
	uint64_t hash = place_hash(place);
	uint32_t known = hash_index_find(&p->place_index, hash, place_equal, p, place);
	if (known != HASH_INDEX_NONE) {
		p->places.items[known] = *place;
		return p->read_only ? 0 : vec_push(&p->changed_places, known);
	}
	int r = vec_push(&p->places, *place);
	return r < 0 ? r : hash_index_add(&p->place_index, hash, (uint32_t)p->places.n - 1);
}

int profile_set_place(struct profile *p, uint64_t cgroup, uint64_t mount_namespace,
		      uint32_t container)
{
	struct profile_place place = {.mount_namespace = mount_namespace, .container = container};
	if (container >= p->containers.n)
		return -ENOENT;
	int r = profile_intern_cgroup(p, cgroup, &place.cgroup);
	return r < 0 ? r : profile_put_place(p, &place);
}

const struct profile_container *profile_container_of(const struct profile *p,
						     const struct profile_sample *sample)
{
	struct profile_place key = {.mount_namespace = sample->mount_namespace,
				    .cgroup = sample->cgroup};
	uint32_t at = hash_index_find(&p->place_index, place_hash(&key), place_equal, p, &key);
	return at == HASH_INDEX_NONE ? NULL : &p->containers.items[p->places.items[at].container];
}
