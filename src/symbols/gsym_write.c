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

#define INFO_SIZE  16 /* size, name, and the end of the list of optional data */
#define KNOWN_NAMES 4096
#define FILES_SIZE 12 /* one entry, number 0, which stands for no file */

/* What is being written, and where each part of it lies. */
struct writer {
	const struct gsym_function *functions;
	size_t n;
	uint64_t limit;
	struct buffer *out;
	uint8_t offset_size;
	uint64_t base;
	uint64_t info_offsets;
	uint64_t files;
	uint64_t strings;
	uint64_t strings_size;
	uint64_t infos;
	uint32_t *names; /* of each function, its place in the strings */
	/* Functions whose name is there, by a hash of its pointer: the last one of each. */
	uint32_t known[KNOWN_NAMES];
};

static void writer_deinit(struct writer *w)
{
	free(w->names);
}

/*
 * Symbols that share a name share its bytes in the file they come from: pointers tell enough. Nearly all names
 * are unlike, so a table that forgets is worth more than one that does not.
 */
static int add_name(struct writer *w, uint32_t i)
{
	const char *name = w->functions[i].name;
	uint32_t *known = &w->known[hash_u64((uintptr_t)name) % KNOWN_NAMES];
	if (*known < i && w->functions[*known].name == name) {
		w->names[i] = w->names[*known];
		return 0;
	}
	*known = i;
	size_t size = strlen(name) + 1;
	if (w->out->n > w->limit || size > w->limit - w->out->n)
		return -EFBIG;
	w->names[i] = (uint32_t)(w->out->n - w->strings);
	buffer_bytes(w->out, name, size);
	return w->out->failed ? -ENOMEM : 0;
}

static int add_names(struct writer *w)
{
	buffer_u8(w->out, 0); /* number 0 is the empty string */
	w->names = malloc((w->n + 1) * sizeof *w->names);
	if (!w->names || w->out->failed)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		int r = add_name(w, (uint32_t)i);
		if (r < 0)
			return r;
	}
	w->strings_size = w->out->n - w->strings;
	return 0;
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

/* The parts before the strings, whose size alone is not known beforehand. */
static void lay_out(struct writer *w)
{
	w->base = w->n ? w->functions[0].start : 0;
	w->offset_size = offset_size_for(w->n ? w->functions[w->n - 1].start - w->base : 0);
	w->info_offsets = (GSYM_HEADER_SIZE + (uint64_t)w->n * w->offset_size + 3) & ~UINT64_C(3);
	w->files = w->info_offsets + (uint64_t)w->n * 4;
	w->strings = w->files + FILES_SIZE;
}

static void write_header(struct writer *w, const struct mw_file_id *id)
{
	struct buffer header = {.data = w->out->data, .capacity = GSYM_HEADER_SIZE};
	buffer_u32(&header, GSYM_MAGIC);
	buffer_u16(&header, GSYM_VERSION);
	buffer_u8(&header, w->offset_size);
	buffer_u8(&header, id ? (uint8_t)MIN(id->size, GSYM_UUID_MAX) : 0);
	buffer_u64(&header, w->base);
	buffer_u32(&header, (uint32_t)w->n);
	buffer_u32(&header, (uint32_t)w->strings);
	buffer_u32(&header, (uint32_t)w->strings_size);
	if (id)
		buffer_bytes(&header, id->bytes, MIN(id->size, GSYM_UUID_MAX));
}

/* The tables are filled in place: a call per number would cost more than all the rest. */
static void write_tables(struct writer *w)
{
	uint8_t *out = w->out->data;
	for (size_t i = 0; i < w->n; i++) {
		const struct gsym_function *f = &w->functions[i];
		uint64_t offset = f->start - w->base;
		uint32_t info_at = (uint32_t)(w->infos + i * INFO_SIZE);
		uint32_t info[] = {(uint32_t)(f->end - f->start), w->names[i], 0, 0};
		/* Little endian: the low bytes come first. */
		memcpy(out + GSYM_HEADER_SIZE + i * w->offset_size, &offset, w->offset_size);
		memcpy(out + w->info_offsets + i * 4, &info_at, sizeof info_at);
		memcpy(out + info_at, info, sizeof info);
	}
	uint32_t n_files = 1;
	memcpy(out + w->files, &n_files, sizeof n_files);
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

static int write_all(struct writer *w, const struct mw_file_id *id)
{
	lay_out(w);
	if (w->strings + (uint64_t)w->n * INFO_SIZE > w->limit)
		return -EFBIG;
	buffer_extend(w->out, w->strings);
	int r = w->out->failed ? -ENOMEM : add_names(w);
	if (r < 0)
		return r;
	buffer_align(w->out, 4);
	w->infos = w->out->n;
	if (w->infos + (uint64_t)w->n * INFO_SIZE > w->limit)
		return -EFBIG;
	buffer_extend(w->out, w->n * INFO_SIZE);
	if (w->out->failed)
		return -ENOMEM;
	write_header(w, id);
	write_tables(w);
	return 0;
}

int gsym_write(const struct gsym_function *functions, size_t n, const struct mw_file_id *id,
	       uint64_t limit, struct buffer *ret, struct gsym_splits *splits, struct mw_error *e)
{
	struct writer w = {.functions = functions,
			   .n = n,
			   .limit = MIN(limit, UINT32_MAX),
			   .out = ret};
	int r = check_functions(functions, n);
	if (r == 0)
		r = write_all(&w, id);
	if (r == 0 && splits)
		r = list_splits(&w, splits);
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
