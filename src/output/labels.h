/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What each frame of a profile is called in tables and graphs, made once: demangled, escaped, and
 * equal texts with equal numbers.
 */
#ifndef OUTPUT_LABELS_H
#define OUTPUT_LABELS_H

#include "profile/profile.h"

struct labels {
	struct strings texts;
	uint32_t *object; /* by frame: "libc.so.6", "[kernel]", "[ext4]", "[jit]", "[anon]", "[none]" */
	uint32_t *symbol; /* by frame: "main", "[file-gone] 0x99" */
	uint32_t *marked; /* by frame: the same after "[.] ", "[k] ", or "[~] " if inferred */
};

int labels_init(struct labels *l, const struct profile *p);
void labels_deinit(struct labels *l);
/* The number of a text, escaped. */
int labels_add(struct labels *l, const char *text, uint32_t *ret);
const char *labels_text(const struct labels *l, uint32_t number);

#endif
