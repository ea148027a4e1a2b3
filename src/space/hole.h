/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that took the place of a file's code. Programs copy their text onto huge pages, or onto
 * memory that they may write to, and map it where the text was:
 *
 *     555555554000-555555555000 r--p 00000000 08:01 77  /bin/prog      a neighbour
 *     555555555000-555555558000 r-xp 00000000 00:00 0                  the area: a hole in the file
 *     555555558000-555555559000 r--p 00004000 08:01 77  /bin/prog      a neighbour
 *
 * What is told here is only where in which file the area's bytes would come from, by the mappings
 * around it and the file's segments. Whether they do, the bytes must tell.
 */
#ifndef SPACE_HOLE_H
#define SPACE_HOLE_H

#include "space/snapshot.h"
#include "store/meta.h"

#define HOLE_NEIGHBOURS 2

/* The part of an area that lies where one executable segment of a file would be loaded. */
struct hole {
	uint64_t start; /* addresses */
	uint64_t end;
	uint64_t offset; /* in the file, of start */
};

/* Memory without a file, or with one that is only memory itself: memfd, shared memory, huge pages. */
bool hole_may_be(const struct mapping *area);
/*
 * Mappings of files that may have a hole where the area is: at most one of each file. A file must lie
 * on both sides of the area, or reach it from one side without a gap.
 */
size_t hole_neighbours(const struct snapshot *snapshot, const struct mapping *area,
		       const struct mapping *ret[HOLE_NEIGHBOURS]);
/*
 * The holes of the neighbour's file that the area fills, by the file's segments; at most max. 0 also
 * if the mappings of the file around the area do not all agree on where the file is loaded, or allow
 * more than one answer.
 */
size_t hole_find(const struct snapshot *snapshot, const struct mapping *area,
		 const struct mapping *neighbour, const struct meta *about, struct hole *ret,
		 size_t max);

#endif
