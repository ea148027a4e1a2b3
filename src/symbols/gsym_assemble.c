/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/gsym_assemble.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "symbols/gsym.h"

#include <string.h>

/* Bytes that are written at once. */
#define CHUNK (UINT64_C(1) << 20)

#define RECORD_HEAD 8 /* size and name */
#define RECORD_TAIL 8 /* the end of the list of what is known */

struct assembly {
	const struct gsym_parts *parts;
	int fd;
	struct buffer chunk;
	uint8_t offset_size;
	uint64_t base;
	uint64_t strings; /* where they begin */
	uint64_t records;
	uint64_t end;
};

static uint64_t align4(uint64_t n)
{
	return (n + 3) & ~UINT64_C(3);
}

static uint64_t record_size(const struct gsym_record *record)
{
	return align4(RECORD_HEAD + (uint64_t)record->info_size + RECORD_TAIL);
}

static void lay_out(struct assembly *a)
{
	const struct gsym_parts *parts = a->parts;
	uint64_t largest =
		parts->n ? parts->records[parts->n - 1].start - parts->records[0].start : 0;
	a->base = parts->n ? parts->records[0].start : 0;
	a->offset_size = largest <= UINT8_MAX ? 1 : largest <= UINT16_MAX ? 2
					      : largest <= UINT32_MAX ? 4 : 8;
	uint64_t infos = align4(GSYM_HEADER_SIZE + parts->n * (uint64_t)a->offset_size);
	a->strings = infos + parts->n * 4 + parts->files->n;
	a->records = align4(a->strings + parts->strings->n);
	a->end = a->records;
	for (size_t i = 0; i < parts->n; i++)
		a->end += record_size(&parts->records[i]);
}

static int flush(struct assembly *a)
{
	if (a->chunk.failed)
		return -ENOMEM;
	int r = io_write(a->fd, a->chunk.data, a->chunk.n);
	a->chunk.n = 0;
	return r;
}

static int flush_if_full(struct assembly *a)
{
	return a->chunk.failed || a->chunk.n >= CHUNK ? flush(a) : 0;
}

static void put_header(struct assembly *a)
{
	const struct mw_file_id *id = a->parts->id;
	uint8_t uuid[GSYM_UUID_MAX] = {};
	size_t size = id ? MIN(id->size, GSYM_UUID_MAX) : 0;
	if (size)
		memcpy(uuid, id->bytes, size);
	buffer_u32(&a->chunk, GSYM_MAGIC);
	buffer_u16(&a->chunk, GSYM_VERSION);
	buffer_u8(&a->chunk, a->offset_size);
	buffer_u8(&a->chunk, (uint8_t)size);
	buffer_u64(&a->chunk, a->base);
	buffer_u32(&a->chunk, (uint32_t)a->parts->n);
	buffer_u32(&a->chunk, (uint32_t)a->strings);
	buffer_u32(&a->chunk, (uint32_t)a->parts->strings->n);
	buffer_bytes(&a->chunk, uuid, sizeof uuid);
}

static int put_tables(struct assembly *a)
{
	const struct gsym_parts *parts = a->parts;
	int r = 0;
	for (size_t i = 0; i < parts->n && r == 0; i++) {
		uint64_t offset = parts->records[i].start - a->base;
		/* Little endian: the low bytes come first. */
		buffer_bytes(&a->chunk, &offset, a->offset_size);
		r = flush_if_full(a);
	}
	size_t written = GSYM_HEADER_SIZE + parts->n * a->offset_size;
	for (size_t i = written; i % 4; i++)
		buffer_u8(&a->chunk, 0);
	uint64_t at = a->records;
	for (size_t i = 0; i < parts->n && r == 0; i++) {
		buffer_u32(&a->chunk, (uint32_t)at);
		at += record_size(&parts->records[i]);
		r = flush_if_full(a);
	}
	buffer_bytes(&a->chunk, parts->files->data, parts->files->n);
	return r < 0 ? r : flush(a);
}

static int put_strings(struct assembly *a)
{
	int r = io_write(a->fd, a->parts->strings->data, a->parts->strings->n);
	for (uint64_t i = a->strings + a->parts->strings->n; i < a->records; i++)
		buffer_u8(&a->chunk, 0);
	return r;
}

static int put_records(struct assembly *a)
{
	int r = 0;
	for (size_t i = 0; i < a->parts->n && r == 0; i++) {
		const struct gsym_record *record = &a->parts->records[i];
		uint32_t head[] = {record->size, record->name};
		uint64_t size = record_size(record);
		uint8_t *p = buffer_extend(&a->chunk, size);
		if (!p)
			return -ENOMEM;
		memcpy(p, head, sizeof head);
		if (record->info_size)
			memcpy(p + RECORD_HEAD, a->parts->infos->data + record->info,
			       record->info_size);
		r = flush_if_full(a);
	}
	return r < 0 ? r : flush(a);
}

static int check_records(const struct gsym_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++) {
		const struct gsym_record *record = &parts->records[i];
		bool is_in_order = !i || parts->records[i - 1].start + parts->records[i - 1].size <=
						 record->start;
		if (!record->size || !record->name || !is_in_order)
			return -EINVAL;
	}
	return parts->n > UINT32_MAX - 1 ? -EFBIG : 0;
}

int gsym_assemble(const struct gsym_parts *parts, uint64_t limit, int fd, uint64_t *ret_size,
		  struct mw_error *e)
{
	struct assembly a = {.parts = parts, .fd = fd};
	int r = check_records(parts);
	if (r < 0)
		return error_set(e, r, "functions are not disjoint and ascending");
	lay_out(&a);
	*ret_size = a.end;
	if (a.end > MIN(limit, UINT32_MAX))
		return error_set(e, -EFBIG,
				 "lines and calls of %zu functions need %llu bytes, over the limit"
				 " of %llu",
				 parts->n, (unsigned long long)a.end,
				 (unsigned long long)MIN(limit, UINT32_MAX));
	put_header(&a);
	r = put_tables(&a);
	if (r == 0)
		r = put_strings(&a);
	if (r == 0)
		r = put_records(&a);
	buffer_deinit(&a.chunk);
	return r < 0 ? error_errno(e, r, "cannot write the symbol table") : 0;
}
