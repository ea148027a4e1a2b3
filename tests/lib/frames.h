/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What extract_lines() makes of a file, as text: "mix /s/b.h:3 < walk /s/a.c:10". */
#ifndef TESTS_LIB_FRAMES_H
#define TESTS_LIB_FRAMES_H

#include "symbols/extract.h"
#include "symbols/gsym.h"

struct frames {
	int result; /* of extract_lines() */
	struct mw_error error;
	struct extract_result about;
	struct gsym_splits splits;
	uint8_t *bytes;
	struct gsym gsym;
};

/* Extracts from a descriptor; alt_fd and debug_fd may be -1. */
struct frames frames_of(int fd, int debug_fd, int alt_fd);
void frames_deinit(struct frames *frames);
/*
 * The frames at an address, innermost first; "" if there is no function, "-" for a file that is not
 * known. Valid until the next call.
 */
const char *frames_at(const struct frames *frames, uint64_t address);
/* Fails the test if they are not these. */
void assert_frames(const struct frames *frames, uint64_t address, const char *expected);

#endif
