/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole reads and writes: they go on after EINTR and after short counts. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads up to n bytes at an offset; fewer only at the end of the file. Bytes read, or -errno. */
ssize_t io_pread(int fd, void *buf, size_t n, uint64_t offset);
/* Reads up to n bytes; fewer only at the end. Bytes read, or -errno. */
ssize_t io_read(int fd, void *buf, size_t n);
/* Writes all. 0 or -errno. */
int io_write(int fd, const void *data, size_t n);
/*
 * Reads a small file as text, from an open directory (AT_FDCWD is one). Ends with a NUL that is not
 * counted in *ret_size. -EFBIG if it is larger than limit. The caller frees *ret.
 */
int io_read_text(int dir, const char *path, size_t limit, char **ret, size_t *ret_size);

/*
 * Opens what an O_PATH descriptor stands for, for reading and without waiting for anybody. Only for what
 * is known to be a regular file: to open a FIFO or a device can do something. The caller closes the
 * descriptor, or gets -errno.
 */
int io_reopen(int place);

#endif
