/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/unpack.h"

#include "base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* What `xz -9` needs, and a little more. */
#define XZ_MEMORY (UINT64_C(80) << 20)

/*
 * The memory for a claimed size. A claim that the packed bytes cannot make true is refused before:
 * deflate expands to 1032 times at most.
 */
static uint8_t *claimed(uint64_t size)
{
	uint8_t *out = size < SIZE_MAX ? malloc(size + 1) : NULL;
	if (out)
		out[size] = 0;
	return out;
}

int unpack_zlib(const void *packed, size_t n, uint64_t size, uint8_t **ret)
{
	if (size / 1032 > n || n > UINT_MAX || size > UINT_MAX)
		return -EBADMSG;
	_cleanup_free_ uint8_t *out = claimed(size);
	if (!out)
		return -ENOMEM;
	z_stream z = {.next_in = (Bytef *)packed,
		      .avail_in = (uInt)n,
		      .next_out = out,
		      .avail_out = (uInt)size};
	int r = inflateInit(&z);
	if (r != Z_OK)
		return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	r = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	if (r != Z_STREAM_END || z.avail_out)
		return -EBADMSG;
	*ret = take_ptr(out);
	return 0;
}

int unpack_zstd(const void *packed, size_t n, uint64_t size, uint8_t **ret)
{
	_cleanup_free_ uint8_t *out = claimed(size);
	if (!out)
		return -ENOMEM;
	size_t r = ZSTD_decompress(out, size, packed, n);
	if (ZSTD_isError(r) || r != size)
		return -EBADMSG;
	*ret = take_ptr(out);
	return 0;
}

static int lzma_errno(lzma_ret r)
{
	switch (r) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EBADMSG;
	}
}

/* Runs the decoder to its end, doubling the output as it fills. */
static int run_xz(lzma_stream *z, uint64_t limit, uint8_t **out, uint64_t *size)
{
	uint64_t capacity = 0;
	for (;;) {
		if (*size == capacity) {
			if (capacity >= limit)
				return -EFBIG;
			capacity = MIN(limit, capacity ? capacity * 2 : 65536);
			uint8_t *grown = realloc(*out, capacity + 1);
			if (!grown)
				return -ENOMEM;
			*out = grown;
		}
		z->next_out = *out + *size;
		z->avail_out = capacity - *size;
		lzma_ret r = lzma_code(z, LZMA_FINISH);
		*size = capacity - z->avail_out;
		if (r == LZMA_STREAM_END)
			break;
		if (r != LZMA_OK)
			return lzma_errno(r);
	}
	(*out)[*size] = 0;
	return 0;
}

int unpack_xz(const void *packed, size_t n, uint64_t limit, uint8_t **ret, uint64_t *ret_size)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret started = lzma_stream_decoder(&z, XZ_MEMORY, 0);
	if (started != LZMA_OK)
		return lzma_errno(started);
	_cleanup_free_ uint8_t *out = NULL;
	uint64_t size = 0;
	z.next_in = packed;
	z.avail_in = n;
	int r = run_xz(&z, limit, &out, &size);
	lzma_end(&z);
	if (r < 0)
		return r;
	*ret = take_ptr(out);
	*ret_size = size;
	return 0;
}
