/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cursor.h"

bool cursor_seek(struct cursor *c, uint64_t offset)
{
	if (c->failed || offset > (uint64_t)(c->end - c->start)) {
		c->failed = true;
		return false;
	}
	c->at = c->start + offset;
	return true;
}

bool cursor_align(struct cursor *c, uint64_t align)
{
	uint64_t offset = cursor_offset(c);
	return cursor_seek(c, (offset + align - 1) & ~(align - 1));
}

struct cursor cursor_slice(const struct cursor *c, uint64_t offset, uint64_t size)
{
	uint64_t whole = (uint64_t)(c->end - c->start);
	struct cursor slice = {.start = c->start, .at = c->start, .end = c->start, .swap = c->swap};
	if (c->failed || offset > whole || size > whole - offset) {
		slice.failed = true;
		return slice;
	}
	slice.start = slice.at = c->start + offset;
	slice.end = slice.start + size;
	return slice;
}

uint64_t cursor_uleb_long(struct cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = cursor_u8(c);
		if (c->failed)
			return 0;
		uint64_t bits = byte & 0x7f;
		if (shift >= 64 ? bits != 0 : shift == 63 && bits > 1) {
			c->failed = true;
			return 0;
		}
		if (shift < 64)
			value |= bits << shift;
		if (!(byte & 0x80))
			return value;
	}
}

int64_t cursor_sleb_long(struct cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = cursor_u8(c);
		if (c->failed)
			return 0;
		if (shift >= 64 && (byte & 0x7f) != (value >> 63 ? 0x7f : 0)) {
			c->failed = true;
			return 0;
		}
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (shift + 7 < 64 && byte & 0x40)
			value |= ~UINT64_C(0) << (shift + 7);
		return (int64_t)value;
	}
}

const char *cursor_string(struct cursor *c)
{
	if (c->failed)
		return NULL;
	/* memchr of NULL is undefined, even of nothing. */
	const uint8_t *nul = c->at < c->end ? memchr(c->at, 0, (size_t)(c->end - c->at)) : NULL;
	if (!nul) {
		c->failed = true;
		return NULL;
	}
	const char *s = (const char *)c->at;
	c->at = nul + 1;
	return s;
}
