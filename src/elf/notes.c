/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/notes.h"

#include "base/cleanup.h"
#include "base/cursor.h"

#include <string.h>

#define HEADER_SIZE 12

void notes_init(struct notes *notes, const struct source *source, uint64_t offset, uint64_t size,
		uint64_t align, bool swap)
{
	*notes = (struct notes){.source = source, .swap = swap, .align = align == 8 ? 8 : 4};
	if (offset > source->size)
		offset = source->size;
	notes->at = offset;
	notes->end = offset + MIN(size, source->size - offset);
}

/* n bytes at an offset inside the window, which moves there if need be; NULL if unreadable. */
static const uint8_t *fetch(struct notes *notes, uint64_t offset, size_t n)
{
	if (offset < notes->window_at || offset + n > notes->window_at + notes->window_size) {
		size_t size = MIN(sizeof notes->window, notes->source->size - offset);
		notes->window_size = 0;
		if (source_read(notes->source, offset, notes->window, size) < 0)
			return NULL;
		notes->window_at = offset;
		notes->window_size = size;
		if (n > size)
			return NULL;
	}
	return notes->window + (offset - notes->window_at);
}

static uint64_t padded(const struct notes *notes, uint64_t n)
{
	return (n + notes->align - 1) & ~(notes->align - 1);
}

static int end_here(struct notes *notes, bool is_whole)
{
	notes->is_whole = is_whole;
	notes->at = notes->end;
	return 0;
}

int notes_next(struct notes *notes, struct note *ret)
{
	uint64_t left = notes->end - notes->at;
	if (left < HEADER_SIZE)
		return end_here(notes, left == 0);
	const uint8_t *header = notes->n < NOTES_MAX ? fetch(notes, notes->at, HEADER_SIZE) : NULL;
	if (!header)
		return end_here(notes, false);
	struct cursor c = cursor_init(header, HEADER_SIZE, notes->swap);
	*ret = (struct note){};
	ret->name_size = cursor_u32(&c);
	ret->size = cursor_u32(&c);
	ret->type = cursor_u32(&c);

	/* 32-bit sizes: none of these sums can overflow. */
	uint64_t descriptor = padded(notes, HEADER_SIZE + (uint64_t)ret->name_size);
	if (ret->size == 0)
		descriptor = MIN(descriptor, left); /* the last name's padding may be missing */
	if (descriptor > left || ret->size > left - descriptor)
		return end_here(notes, false);
	ret->offset = notes->at + descriptor;
	size_t name_size = MIN(ret->name_size, sizeof ret->name - 1);
	const uint8_t *name = fetch(notes, notes->at + HEADER_SIZE, name_size);
	if (!name)
		return end_here(notes, false);
	memcpy(ret->name, name, name_size);
	notes->at += MIN(padded(notes, descriptor + ret->size), left);
	notes->n++;
	return 1;
}
