/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which bytes of a file have their rules from where: a list of ranges that do not overlap.
 *
 * Sources are added one after the other, the best first: a later one only gets what is still free.
 * In one source, ranges should not overlap; where they do, each ends where the next begins, and of
 * those that begin at the same byte the one added first holds. So the result depends on the file
 * alone.
 */
#ifndef UNWIND_SPANS_H
#define UNWIND_SPANS_H

#include "base/vec.h"

#include <stdint.h>

/* The largest programs have a million functions. */
#define SPANS_MAX (UINT32_C(1) << 22)

struct span {
	uint64_t begin; /* offsets in the file */
	uint64_t end;
	uint64_t address; /* virtual, of begin */
	uint32_t source;  /* the caller's numbers */
	uint32_t entry;
};

typedef VEC(struct span) span_list;

/* Adds the ranges of a source, in any order; `more` is spent. 0 or -ENOMEM. */
int spans_add(span_list *all, span_list *more);

#endif
