/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the bytes of an ELF file come from: a descriptor, read with pread only where something is
 * needed, or memory (an ELF file unpacked from inside another one, a note file of /sys).
 *
 * Never a mapping: whoever owns the file may cut it under us, and a mapping then answers with SIGBUS
 * where a read answers with a short count.
 */
#ifndef ELF_SOURCE_H
#define ELF_SOURCE_H

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <stddef.h>

struct source {
	int fd;              /* not owned; -1 for memory */
	const uint8_t *data; /* not owned; NULL for a descriptor */
	uint64_t size;       /* when it was opened */
};

int source_of_fd(int fd, struct source *ret, struct mw_error *e);
struct source source_of_memory(const void *data, uint64_t size);

/* True if all of [offset, offset + n) lies in the source. Any values. */
static inline bool source_has(const struct source *s, uint64_t offset, uint64_t n)
{
	return offset <= s->size && n <= s->size - offset;
}

/* Reads exactly n bytes. 0, -EBADMSG if they are not all there, or the -errno of pread. */
int source_read(const struct source *s, uint64_t offset, void *buf, size_t n);
/*
 * The same into new memory, which the caller frees; a NUL follows the bytes, so that a table of
 * strings ends whatever the file says. -EFBIG if n is over limit.
 */
int source_read_new(const struct source *s, uint64_t offset, uint64_t n, uint64_t limit,
		    uint8_t **ret);

#endif
