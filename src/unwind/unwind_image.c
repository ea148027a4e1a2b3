/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unwind_image.h"

#include "base/cleanup.h"

#include <string.h>

void unwind_image_deinit(struct unwind_image *image)
{
	vec_deinit(&image->rows);
	vec_deinit(&image->rules);
	hash_index_deinit(&image->index);
}

static bool is_rule(const void *context, uint32_t number, const void *key)
{
	const struct unwind_image *image = context;
	return memcmp(&image->rules.items[number], key, sizeof(struct unwind_rule)) == 0;
}

/* The words of a rule, mixed: the index hashes better, but this is done for each row. */
static uint32_t cache_slot(const struct unwind_rule *rule)
{
	const uint8_t *bytes = (const void *)rule;
	uint64_t mixed = 0;
	for (size_t at = 0; at < sizeof *rule; at += 8) {
		uint64_t word;
		memcpy(&word, bytes + at, sizeof word);
		mixed = (mixed ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return (uint32_t)(mixed >> 48) % UNWIND_IMAGE_CACHE;
}

/* The number of a rule, or of UNWIND_UNSUPPORTED once there are too many. */
static int rule_number(struct unwind_image *image, const struct unwind_rule *rule, uint32_t *ret)
{
	static const struct unwind_rule unsupported = {.kind = UNWIND_UNSUPPORTED};
	uint32_t *cached = &image->cache[cache_slot(rule)];
	if (*cached < image->rules.n && is_rule(image, *cached, rule)) {
		*ret = *cached;
		return 0;
	}
	uint64_t hash = hash_bytes(rule, sizeof *rule, 0);
	*ret = hash_index_find(&image->index, hash, is_rule, image, rule);
	if (*ret == HASH_INDEX_NONE) {
		/* The last one has room for this. */
		if (image->rules.n + 1 >= UNWIND_RULES_MAX && rule->kind != UNWIND_UNSUPPORTED)
			return rule_number(image, &unsupported, ret);
		*ret = (uint32_t)image->rules.n;
		if (vec_push(&image->rules, *rule) < 0 ||
		    hash_index_add(&image->index, hash, *ret) < 0)
			return -ENOMEM;
	}
	*cached = *ret;
	return 0;
}

static int push_row(struct unwind_image *image, uint64_t offset, uint32_t rule)
{
	size_t n = image->rows.n;
	if (n && image->rows.items[n - 1].rule == rule)
		return 0;
	if (n >= UNWIND_ROWS_MAX)
		return -EFBIG;
	return vec_push(&image->rows, (struct unwind_row){(uint32_t)offset, rule});
}

int unwind_image_init(struct unwind_image *image, uint16_t machine)
{
	static const struct unwind_rule none = {.kind = UNWIND_NO_RULE};
	uint32_t number;
	image->header.machine = machine;
	int r = rule_number(image, &none, &number);
	return r < 0 ? r : push_row(image, 0, number);
}

int unwind_image_add(struct unwind_image *image, uint64_t begin, uint64_t end,
		     const struct unwind_rule *rule)
{
	uint32_t number;
	end = MIN(end, UNWIND_PADDING);
	if (begin >= end)
		return 0;
	int r = rule_number(image, rule, &number);
	if (r == 0 && begin > image->end)
		r = push_row(image, image->end, 0);
	/* A row at the same place takes over: at the very start there is one. */
	if (r == 0 && begin == image->rows.items[image->rows.n - 1].offset)
		image->rows.items[image->rows.n - 1].rule = number;
	else if (r == 0)
		r = push_row(image, begin, number);
	if (r < 0)
		return r;
	image->header.n_unsupported += image->rules.items[number].kind == UNWIND_UNSUPPORTED;
	image->end = end;
	return 0;
}

/* ---- the bytes ------------------------------------------------------------------------------- */

static uint32_t blocks_of(uint64_t n, uint32_t per_block)
{
	return (uint32_t)((n + per_block - 1) / per_block);
}

static void plan(struct unwind_image *image)
{
	struct unwind_header *h = &image->header;
	h->magic = UNWIND_MAGIC;
	h->version = UNWIND_VERSION;
	h->n_rows = (uint32_t)image->rows.n;
	h->n_rules = (uint32_t)image->rules.n;
	h->first_row = 1;
	uint32_t nodes = blocks_of(h->n_rows, UNWIND_ROWS_PER_BLOCK);
	uint32_t at = h->first_row + nodes;
	do {
		nodes = blocks_of(nodes, UNWIND_KEYS_PER_BLOCK);
		h->first_index[h->n_levels++] = at;
		at += nodes;
	} while (nodes > 1);
	h->first_rule = at;
	h->n_blocks = at + blocks_of(h->n_rules, UNWIND_RULES_PER_BLOCK);
}

static void write_rows(const struct unwind_image *image, uint8_t *data)
{
	const struct unwind_header *h = &image->header;
	struct unwind_row *rows = (void *)(data + (size_t)h->first_row * UNWIND_BLOCK_SIZE);
	size_t room = (size_t)(h->first_index[0] - h->first_row) * UNWIND_ROWS_PER_BLOCK;
	memcpy(rows, image->rows.items, image->rows.n * sizeof *rows);
	for (size_t i = image->rows.n; i < room; i++)
		rows[i] = (struct unwind_row){UNWIND_PADDING, 0};
}

/* The first words of n blocks from `from` on become keys in the blocks from `to` on. */
static void write_level(uint8_t *data, uint32_t from, uint32_t n, uint32_t to)
{
	uint32_t *keys = (void *)(data + (size_t)to * UNWIND_BLOCK_SIZE);
	size_t room = (size_t)blocks_of(n, UNWIND_KEYS_PER_BLOCK) * UNWIND_KEYS_PER_BLOCK;
	for (size_t i = 0; i < room; i++) {
		if (i < n)
			memcpy(&keys[i], data + (from + i) * UNWIND_BLOCK_SIZE, sizeof keys[i]);
		else
			keys[i] = UNWIND_PADDING;
	}
}

static void write_index(const struct unwind_image *image, uint8_t *data)
{
	const struct unwind_header *h = &image->header;
	uint32_t from = h->first_row;
	for (uint32_t level = 0; level < h->n_levels; level++) {
		uint32_t to = h->first_index[level];
		write_level(data, from, to - from, to);
		from = to;
	}
}

uint64_t unwind_image_check(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t lanes[4] = {size, 1, 2, 3};
	size_t at = offsetof(struct unwind_header, version);
	for (unsigned i = 0; at + 8 <= size; at += 8, i++) {
		uint64_t word;
		memcpy(&word, bytes + at, sizeof word);
		uint64_t *lane = &lanes[i % 4];
		*lane = (*lane ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		*lane ^= *lane >> 32;
	}
	return hash_u64(lanes[0] ^ hash_u64(lanes[1] ^ hash_u64(lanes[2] ^ hash_u64(lanes[3]))));
}

int unwind_image_finish(struct unwind_image *image, struct buffer *ret)
{
	int r = image->end ? push_row(image, image->end, 0) : 0;
	if (r < 0)
		return r;
	plan(image);
	struct unwind_header *h = &image->header;
	size_t size = (size_t)h->n_blocks * UNWIND_BLOCK_SIZE;
	uint8_t *data = buffer_extend(ret, size);
	if (!data)
		return -ENOMEM;
	write_rows(image, data);
	write_index(image, data);
	memcpy(data + (size_t)h->first_rule * UNWIND_BLOCK_SIZE, image->rules.items,
	       image->rules.n * sizeof *image->rules.items);
	memcpy(data, h, sizeof *h);
	h->check = unwind_image_check(data, size);
	memcpy(data, h, sizeof *h);
	return 0;
}
