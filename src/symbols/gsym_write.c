/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym_write.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "symbols/gsym.h"

#include <string.h>

void gsym_splits_deinit(struct gsym_splits *splits)
{
	vec_deinit(&splits->list);
}

uint64_t gsym_splits_find(const struct gsym_splits *splits, uint64_t address)
{
	size_t low = 0, high = splits->list.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (splits->list.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == splits->list.n || splits->list.items[low].address != address)
		return address;
	return splits->list.items[low].start;
}

/* What is being written: names first, because everything behind them depends on their size. */
struct writer {
	const struct gsym_function *functions;
	size_t n;
	uint64_t limit;
	struct buffer strings;
	uint32_t *names; /* of each function, its place in the strings */
	struct hash_index known; /* entries: numbers of functions whose name is there */
};

static bool has_same_name(const void *context, uint32_t entry, const void *key)
{
	const struct writer *w = context;
	return w->functions[entry].name == key;
}

/* Symbols that share a name share its bytes in the file they come from: pointers tell enough. */
static int add_name(struct writer *w, uint32_t i)
{
	const char *name = w->functions[i].name;
	uint64_t hash = hash_u64((uintptr_t)name);
	uint32_t same = hash_index_find(&w->known, hash, has_same_name, w, name);
	if (same != HASH_INDEX_NONE) {
		w->names[i] = w->names[same];
		return 0;
	}
	size_t size = strlen(name) + 1;
	if (w->strings.n > w->limit || size > w->limit - w->strings.n)
		return -EFBIG;
	w->names[i] = (uint32_t)w->strings.n;
	buffer_bytes(&w->strings, name, size);
	return w->strings.failed ? -ENOMEM : hash_index_add(&w->known, hash, i);
}

static int add_names(struct writer *w)
{
	buffer_u8(&w->strings, 0); /* number 0 is the empty string */
	w->names = malloc((w->n + 1) * sizeof *w->names);
	if (!w->names || w->strings.failed)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		int r = add_name(w, (uint32_t)i);
		if (r < 0)
			return r;
	}
	return 0;
}

static void writer_deinit(struct writer *w)
{
	buffer_deinit(&w->strings);
	free(w->names);
	hash_index_deinit(&w->known);
}

static int check_functions(const struct gsym_function *functions, size_t n)
{
	if (n > UINT32_MAX - 1)
		return -EFBIG;
	for (size_t i = 0; i < n; i++) {
		const struct gsym_function *f = &functions[i];
		if (f->end <= f->start || f->end - f->start > UINT32_MAX || !*f->name)
			return -EINVAL;
		if (i && f->start < functions[i - 1].end)
			return -EINVAL;
	}
	return 0;
}

static uint8_t offset_size_for(uint64_t largest)
{
	return largest <= UINT8_MAX ? 1 : largest <= UINT16_MAX ? 2 : largest <= UINT32_MAX ? 4 : 8;
}

/* Where each part lies. */
struct layout {
	uint8_t offset_size;
	uint64_t base;
	uint64_t infos;   /* the table of offsets of function infos */
	uint64_t files;
	uint64_t strings;
	uint64_t functions;
	uint64_t size;
};

#define INFO_SIZE  16 /* size, name, and the end of the list of optional data */
#define FILES_SIZE 12 /* one entry, number 0, which stands for no file */

static struct layout lay_out(const struct writer *w)
{
	struct layout l = {.base = w->n ? w->functions[0].start : 0};
	l.offset_size = offset_size_for(w->n ? w->functions[w->n - 1].start - l.base : 0);
	l.infos = (GSYM_HEADER_SIZE + (uint64_t)w->n * l.offset_size + 3) & ~UINT64_C(3);
	l.files = l.infos + (uint64_t)w->n * 4;
	l.strings = l.files + FILES_SIZE;
	l.functions = (l.strings + w->strings.n + 3) & ~UINT64_C(3);
	l.size = l.functions + (uint64_t)w->n * INFO_SIZE;
	return l;
}

static void write_header(const struct writer *w, const struct layout *l,
			 const struct mw_file_id *id, struct buffer *out)
{
	uint8_t uuid_size = id ? (uint8_t)MIN(id->size, GSYM_UUID_MAX) : 0;
	uint8_t uuid[GSYM_UUID_MAX] = {};
	if (id)
		memcpy(uuid, id->bytes, uuid_size);
	buffer_u32(out, GSYM_MAGIC);
	buffer_u16(out, GSYM_VERSION);
	buffer_u8(out, l->offset_size);
	buffer_u8(out, uuid_size);
	buffer_u64(out, l->base);
	buffer_u32(out, (uint32_t)w->n);
	buffer_u32(out, (uint32_t)l->strings);
	buffer_u32(out, (uint32_t)w->strings.n);
	buffer_bytes(out, uuid, sizeof uuid);
}

/* The tables are filled in place: a call per number would cost more than all the rest. */
static void write_tables(const struct writer *w, const struct layout *l, uint8_t *out)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct gsym_function *f = &w->functions[i];
		uint64_t offset = f->start - l->base;
		uint32_t info_at = (uint32_t)(l->functions + i * INFO_SIZE);
		uint32_t info[] = {(uint32_t)(f->end - f->start), w->names[i], 0, 0};
		/* Little endian: the low bytes come first. */
		memcpy(out + GSYM_HEADER_SIZE + i * l->offset_size, &offset, l->offset_size);
		memcpy(out + l->infos + i * 4, &info_at, sizeof info_at);
		memcpy(out + info_at, info, sizeof info);
	}
	uint32_t n_files = 1;
	memcpy(out + l->files, &n_files, sizeof n_files);
	memcpy(out + l->strings, w->strings.data, w->strings.n);
}

static int list_splits(const struct writer *w, struct gsym_splits *splits)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct gsym_function *f = &w->functions[i];
		if (f->function_start == f->start)
			continue;
		int r = vec_push(&splits->list, (struct gsym_split){f->start, f->function_start});
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_all(struct writer *w, const struct mw_file_id *id, struct buffer *ret,
		     struct gsym_splits *splits)
{
	int r = add_names(w);
	if (r < 0)
		return r;
	struct layout l = lay_out(w);
	if (l.size > w->limit)
		return -EFBIG;
	write_header(w, &l, id, ret);
	buffer_extend(ret, l.size - GSYM_HEADER_SIZE);
	if (ret->failed)
		return -ENOMEM;
	write_tables(w, &l, ret->data);
	return splits ? list_splits(w, splits) : 0;
}

int gsym_write(const struct gsym_function *functions, size_t n, const struct mw_file_id *id,
	       uint64_t limit, struct buffer *ret, struct gsym_splits *splits, struct mw_error *e)
{
	struct writer w = {.functions = functions, .n = n, .limit = MIN(limit, UINT32_MAX)};
	int r = check_functions(functions, n);
	if (r == 0)
		r = write_all(&w, id, ret, splits);
	writer_deinit(&w);
	switch (r) {
	case -EFBIG:
		return error_set(e, r, "the names of %zu functions need more than %llu bytes", n,
				 (unsigned long long)w.limit);
	case -EINVAL:
		return error_set(e, r, "functions are not disjoint and ascending");
	case -ENOMEM:
		return error_set(e, r, "out of memory for the names of %zu functions", n);
	default:
		return r;
	}
}
