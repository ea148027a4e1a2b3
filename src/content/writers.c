/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/writers.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define STEP ((size_t)256 << 10)
/* Of what will hardly change no more than this is copied. */
#define OVERLAY_COPY_MAX (UINT64_C(8) << 20)

/* Files in no directory tree are not counted as open for writing. */
static bool is_counted(int fd)
{
	struct inode_key key;
	struct statfs fs;
	return content_ask_attributes(fd, &key) == 0 && fstatfs(fd, &fs) == 0 &&
	       (key.links > 0 || ((uint64_t)fs.f_type != TMPFS_MAGIC &&
				  (uint64_t)fs.f_type != HUGETLBFS_MAGIC));
}

static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && seals & F_SEAL_WRITE;
}

bool writers_none(int fd)
{
	if (!is_counted(fd))
		return is_sealed(fd);
	/* Who opens it for writing in this moment makes the kernel send a signal: one that does nothing. */
	fcntl(fd, F_SETSIG, SIGURG);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

/* Twice the same: then it was not written to in between. */
static int copy(int from, int to, uint64_t size)
{
	_cleanup_free_ char *buffers = malloc(2 * STEP);
	if (!buffers)
		return -ENOMEM;
	for (uint64_t at = 0, n; at < size; at += n) {
		n = MIN(size - at, (uint64_t)STEP);
		ssize_t r = io_pread(from, buffers, n, at);
		if (r < 0 || (uint64_t)r != n)
			return r < 0 ? (int)r : -ESTALE;
		int written = io_write(to, buffers, n);
		if (written < 0)
			return written;
	}
	for (uint64_t at = 0, n; at < size; at += n) {
		n = MIN(size - at, (uint64_t)STEP);
		ssize_t r = io_pread(from, buffers, n, at), own = io_pread(to, buffers + STEP, n, at);
		if (r < 0 || (uint64_t)r != n || own != r || memcmp(buffers, buffers + STEP, n) != 0)
			return r < 0 ? (int)r : -ESTALE;
	}
	return 0;
}

/* A write to a file of a lower layer puts another file in its place, also under an open descriptor. */
static bool may_be_replaced(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && (uint64_t)fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

int writers_shut_out(struct pin *pin)
{
	bool is_still = writers_none(pin->fd);
	if (is_still && (!may_be_replaced(pin->fd) || pin->key.size > OVERLAY_COPY_MAX))
		return 0;
	struct pin copied = PIN_INIT;
	if (pin->key.size > WRITERS_COPY_MAX)
		return -EFBIG;
	_cleanup_close_ int fd = memfd_create("copy", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : copy(pin->fd, fd, pin->key.size);
	if (r == 0 && pin_is_unchanged(pin) != 1)
		r = -ESTALE;
	copied.fd = fd;
	if (r == 0)
		r = pin_remember(&copied);
	if (r < 0)
		return r;
	close(pin->fd);
	pin->fd = take_fd(fd);
	pin->key = copied.key;
	return 0;
}
