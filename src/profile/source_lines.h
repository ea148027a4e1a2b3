/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Filling in where the frames of a profile are in the source: lines, and the calls that were inlined.
 * Who knows them is behind one function, for it may be another process (cli/line_server.h).
 */
#ifndef PROFILE_SOURCE_LINES_H
#define PROFILE_SOURCE_LINES_H

#include "profile/profile.h"
#include "symbols/resolver.h"

struct line_finder {
	/*
	 * Asks for offsets of a file, ascending; fn gets each item's value with its chain. 0, what fn
	 * returned, or -errno: nobody can be asked any more.
	 */
	int (*find)(void *data, const struct mw_file_id *id, const struct sort_item *items, size_t n,
		    resolver_answer_fn fn, void *fn_data);
	void *data;
	/* May be NULL. How many frames of all were asked for by now. */
	void (*progress)(void *data, size_t done, size_t all);
};

/* Asks a resolver of this process. */
struct line_finder line_finder_local(struct mw_resolver *resolver);

/*
 * Asks for the frames of one file that have no lines yet, or of all files (UINT32_MAX). Returns how many
 * got some, or -errno.
 */
int profile_find_lines(struct profile *p, uint32_t file, const struct line_finder *finder);

#endif
