/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

ssize_t io_pread(int fd, void *buf, size_t n, uint64_t offset)
{
	size_t done = 0;
	while (done < n) {
		ssize_t r = pread(fd, (char *)buf + done, n - done, (off_t)(offset + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

ssize_t io_read(int fd, void *buf, size_t n)
{
	size_t done = 0;
	while (done < n) {
		ssize_t r = read(fd, (char *)buf + done, n - done);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

int io_write(int fd, const void *data, size_t n)
{
	size_t done = 0;
	while (done < n) {
		ssize_t r = write(fd, (const char *)data + done, n - done);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		done += (size_t)r;
	}
	return 0;
}

int io_read_text(int dir, const char *path, size_t limit, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	_cleanup_free_ char *text = NULL;
	size_t size = 0, capacity = 4096;
	for (;;) {
		if (capacity > limit)
			capacity = limit + 1; /* one more tells a file of exactly limit bytes */
		char *grown = realloc(text, capacity + 1);
		if (!grown)
			return -ENOMEM;
		text = grown;
		ssize_t r = io_read(fd, text + size, capacity - size);
		if (r < 0)
			return (int)r;
		size += (size_t)r;
		if (size > limit)
			return -EFBIG;
		if (size < capacity)
			break;
		capacity *= 2;
	}
	text[size] = '\0';
	*ret = take_ptr(text);
	if (ret_size)
		*ret_size = size;
	return 0;
}

int io_reopen(int place)
{
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", place);
	int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
