/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unwind_table.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "unwind/unwind_image.h"

#include <sys/mman.h>
#include <sys/stat.h>

const struct unwind_header *unwind_table_header(const struct unwind_table *table)
{
	return (const void *)table->data;
}

static const void *block(const struct unwind_table *table, uint32_t number)
{
	return table->data + (size_t)number * UNWIND_BLOCK_SIZE;
}

static uint64_t blocks_of(uint64_t n, uint32_t per_block)
{
	return (n + per_block - 1) / per_block;
}

/* Every part has the blocks that its count asks for, and they follow each other. */
static bool is_laid_out(const struct unwind_header *h)
{
	if (!h->n_rows || h->n_rows > UNWIND_ROWS_MAX || !h->n_rules ||
	    h->n_rules > UNWIND_RULES_MAX || !h->n_levels || h->n_levels > UNWIND_LEVELS ||
	    h->first_row != 1)
		return false;
	uint64_t nodes = blocks_of(h->n_rows, UNWIND_ROWS_PER_BLOCK);
	uint64_t at = h->first_row + nodes;
	for (uint32_t level = 0; level < h->n_levels; level++) {
		nodes = blocks_of(nodes, UNWIND_KEYS_PER_BLOCK);
		if (h->first_index[level] != at)
			return false;
		at += nodes;
	}
	return nodes == 1 && h->first_rule == at &&
	       h->n_blocks == at + blocks_of(h->n_rules, UNWIND_RULES_PER_BLOCK);
}

int unwind_table_open_memory(struct unwind_table *table, const void *data, size_t size,
			     struct mw_error *e)
{
	const struct unwind_header *h = data;
	*table = (struct unwind_table){};
	if (size < UNWIND_BLOCK_SIZE || h->magic != UNWIND_MAGIC)
		return error_set(e, -EBADMSG, "not an unwinding table");
	if (h->version != UNWIND_VERSION)
		return error_set(e, -EBADMSG, "an unwinding table of version %u", h->version);
	if (!is_laid_out(h) || (uint64_t)h->n_blocks * UNWIND_BLOCK_SIZE != size)
		return error_set(e, -EBADMSG, "the header of an unwinding table is damaged");
	*table = (struct unwind_table){.data = data, .size = size};
	return 0;
}

int unwind_table_open(struct unwind_table *table, int fd, struct mw_error *e)
{
	struct stat st;
	*table = (struct unwind_table){};
	if (fstat(fd, &st) < 0)
		return error_errno(e, -errno, "cannot ask for the size of an unwinding table");
	if (st.st_size < UNWIND_BLOCK_SIZE)
		return error_set(e, -EBADMSG, "not an unwinding table");
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return error_errno(e, -errno, "cannot map an unwinding table");
	int r = unwind_table_open_memory(table, data, (size_t)st.st_size, e);
	if (r < 0)
		munmap(data, (size_t)st.st_size);
	else
		table->is_mapped = true;
	return r;
}

void unwind_table_close(struct unwind_table *table)
{
	if (table->is_mapped)
		munmap((void *)(uintptr_t)table->data, table->size);
	*table = (struct unwind_table){};
}

static const struct unwind_rule no_rule = {.kind = UNWIND_NO_RULE};

static const struct unwind_rule *rule_at(const struct unwind_table *table, uint32_t number)
{
	const struct unwind_header *h = unwind_table_header(table);
	if (number >= h->n_rules)
		return &no_rule;
	const struct unwind_rule_block *b =
		block(table, h->first_rule + number / UNWIND_RULES_PER_BLOCK);
	return &b->rules[number % UNWIND_RULES_PER_BLOCK];
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
	const struct unwind_header *h = unwind_table_header(table);
	if (offset >= UNWIND_PADDING)
		return &no_rule;
	uint64_t node = 0;
	for (uint32_t level = h->n_levels; level-- > 0;) {
		uint32_t end = level + 1 < h->n_levels ? h->first_index[level + 1] : h->first_rule;
		if (node >= end - h->first_index[level])
			return &no_rule;
		node = node * UNWIND_KEYS_PER_BLOCK +
		       unwind_search_index(block(table, h->first_index[level] + (uint32_t)node),
					   (uint32_t)offset);
	}
	if (node >= h->first_index[0] - h->first_row)
		return &no_rule;
	const struct unwind_row_block *rows = block(table, h->first_row + (uint32_t)node);
	return rule_at(table, rows->rows[unwind_search_rows(rows, (uint32_t)offset)].rule);
}

/* ---- a whole check --------------------------------------------------------------------------- */

static bool are_rows_right(const struct unwind_table *table)
{
	const struct unwind_header *h = unwind_table_header(table);
	const struct unwind_row *rows = block(table, h->first_row);
	uint32_t room = (h->first_index[0] - h->first_row) * UNWIND_ROWS_PER_BLOCK;
	if (rows[0].offset != 0 || rule_at(table, 0)->kind != UNWIND_NO_RULE)
		return false;
	for (uint32_t i = 0; i < h->n_rows; i++) {
		if ((i && rows[i - 1].offset >= rows[i].offset) || rows[i].rule >= h->n_rules)
			return false;
	}
	for (uint32_t i = h->n_rows; i < room; i++) {
		if (rows[i].offset != UNWIND_PADDING || rows[i].rule)
			return false;
	}
	return true;
}

static bool is_level_right(const struct unwind_table *table, uint32_t from, uint32_t to,
			   uint32_t end)
{
	const uint32_t *keys = block(table, to);
	for (uint32_t i = 0; i < (end - to) * UNWIND_KEYS_PER_BLOCK; i++) {
		const uint32_t *first = block(table, from + i);
		if (keys[i] != (i < to - from ? *first : UNWIND_PADDING))
			return false;
	}
	return true;
}

static bool is_index_right(const struct unwind_table *table)
{
	const struct unwind_header *h = unwind_table_header(table);
	uint32_t from = h->first_row;
	for (uint32_t level = 0; level < h->n_levels; level++) {
		uint32_t to = h->first_index[level];
		uint32_t end = level + 1 < h->n_levels ? h->first_index[level + 1] : h->first_rule;
		if (!is_level_right(table, from, to, end))
			return false;
		from = to;
	}
	return true;
}

int unwind_table_check(const struct unwind_table *table, struct mw_error *e)
{
	const struct unwind_header *h = unwind_table_header(table);
	if (unwind_image_check(table->data, table->size) != h->check)
		return error_set(e, -EBADMSG, "the sum of an unwinding table is wrong");
	if (!are_rows_right(table))
		return error_set(e, -EBADMSG, "the rows of an unwinding table are damaged");
	if (!is_index_right(table))
		return error_set(e, -EBADMSG, "the index of an unwinding table is damaged");
	for (uint32_t i = 0; i < h->n_rules; i++) {
		if (rule_at(table, i)->kind > UNWIND_FRAME_POINTER)
			return error_set(e, -EBADMSG, "rule %u of an unwinding table is none", i);
	}
	return 0;
}
