/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A reader over foreign bytes that cannot leave them.
 *
 * Every read is checked against the end. The first one that does not fit marks the cursor as failed;
 * from then on each read gives 0 (or NULL) and moves nothing, so a parser may read a whole structure
 * and ask once, cursor_ok(), before it uses what it got.
 *
 * Reads are inline: a large file's debug information has tens of millions of them.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *start; /* not owned */
	const uint8_t *at;
	const uint8_t *end;
	bool swap;   /* the bytes are in the other byte order than this machine's */
	bool failed;
};

static inline struct cursor cursor_init(const void *data, size_t size, bool swap)
{
	const uint8_t *p = data;
	return (struct cursor){.start = p, .at = p, .end = size ? p + size : p, .swap = swap};
}

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->failed;
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->failed ? 0 : (size_t)(c->end - c->at);
}

static inline size_t cursor_offset(const struct cursor *c)
{
	return (size_t)(c->at - c->start);
}

/* The next n bytes, or NULL. n may be any value a file claims. */
static inline const uint8_t *cursor_bytes(struct cursor *c, uint64_t n)
{
	if (c->failed || n > (uint64_t)(c->end - c->at)) {
		c->failed = true;
		return NULL;
	}
	const uint8_t *p = c->at;
	c->at += n;
	return p;
}

/* Moves to an offset from the start; to the very end is allowed. */
bool cursor_seek(struct cursor *c, uint64_t offset);
/* Moves forward to the next multiple of align (a power of two) from the start; past the end fails. */
bool cursor_align(struct cursor *c, uint64_t align);
/* A cursor over [offset, offset + size) of this one's bytes; failed if they do not lie inside. */
struct cursor cursor_slice(const struct cursor *c, uint64_t offset, uint64_t size);

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);
	return p ? *p : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	uint16_t v = 0;
	const uint8_t *p = cursor_bytes(c, sizeof v);
	if (p)
		memcpy(&v, p, sizeof v);
	return c->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	uint32_t v = 0;
	const uint8_t *p = cursor_bytes(c, sizeof v);
	if (p)
		memcpy(&v, p, sizeof v);
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	uint64_t v = 0;
	const uint8_t *p = cursor_bytes(c, sizeof v);
	if (p)
		memcpy(&v, p, sizeof v);
	return c->swap ? __builtin_bswap64(v) : v;
}

uint64_t cursor_uleb_long(struct cursor *c);
int64_t cursor_sleb_long(struct cursor *c);

/* LEB128; a value that does not fit 64 bits fails. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	if (!c->failed && c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_uleb_long(c);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	if (!c->failed && c->at < c->end && *c->at < 0x40)
		return *c->at++;
	return cursor_sleb_long(c);
}

/* A string that ends in NUL within the bytes; NULL otherwise. */
const char *cursor_string(struct cursor *c);

#endif
