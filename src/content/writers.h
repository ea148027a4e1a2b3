/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who can write to a file while it is read. Through memory (a shared mapping) files are written without a
 * trace in their times; so what can be written to is read once, into a copy, and everything that is told of it is
 * told of the copy.
 */
#ifndef CONTENT_WRITERS_H
#define CONTENT_WRITERS_H

#include "content/content.h"

#include <stdbool.h>

/*
 * True if nobody has the file open, or mapped, for writing; false also if that cannot be told: of memory that
 * never had a name (memfd), and where there are no leases. The descriptor must be open for reading only.
 * Nobody notices: the lease by which it is asked is given back at once.
 */
bool writers_none(int fd);

/* Larger files are not copied. */
#define WRITERS_COPY_MAX ((uint64_t)32 << 20)

/*
 * A pin becomes that of a copy, which nobody can write to, if anybody can write to its file, or if it lies on an
 * overlay, which may put another file in its place. 0, -ESTALE if
 * it was written to meanwhile, -EFBIG, or another -errno. The pin keeps its path.
 */
int writers_shut_out(struct pin *pin);

#endif
