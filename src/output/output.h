/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Export formats: each is one file, its name in formats.h, and one line in the table of output.c.
 */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include "profile/profile.h"

#include <stdio.h>

struct output_format {
	const char *name;        /* as in `export -f NAME` */
	const char *description; /* one line for --help */
	/* Returns 0, -ENOMEM, or what writing gave. */
	int (*write)(const struct profile *p, FILE *out);
};

/* NULL if there is none of this name. */
const struct output_format *output_format_find(const char *name);
/* The formats one by one, in the order of --help; NULL after the last. */
const struct output_format *output_format_at(size_t i);

#endif
