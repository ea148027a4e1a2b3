/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/source.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int source_of_fd(int fd, struct source *ret, struct mw_error *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return error_errno(e, -errno, "cannot ask for the file's size");
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, "not a regular file");
	*ret = (struct source){.fd = fd, .size = (uint64_t)st.st_size};
	return 0;
}

struct source source_of_memory(const void *data, uint64_t size)
{
	return (struct source){.fd = -1, .data = data, .size = size};
}

int source_read(const struct source *s, uint64_t offset, void *buf, size_t n)
{
	if (!source_has(s, offset, n))
		return -EBADMSG;
	if (!n)
		return 0;
	if (s->data) {
		memcpy(buf, s->data + offset, n);
		return 0;
	}
	ssize_t r = io_pread(s->fd, buf, n, offset);
	if (r < 0)
		return (int)r;
	return (size_t)r == n ? 0 : -EBADMSG;
}

int source_read_new(const struct source *s, uint64_t offset, uint64_t n, uint64_t limit,
		    uint8_t **ret)
{
	if (!source_has(s, offset, n))
		return -EBADMSG;
	if (n > limit)
		return -EFBIG;
	_cleanup_free_ uint8_t *data = malloc(n + 1);
	if (!data)
		return -ENOMEM;
	int r = source_read(s, offset, data, n);
	if (r < 0)
		return r;
	data[n] = 0;
	*ret = take_ptr(data);
	return 0;
}
