/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The code of a file that no rule covers yet, for those who look at its bytes. */
#ifndef UNWIND_GAPS_H
#define UNWIND_GAPS_H

#include "unwind/unwind_build.h"

struct gap {
	const uint8_t *data;
	size_t size;
	uint64_t address; /* virtual, of the first byte */
};

/*
 * Calls fn for each gap of at least `least` bytes, until it returns other than 0; returns that. Of
 * very large files (hundreds of megabytes without rules) the rest is left out.
 */
int gaps_each(const struct unwind_build *build, size_t least,
	      int (*fn)(void *data, const struct gap *gap), void *data);

#endif
