/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts a whole GSYM together from parts that are finished, and writes it to a descriptor piece by
 * piece: it is not held in memory a second time.
 */
#ifndef SYMBOLS_GSYM_ASSEMBLE_H
#define SYMBOLS_GSYM_ASSEMBLE_H

#include "base/buffer.h"
#include "base/vec.h"

#include <mapwright/mapwright.h>

/* A function. They are disjoint and ascending. */
struct gsym_record {
	uint64_t start;
	uint32_t size; /* not 0 */
	uint32_t name; /* in the strings, not 0 */
	uint32_t info; /* in the infos: lines and calls */
	uint32_t info_size; /* 0: there are none */
};

struct gsym_parts {
	const struct gsym_record *records;
	size_t n;
	const struct buffer *files;   /* the table, with its count */
	const struct buffer *strings; /* begin with an empty one */
	const struct buffer *infos;
	const struct mw_file_id *id; /* may be NULL; the first 20 bytes are taken */
};

/*
 * Writes the file at fd's offset; *ret_size is its size. -EFBIG: it needs more than limit (at most
 * 4 GiB); nothing is written then.
 */
int gsym_assemble(const struct gsym_parts *parts, uint64_t limit, int fd, uint64_t *ret_size,
		  struct mw_error *e);

#endif
