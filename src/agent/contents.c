/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/contents.h"

#include "base/cleanup.h"
#include "base/file_id.h"
#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define MAX_IDS 16384

struct known {
	struct mw_file_id id;
	uint8_t content[ELF_CONTENT_SIZE]; /* the first */
	bool is_ambiguous;
};

struct contents {
	VEC(struct known) list;
	struct hash_index index;
};

int contents_new(struct contents **ret)
{
	*ret = calloc(1, sizeof **ret);
	return *ret ? 0 : -ENOMEM;
}

void contents_free(struct contents *c)
{
	if (!c)
		return;
	vec_deinit(&c->list);
	hash_index_deinit(&c->index);
	free(c);
}

static bool has_id(const void *context, uint32_t number, const void *key)
{
	const struct contents *c = context;
	return mw_file_id_equal(&c->list.items[number].id, key);
}

static uint32_t find(const struct contents *c, const struct mw_file_id *id)
{
	return hash_index_find(&c->index, file_id_hash(id), has_id, c, id);
}

bool contents_is_ambiguous(const struct contents *c, const struct mw_file_id *id)
{
	uint32_t number = find(c, id);
	return number != HASH_INDEX_NONE && c->list.items[number].is_ambiguous;
}

/* Keeps what must not be forgotten, unless that is nearly everything. */
static int make_room(struct contents *c)
{
	size_t kept = 0;
	vec_foreach(known, &c->list) {
		if (known->is_ambiguous && kept < MAX_IDS / 2)
			c->list.items[kept++] = *known;
	}
	c->list.n = kept;
	hash_index_deinit(&c->index);
	c->index = (struct hash_index){};
	for (size_t i = 0; i < kept; i++) {
		int r = hash_index_add(&c->index, file_id_hash(&c->list.items[i].id), (uint32_t)i);
		if (r < 0)
			return r;
	}
	return 0;
}

int contents_see(struct contents *c, const struct mw_file_id *id,
		 const uint8_t content[ELF_CONTENT_SIZE])
{
	uint32_t number = find(c, id);
	if (number != HASH_INDEX_NONE) {
		struct known *known = &c->list.items[number];
		bool is_another = memcmp(known->content, content, ELF_CONTENT_SIZE) != 0;
		known->is_ambiguous |= is_another;
		return is_another;
	}
	int r = c->list.n >= MAX_IDS ? make_room(c) : 0;
	struct known known = {.id = *id};
	memcpy(known.content, content, ELF_CONTENT_SIZE);
	number = (uint32_t)c->list.n;
	if (r == 0)
		r = vec_push(&c->list, known);
	return r < 0 ? r : hash_index_add(&c->index, file_id_hash(id), number);
}
