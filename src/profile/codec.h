/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records: a profile, or what is new in it, as bytes and back.
 *
 * Bytes are divided into sections, each a tag, its size and entries of one table up to its end, so
 * that a reader skips what it does not know. docs/FORMAT.md describes each byte. Numbers are LEB128.
 */
#ifndef PROFILE_CODEC_H
#define PROFILE_CODEC_H

#include "base/buffer.h"
#include "profile/profile.h"

/* The format's version. A new tag, reason, fact or tally raises the minor, all else the major. */
#define PROFILE_MAJOR 1
#define PROFILE_MINOR 2

/* Up to where the tables are written: entries behind are new. */
struct codec_mark {
	size_t strings, files, tasks, cgroups, containers, places, events, frames, nodes, codes;
	/* Places in the profile's lists of changes and in its samples; they start anew at each flush. */
	size_t changed_files, changed_cgroups, changed_containers, changed_places, changed_names, changed_codes;
	size_t changed_lines;
	size_t samples;
	bool facts;
};

/*
 * Writes the next part of what is new to an empty buffer, at most about 8 MiB, and moves the mark.
 * False if there was nothing left to write.
 */
bool codec_encode(const struct profile *p, struct codec_mark *mark, struct buffer *out);

struct codec_decoder {
	struct profile *p;
	VEC(uint32_t) strings; /* the file's numbers to the pool's */
	uint64_t made_up;      /* entries that stand for what a missing chunk may have defined */
};

void codec_decoder_deinit(struct codec_decoder *d);
/*
 * Appends the records of one chunk to the profile. What refers to a number that was never defined (a
 * chunk may be missing) gets an entry that says so, and is counted in p->unknown_references. -EBADMSG
 * at the first record that makes no sense: those before it are in the profile. -ENOMEM.
 */
int codec_decode(struct codec_decoder *d, const void *data, size_t size, struct mw_error *e);
/*
 * After the last chunk. No recorder makes stacks deeper than PROFILE_DEPTH_MAX; in a file from anyone,
 * what is deeper loses its outer part here, so that walking a stack costs little. Returns 0 or -ENOMEM.
 */
int codec_decode_end(struct codec_decoder *d);

#endif
