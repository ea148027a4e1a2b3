/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inlined calls as frames of their own, for whoever shows a profile. In the profile one frame is one
 * address; here each of its inlined calls becomes a frame with FRAME_INLINED, called by the next:
 *
 *	main <- 0x1050 {cube at 3, main at 9}      main at 9 <- cube (inlined) at 3
 *
 * The frame keeps its number and is the function itself; what it took itself (self_count) is its
 * innermost call's. Afterwards each frame has one line at most.
 */
#ifndef PROFILE_INLINES_H
#define PROFILE_INLINES_H

#include "profile/profile.h"

/* 0; -E2BIG: too many frames would come of it, and nothing was changed; -ENOMEM. */
int profile_expand_inlines(struct profile *p);

#endif
