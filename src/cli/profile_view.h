/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looking at a profile file that may come from anyone: the file is opened here, and read, turned into
 * text and printed in a child that holds nothing but the file and standard output.
 */
#ifndef CLI_PROFILE_VIEW_H
#define CLI_PROFILE_VIEW_H

#include "profile/profile.h"

#define PROFILE_DEFAULT_FILE "mapwright.mwp"

/* Runs in the child: writes to stdout what it has to say. 0 or -errno. */
typedef int (*profile_view_fn)(const struct profile *profile, const void *context, struct mw_error *e);

/* What is done to a profile before it is shown. */
struct profile_view_options {
	bool lines;	   /* source lines and inlined calls that it lacks are asked of the store */
	bool inlines;	   /* inlined calls become frames of their own */
	const char *store; /* NULL: the default one */
};

/* profile_view() with options, which may be NULL. */
int profile_view_with(const char *file, const struct profile_view_options *options,
		      profile_view_fn view, const void *context, struct mw_error *e);

/*
 * Shows the profile in a file, "-" being standard input, on what standard output is at the moment.
 *Returns 0 or -errno; -EPIPE if the reader had enough.
 */
int profile_view(const char *file, profile_view_fn view, const void *context, struct mw_error *e);
/* Says what went wrong, if anything, and returns the exit status for it. */
int profile_view_status(int r, const struct mw_error *e);

#endif
