/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Giving names to the frames of a profile, each distinct frame once, as soon as its file's symbols are
 * there: while recording each second, and at the end for what is left.
 */
#ifndef PROFILE_NAMING_H
#define PROFILE_NAMING_H

#include "profile/profile.h"

struct kernel_symbols;
struct symbolizer;

struct naming {
	struct profile *profile;       /* not owned */
	struct symbolizer *symbolizer; /* not owned */
	/* Whether a file's symbols are as complete as they will be for now; NULL: all are. */
	bool (*is_ready)(void *data, uint32_t file);
	/* The piece of code that a frame in memory without a file is in; UINT32_MAX: unknown. NULL: all are. */
	uint32_t (*find_code)(void *data, const struct frame *frame);
	void *data;
	size_t next;           /* first frame nobody has looked at */
	VEC(uint32_t) waiting; /* frames whose file is not ready */
	VEC(bool) changed;     /* files of which something else is known by now */
	bool is_changed;       /* one of them is */
};

void naming_deinit(struct naming *naming);
/* Names what can be named now. 0 or -ENOMEM. */
int naming_go_on(struct naming *naming);
/* Something else is known of a file now: its frames are named again by the next review. 0 or -ENOMEM. */
int naming_note_change(struct naming *naming, uint32_t file);
/* Names again the frames that were named by what is known better by now. 0 or -ENOMEM. */
int naming_review(struct naming *naming);
/*
 * Before the profile forgets its frames, which are all in its file: true if each has a name or a reason
 * that is final. Afterwards frames are looked at from the first on again.
 */
bool naming_is_done(const struct naming *naming);
void naming_forget(struct naming *naming);
/*
 * What is in modules and BPF programs can go, and something else come to its place. Names that a later
 * look at the kernel's symbols contradicts are taken back: `raced`. Returns how many were, or -ENOMEM.
 */
int naming_check_kernel(struct naming *naming, const struct kernel_symbols *later);
/* Names what is left, ready or not, and asks again for all that have none: afterwards each frame has a name
 * or a reason. */
int naming_finish(struct naming *naming);

#endif
