/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names that a living process gives, now, to code that it made: its perf map, read in an
 * isolated child and read again when it has changed. (While recording it is agent/code_names.h that
 * knows what was valid when.)
 */
#ifndef SYMBOLS_LIVE_CODE_H
#define SYMBOLS_LIVE_CODE_H

#include "content/perf_map_file.h"
#include "symbols/perf_map.h"

struct live_code {
	struct perf_map_place place;
	struct perf_map_file file;
	struct perf_map map;
	bool has_read;
};

#define LIVE_CODE_INIT                                                                             \
	{                                                                                          \
		.file = PERF_MAP_FILE_INIT                                                         \
	}

void live_code_deinit(struct live_code *code);
/*
 * The entry at an address; NULL if there is none, or no map that counts. Valid until the next
 * question with `refresh`, which looks whether the map has changed.
 */
const struct perf_map_entry *live_code_find(struct live_code *code, const struct proc *proc,
					    const struct log *log, uint32_t pid, bool refresh,
					    uint64_t address);

#endif
