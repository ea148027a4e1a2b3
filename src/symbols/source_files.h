/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The source files of a GSYM: each path once, as directory and name, known by a number. Number 0 is
 * no file.
 */
#ifndef SYMBOLS_SOURCE_FILES_H
#define SYMBOLS_SOURCE_FILES_H

#include "base/buffer.h"
#include "base/map.h"
#include "base/strings.h"

struct source_file {
	uint32_t directory; /* in parts */
	uint32_t name;
	uint32_t discriminator;
};

/* A zeroed struct is valid and empty. */
struct source_files {
	struct strings parts;
	VEC(struct source_file) list; /* number - 1 */
	struct map numbers;	      /* directory << 32 | name -> number */
	struct map variants;	      /* number << 32 | discriminator -> number */
};

void source_files_deinit(struct source_files *files);
/* The number of a path of n bytes. 0 or -ENOMEM. */
int source_files_add(struct source_files *files, const char *path, size_t n, uint32_t *ret);
/*
 * The number of a file together with a discriminator of its lines: the same file again, under another
 * number, for rows have no room for it. 0 or -ENOMEM.
 */
int source_files_add_variant(struct source_files *files, uint32_t number, uint32_t discriminator,
			     uint32_t *ret);
/* Appends the discriminators by number, as symbols/gsym.h says; nothing if there are none. */
void source_files_write_discriminators(const struct source_files *files, struct buffer *ret);
/*
 * Appends the parts to a table of strings, which may have other things in it, and gives the file table
 * as GSYM has it: pairs of offsets in the strings, number 0 too. -EFBIG if the strings get over limit.
 */
int source_files_write(const struct source_files *files, uint64_t limit, struct buffer *strings,
		       struct buffer *ret_table);

#endif
