/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What lies at an address of a living process, for addresses that were sampled a moment ago.
 *
 * Two things can go wrong between a sample and a look into /proc. The process may have become another
 * program: then its start_code ^ start_stack, random for each exec, is another than the sample's. And
 * a mapping may have been replaced by another one. Where the kernel counts the changes of an address
 * space (sample.sequence), a snapshot between two samples of one count is true for all samples of that
 * count. Elsewhere a mapping must be seen before *and* after the sample. So the last two snapshots are
 * held for each process image.
 */
#ifndef SPACE_IMAGES_H
#define SPACE_IMAGES_H

#include "base/frame.h"
#include "space/snapshot.h"

struct images;

enum image_proof {
	IMAGE_GONE,   /* the process is gone or another program, and was never seen */
	IMAGE_SEEN,   /* seen after the sample only, or before it only */
	IMAGE_PROGRAM, /* the program itself, seen before the sample: it stays, unless it moves itself */
	IMAGE_PROVED, /* it was so at the sample; or the program itself, seen after */
};

/* Borrows proc. */
int images_new(const struct proc *proc, struct images **ret);
void images_free(struct images *images);

/*
 * The mapping at an address of the sample's process; *ret is NULL if nothing is mapped there (or the
 * process is gone). The first question about an image takes a snapshot, later ones do not. *ret is
 * valid until the next call.
 */
enum image_proof images_find(struct images *images, const struct sample *sample, uint64_t address,
			     const struct mapping **ret);
/* The latest snapshot of the sample's process, NULL if there is none; valid until the next call. */
const struct snapshot *images_snapshot(struct images *images, const struct sample *sample);
/* Whether the process is, now, still the program that was sampled. */
bool images_is_same_program(struct images *images, const struct sample *sample);
/* A new snapshot of the sample's process, unless one was taken after `since` (CLOCK_MONOTONIC, ns). */
void images_refresh(struct images *images, const struct sample *sample, uint64_t since);

#endif
