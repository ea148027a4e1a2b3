/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/same_code.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#include <errno.h>
#include <string.h>

#define STEP ((size_t)64 << 10)

bool same_code_is_valid(const struct same_code_request *r)
{
	uint64_t address_end;
	return r->block % SAME_CODE_BLOCK == 0 && r->offset >= r->block && r->size &&
	       r->size <= SAME_CODE_BLOCK && r->offset - r->block <= SAME_CODE_BLOCK - r->size &&
	       !__builtin_add_overflow(r->address, r->size, &address_end);
}

/* Step by step: memory that is not the file's differs at its beginning already. */
static int compare(int memory, int file, const struct same_code_request *r, struct same_code *ret,
		   struct mw_error *e)
{
	_cleanup_free_ uint8_t *buffers = malloc(2 * STEP);
	if (!buffers)
		return -ENOMEM;
	for (uint64_t done = 0, n; done < r->size; done += n) {
		n = MIN(r->size - done, (uint64_t)STEP);
		ssize_t in_file = io_pread(file, buffers, n, r->offset + done);
		ssize_t in_memory = io_pread(memory, buffers + STEP, n, r->address + done);
		if (in_file < 0 || in_memory < 0)
			return error_errno(e, (int)MIN(in_file, in_memory), "cannot compare");
		if ((uint64_t)in_file != n || (uint64_t)in_memory != n ||
		    memcmp(buffers, buffers + STEP, n) != 0)
			return 0;
	}
	ret->is_same = true;
	return 0;
}

static int sum_up(int file, uint64_t block, uint32_t *checks, struct mw_error *e)
{
	_cleanup_free_ __u64 *words = calloc(1, SAME_CODE_BLOCK);
	if (!words)
		return -ENOMEM;
	ssize_t n = io_pread(file, words, SAME_CODE_BLOCK, block);
	if (n < 0)
		return error_errno(e, (int)n, "cannot read");
	for (size_t i = 0; i < SAME_CODE_LINES; i++)
		checks[i] = code_check(words + i * CODE_LINE_WORDS);
	return 0;
}

int same_code_compare(int memory, int file, const struct same_code_request *request,
		      struct same_code *ret, struct mw_error *e)
{
	*ret = (struct same_code){};
	if (!same_code_is_valid(request))
		return error_set(e, -EINVAL, "not a block");
	int r = compare(memory, file, request, ret, e);
	if (r == 0 && ret->is_same)
		r = sum_up(file, request->block, ret->checks, e);
	return r;
}
