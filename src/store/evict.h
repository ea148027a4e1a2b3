/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Upkeep of a store: a walk over all entries, removal of the least recently used. When an entry was
 * used last is the time of its directory, which every change of it sets, and every look-up too
 * unless it is younger than EVICT_FRESH_SECONDS.
 */
#ifndef STORE_EVICT_H
#define STORE_EVICT_H

#include "base/buffer.h"
#include "base/log.h"
#include "base/vec.h"
#include "store/root.h"
#include "store/store.h"

#include <sys/stat.h>

#define EVICT_FRESH_SECONDS 60

struct walk_entry {
	int64_t used_sec;
	int64_t used_nsec;
	uint64_t bytes;
	bool whole;    /* it has a meta */
	uint32_t path; /* offset in the walk's paths */
};

struct walk {
	VEC(struct walk_entry) entries; /* least recently used first */
	struct buffer paths;            /* strings that end in NUL */
	uint64_t bytes;
};

/* Walks; at most 2^22 entries. Entries that come or go meanwhile may be missed. */
int walk_init(const struct root *root, const struct log *log, struct walk *ret, struct mw_error *e);
void walk_deinit(struct walk *walk);
int walk_entry_id(const struct walk *walk, const struct walk_entry *entry, struct mw_file_id *ret);

/* Bytes of a file as they are accounted: whole blocks. */
uint64_t evict_bytes_of(const struct stat *st);
/* The same of a file in a directory; 0 if there is none. */
uint64_t evict_file_bytes(int dir, const char *name);
/*
 * Removes an entry, its meta first: what is left without one is no entry. Taken under
 * ROOT_EXCLUSIVE, or ROOT_SHARED and the entry's lock.
 */
int evict_entry(const struct root *root, const char *path);
/*
 * Removes broken entries and left-over files, counts anew, and if there are more bytes than the
 * limit, removes entries until nine tenths of it are left. Taken under ROOT_EXCLUSIVE.
 */
int evict_run(const struct root *root, uint64_t limit, const struct log *log,
	      struct store_usage *ret, struct mw_error *e);

#endif
