/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes that are being written: the counterpart of the cursor. Values are little endian. The first
 * allocation that fails marks the buffer as failed; later writes do nothing, and the writer asks
 * once at the end.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data; /* owned */
	size_t n;
	size_t capacity;
	bool failed;
};

void buffer_deinit(struct buffer *b);
/* n zeroed bytes at the end, to be filled by the caller before the next call; NULL if failed. */
uint8_t *buffer_extend(struct buffer *b, size_t n);
/*
 * Room for n bytes behind the end, not zeroed and not counted: who fills it adds to b->n. NULL if
 * failed. For writers of many small values, which a call each would slow down.
 */
uint8_t *buffer_reserve(struct buffer *b, size_t n);
void buffer_bytes(struct buffer *b, const void *data, size_t n);
void buffer_u8(struct buffer *b, uint8_t v);
void buffer_u16(struct buffer *b, uint16_t v);
void buffer_u32(struct buffer *b, uint32_t v);
void buffer_u64(struct buffer *b, uint64_t v);
void buffer_uleb(struct buffer *b, uint64_t v);
/* Zero bytes up to a multiple of align. */
void buffer_align(struct buffer *b, size_t align);
void buffer_printf(struct buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
