/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the perf map of one process said at each moment, for names that were valid at a sample and
 * not before or after it.
 *
 * The map is looked at now and then, and what is new came between two looks:
 *
 *	looks      |--------------|--------------|
 *	entry              (after, by]                  it was not there at `after`, and was at `by`
 *	sample         ^                 ^              unsure | surely there
 *
 * So a moment has several possible maps, and an address has a name only if all of them give it the
 * same one. A map that is written anew as a whole is another generation, which takes the place of
 * the one before it in the same way.
 *
 * Entries are found by their pages, the later ones first; those that span many pages are in a list
 * of their own.
 */
#ifndef SYMBOLS_CODE_TIMELINE_H
#define SYMBOLS_CODE_TIMELINE_H

#include "base/hash.h"
#include "symbols/perf_map.h"

/* Of one process. */
#define CODE_TIMELINE_ENTRIES_MAX ((size_t)1 << 20)
#define CODE_TIMELINE_NAMES_MAX	  ((size_t)128 << 20)
#define CODE_TIMELINE_WIDE_MAX	  ((size_t)1 << 12)

/* A time that never comes. */
#define CODE_TIMELINE_NEVER UINT64_MAX

struct code_generation;

struct code_timeline {
	VEC(struct code_generation *) generations; /* owned, in their order */
	uint64_t known_until; /* nothing is known of what came after this time */
	uint32_t next_generation;
	size_t n_entries; /* of all generations, */
	size_t n_bytes;	  /* and bytes of names */
};

struct code_span {
	uint64_t start;
	uint64_t end;
	const char *name;    /* valid until the next change of the timeline */
	uint32_t generation; /* these two tell entries apart */
	uint32_t entry;
	uint64_t by; /* it was surely there from this time on */
};

enum code_answer {
	CODE_NAMELESS, /* there was surely none */
	CODE_NAMED,
	CODE_MAYBE,  /* the one of *ret, or none */
	CODE_UNSURE, /* one of several names, or none */
	CODE_LATER,  /* nobody looked after that time */
};

/* Zeroed, with known_until set to a time before the first entry, is an empty one. */
void code_timeline_deinit(struct code_timeline *t);
/* The map as it is lacks nothing that came until this time. */
void code_timeline_extend(struct code_timeline *t, uint64_t known_until);
/* Entries that came after `after` and by `by`. 0, -E2BIG if they are too many: none was taken;
 * -ENOMEM. */
int code_timeline_append(struct code_timeline *t, const struct perf_map *map, uint64_t after,
			 uint64_t by);
/* From here on what is appended is another map, which replaced the one before. */
int code_timeline_replace(struct code_timeline *t, uint64_t after, uint64_t by);
/* The number of the oldest map that is not forgotten; there is one. */
uint32_t code_timeline_oldest(const struct code_timeline *t);
/* Forgets maps that were replaced before this time. */
void code_timeline_forget(struct code_timeline *t, uint64_t before);

enum code_answer code_timeline_find(const struct code_timeline *t, uint64_t address, uint64_t time,
				    struct code_span *ret);
/* Until when an entry was the name of all of its code; known_until, if nothing took its place. */
uint64_t code_timeline_until(const struct code_timeline *t, const struct code_span *span);

#endif
