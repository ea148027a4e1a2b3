/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the memory of a process has the bytes of a file, compared in blocks of the file. The
 * memory may be backed by whatever its process likes, so reading it may never end: this runs in a
 * child with a deadline. Bytes are compared and summed up here, never parsed.
 */
#ifndef CONTENT_SAME_CODE_H
#define CONTENT_SAME_CODE_H

#include "bpf/code_check.h"

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAME_CODE_BLOCK ((size_t)1 << 20)
#define SAME_CODE_LINES (SAME_CODE_BLOCK / CODE_LINE_SIZE)

struct same_code_request {
	uint64_t block;   /* offset in the file, a multiple of SAME_CODE_BLOCK */
	uint64_t offset;  /* the part of the block that is compared */
	uint64_t size;    /* of it, not 0 */
	uint64_t address; /* where it should be in memory */
};

struct same_code {
	uint32_t is_same;
	/* If so: code_check() of each line of the block, as the file has it; behind its end are zeros,
	 * as they are in memory. */
	uint32_t checks[SAME_CODE_LINES];
};

/* The request is sane: what an answer to it says is about one block only. */
bool same_code_is_valid(const struct same_code_request *request);
/* 0, or -errno if something could not be read. *ret is zeroed. */
int same_code_compare(int memory, int file, const struct same_code_request *request,
		      struct same_code *ret, struct mw_error *e);

#endif
