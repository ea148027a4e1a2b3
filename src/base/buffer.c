/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buffer.h"

#include "base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the formats written here are little endian, and so are the machines supported so far"
#endif

void buffer_deinit(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){};
}

uint8_t *buffer_reserve(struct buffer *b, size_t n)
{
	size_t total;
	if (b->failed || __builtin_add_overflow(b->n, n, &total)) {
		b->failed = true;
		return NULL;
	}
	if (total > b->capacity) {
		void *data = b->data;
		if (vec_grow(&data, &b->capacity, total, 1) < 0) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
	}
	return b->data + b->n;
}

uint8_t *buffer_extend(struct buffer *b, size_t n)
{
	uint8_t *p = buffer_reserve(b, n);
	if (!p)
		return NULL;
	memset(p, 0, n);
	b->n += n;
	return p;
}

void buffer_bytes(struct buffer *b, const void *data, size_t n)
{
	if (!n)
		return;
	uint8_t *p = buffer_reserve(b, n);
	if (!p)
		return;
	memcpy(p, data, n);
	b->n += n;
}

void buffer_u8(struct buffer *b, uint8_t v)
{
	buffer_bytes(b, &v, sizeof v);
}

void buffer_u16(struct buffer *b, uint16_t v)
{
	buffer_bytes(b, &v, sizeof v);
}

void buffer_u32(struct buffer *b, uint32_t v)
{
	buffer_bytes(b, &v, sizeof v);
}

void buffer_u64(struct buffer *b, uint64_t v)
{
	buffer_bytes(b, &v, sizeof v);
}

void buffer_uleb(struct buffer *b, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;
		v >>= 7;
		buffer_u8(b, byte | (v ? 0x80 : 0));
	} while (v);
}

void buffer_align(struct buffer *b, size_t align)
{
	buffer_extend(b, (align - b->n % align) % align);
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n > 0) {
		char *p = (char *)buffer_extend(b, (size_t)n + 1);
		if (p) {
			vsnprintf(p, (size_t)n + 1, format, again);
			b->n--; /* not its NUL */
		}
	}
	va_end(again);
}
