/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Filling in where the frames of a profile are in the source: lines, and the calls that were inlined.
 * Who knows them is behind one function, for it may be another process (cli/line_server.h).
 */
#ifndef PROFILE_SOURCE_LINES_H
#define PROFILE_SOURCE_LINES_H

#include "profile/profile.h"
#include "symbols/resolver.h"

/* What is asked of one file. */
struct line_question {
	const struct mw_file_id *id;
	const char *path;  /* where it was seen; "" unknown */
	bool names;	   /* also where there are no lines */
	const struct sort_item *items; /* offsets, ascending */
	size_t n;
};

struct line_finder {
	/*
	 * fn gets each item's value with its chain; *ret_rank is how good the names are (enum
	 * symbol_source). Nothing is asked of fn if nothing is known. 0, what fn returned, or -errno:
	 * nobody can be asked any more.
	 */
	int (*find)(void *data, const struct line_question *question, uint32_t *ret_rank,
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
/*
 * Names, lines and inlined calls anew, of all frames that lie in files: what is better now replaces what
 * was there, nothing is lost. Returns how many frames have another name or lines, or -errno.
 */
int profile_find_names(struct profile *p, const struct line_finder *finder);

#endif
