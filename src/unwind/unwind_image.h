/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing an unwinding table: rows in ascending order of file offsets, each with its rule. */
#ifndef UNWIND_UNWIND_IMAGE_H
#define UNWIND_UNWIND_IMAGE_H

#include "base/buffer.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/unwind_table.h"

#include <mapwright/mapwright.h>

#define UNWIND_IMAGE_CACHE 512 /* recent rules, found without a look into the index */

struct unwind_image {
	struct unwind_header
		header; /* machine and counts are the caller's, the rest is set at the end */
	VEC(struct unwind_row) rows;
	VEC(struct unwind_rule) rules;
	struct hash_index index;
	uint64_t end; /* of what has been added */
	uint32_t cache[UNWIND_IMAGE_CACHE];
};

void unwind_image_deinit(struct unwind_image *image);
/* A zeroed image becomes an empty one. 0 or -ENOMEM. */
int unwind_image_init(struct unwind_image *image, uint16_t machine);
/*
 * [begin, end) of the file has a rule; begin is not below the end of what was added before. What
 * lies between has none, and so has what is behind 4 GiB. -EFBIG: there are more rows than a table
 * has.
 */
int unwind_image_add(struct unwind_image *image, uint64_t begin, uint64_t end,
		     const struct unwind_rule *rule);
/* The whole image; ret is empty before. Nothing can be added afterwards. 0, -EFBIG, -ENOMEM. */
int unwind_image_finish(struct unwind_image *image, struct buffer *ret);
/* The check sum of an image of whole blocks: of all that follows the member `check`. */
uint64_t unwind_image_check(const void *data, size_t size);

#endif
