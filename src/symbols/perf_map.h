/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Maps that runtimes write of the code they make: /tmp/perf-PID.map, as perf has read them since
 * 2009. A line for each piece of code, start and size in hexadecimal, with or without 0x, and a name
 * that may have spaces:
 *
 *	7f3d4c0012a0 1c0 LazyCompile:*fibonacci /srv/app.js:12
 *
 * The file grows as code is made. Where lines overlap the later one counts. A line that makes no
 * sense (no size, an end behind the end of memory, a NUL in it) is skipped and counted. The last
 * line is taken only with its line break, for whoever writes it may be in the middle of it.
 *
 * Anybody can write such a file, so it is read in an isolated child, which hands over flat records.
 */
#ifndef SYMBOLS_PERF_MAP_H
#define SYMBOLS_PERF_MAP_H

#include "base/buffer.h"
#include "base/vec.h"

#include <mapwright/mapwright.h>

#include <stdbool.h>

/* Longer names are cut; a longer line is broken. */
#define PERF_MAP_NAME_MAX 4096
#define PERF_MAP_LINE_MAX 65536
/* Bytes that are read at once, and of one file at all. */
#define PERF_MAP_BATCH ((size_t)16 << 20)
#define PERF_MAP_MAX   (UINT64_C(256) << 20)

struct perf_map_entry {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* place in the names, where it ends in NUL */
	uint32_t unused;
};

struct perf_map {
	VEC(struct perf_map_entry) entries; /* as in the file */
	struct buffer names;
	uint64_t n_broken;
	size_t consumed; /* bytes that need not be read again */
	bool in_line;	 /* these end within a line, which is to be skipped */
};

/*
 * Appends what is in a part of a file to a map, which is zeroed before the first one. take_rest: no
 * more comes, so the last line is whole without a line break. 0 or -ENOMEM.
 */
int perf_map_parse(struct perf_map *map, const char *text, size_t size, bool take_rest);
void perf_map_deinit(struct perf_map *map);
/* The entry that names an address, NULL if there is none. */
const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t address);
static inline const char *perf_map_name(const struct perf_map *map,
					const struct perf_map_entry *entry)
{
	return (const char *)map->names.data + entry->name;
}

/* ---- the job of the isolated child ----------------------------------------------------------- */

struct perf_map_request {
	uint64_t known;	     /* bytes that were read before, */
	uint64_t known_hash; /* and their hash as it was handed out; 0 if there are none */
	uint64_t size;	     /* of the file as it was just before */
	uint8_t take_rest;
	uint8_t in_line;
	uint8_t unused[6];
};

struct perf_map_reply {
	uint64_t consumed; /* bytes that are known now */
	uint64_t hash;
	uint64_t n_broken;
	uint32_t n_entries;   /* records in out_fd, */
	uint32_t names_size;  /* and behind them the names */
	uint8_t is_rewritten; /* what was known is no longer there: this is the file from its start
			       */
	uint8_t in_line;
	uint8_t unused[6];
};

/* Reads what came to a file since `known` and writes its entries to out_fd, an empty file. */
int perf_map_read(int fd, int out_fd, const struct perf_map_request *request,
		  struct perf_map_reply *reply, struct mw_error *e);
/* For the parent, which trusts none of it: the entries. *ret is zeroed before. 0 or -errno. */
int perf_map_take(int out_fd, const struct perf_map_reply *reply, struct perf_map *ret);

#endif
