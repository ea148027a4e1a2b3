/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strings.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)64 * 1024)

struct key {
	const char *text;
	size_t n;
};

void strings_deinit(struct strings *pool)
{
	vec_foreach(block, &pool->blocks)
		free(*block);
	vec_deinit(&pool->blocks);
	vec_deinit(&pool->texts);
	hash_index_deinit(&pool->index);
	*pool = (struct strings){};
}

static bool equal(const void *context, uint32_t entry, const void *key)
{
	const struct strings *pool = context;
	const struct key *k = key;
	const char *text = pool->texts.items[entry];
	return strncmp(text, k->text, k->n) == 0 && text[k->n] == '\0';
}

/* Room for n bytes: at the end of the last block, or in a new one. */
static char *allocate(struct strings *pool, size_t n)
{
	if (n > pool->room) {
		size_t size = MAX(n, BLOCK_SIZE);
		_cleanup_free_ char *block = malloc(size);
		if (!block || vec_push(&pool->blocks, block) < 0)
			return NULL;
		pool->next = take_ptr(block);
		pool->room = size;
		pool->bytes += size;
	}
	char *p = pool->next;
	pool->next += n;
	pool->room -= n;
	return p;
}

static int append(struct strings *pool, const char *text, size_t n, uint64_t hash, uint32_t *ret)
{
	char *copy = allocate(pool, n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, n);
	copy[n] = '\0';
	int r = vec_push(&pool->texts, (const char *)copy);
	if (r < 0)
		return r;
	uint32_t number = (uint32_t)(pool->texts.n - 1);
	r = hash_index_add(&pool->index, hash, number);
	if (r < 0) {
		pool->texts.n--;
		return r;
	}
	*ret = number;
	return 0;
}

int strings_add(struct strings *pool, const char *text, size_t n, uint32_t *ret)
{
	if (!pool->texts.n) {
		uint32_t zero;
		int r = append(pool, "", 0, hash_bytes("", 0, 0), &zero);
		if (r < 0)
			return r;
	}
	uint64_t hash = hash_bytes(text, n, 0);
	struct key key = {text, n};
	uint32_t found = hash_index_find(&pool->index, hash, equal, pool, &key);
	if (found != HASH_INDEX_NONE) {
		*ret = found;
		return 0;
	}
	if (pool->texts.n >= UINT32_MAX - 1)
		return -ENOMEM;
	return append(pool, text, n, hash, ret);
}

const char *strings_get(const struct strings *pool, uint32_t number)
{
	return number < pool->texts.n ? pool->texts.items[number] : "";
}
