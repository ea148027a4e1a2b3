/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/host_files.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "content/task_root.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 4096

/* We are in the mount namespace of the machine's own threads: in no container. */
static bool is_in_own_namespace(const struct proc *proc)
{
	struct stat ours, theirs;
	return stat("/proc/self/ns/mnt", &ours) == 0 &&
	       fstatat(proc->dir, "2/ns/mnt", &theirs, 0) == 0 && ours.st_ino == theirs.st_ino;
}

/*
 * The root of process 1. One that is hardened may not be asked for it, not even by root; then that of
 * the kernel's thread 2, which is the same unless an initramfs was left by switch_root.
 */
int host_files_init(struct host_files *h, const struct proc *proc, const struct log *log)
{
	*h = (struct host_files){.proc = proc, .log = log};
	h->root = openat(proc->dir, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (h->root < 0 && !is_in_own_namespace(proc))
		h->root = openat(proc->dir, "2/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (h->root < 0)
		h->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return h->root < 0 ? -errno : 0;
}

void host_files_deinit(struct host_files *h)
{
	cleanup_close(&h->root);
	h->root = -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int stat_cached(int fd, struct statx *ret)
{
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	return statx(fd, "", flags, STATX_BASIC_STATS, ret) < 0 ? -errno : 0;
}

/* Block devices have a major number. Of the others (tmpfs, overlayfs; FUSE, NFS) the type decides. */
static bool is_local(const struct host_files *h, int fd)
{
	struct statx s;
	if (stat_cached(fd, &s) < 0)
		return false;
	if (s.stx_dev_major)
		return true;
	_cleanup_free_ char *text = NULL;
	if (mountinfo_read(h->proc, 1, &text) < 0)
		return false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) == 0 && m.major == s.stx_dev_major &&
		    m.minor == s.stx_dev_minor)
			return !mount_type_may_block(m.type);
	}
	return false;
}

/*
 * One more component of a path whose parent is cached. After the look-up in a local directory it is
 * cached too; a link that leads to where nothing is cached is not followed.
 */
static int look_up(const struct host_files *h, const char *path, size_t n)
{
	char part[PATH_SIZE], parent[PATH_SIZE];
	snprintf(part, sizeof part, "%.*s", (int)n, path);
	int fd = task_root_open_path(h->root, part, RESOLVE_CACHED);
	if (fd != -EAGAIN)
		return fd;
	const char *slash = strrchr(part, '/');
	snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - part) + 1 : 1,
		 slash ? part : "/");
	_cleanup_close_ int directory = task_root_open_path(h->root, parent, RESOLVE_CACHED);
	if (directory < 0 || !is_local(h, directory))
		return -EAGAIN;
	fd = task_root_open_path(directory, slash ? slash + 1 : part, RESOLVE_NO_SYMLINKS);
	if (fd >= 0 || fd != -ELOOP)
		return fd;
	return task_root_open_path(h->root, part, RESOLVE_CACHED);
}

static int walk(const struct host_files *h, const char *path)
{
	size_t n = strlen(path);
	for (size_t i = 1; i < n; i++) {
		if (path[i] != '/')
			continue;
		_cleanup_close_ int fd = look_up(h, path, i);
		if (fd < 0)
			return fd;
	}
	return look_up(h, path, n);
}

/* An O_PATH descriptor to one for reading, if it is a regular file of a bearable size. */
static int open_regular(int candidate)
{
	struct statx s;
	int r = stat_cached(candidate, &s);
	if (r < 0)
		return r;
	if (!S_ISREG(s.stx_mode))
		return -EINVAL;
	if (s.stx_size > HOST_FILE_MAX)
		return -EFBIG;
	return io_reopen(candidate);
}

int host_files_open(const struct host_files *h, const char *path)
{
	if (path[0] != '/' || strlen(path) >= PATH_SIZE)
		return -EINVAL;
	_cleanup_close_ int candidate = task_root_open_path(h->root, path, RESOLVE_CACHED);
	if (candidate == -EAGAIN)
		candidate = walk(h, path);
	if (candidate < 0)
		return candidate;
	return is_local(h, candidate) ? open_regular(candidate) : -EWOULDBLOCK;
}

int host_files_open_in(const struct host_files *h, int root, const char *path)
{
	_cleanup_close_ int candidate =
		task_root_open_path(root, path, RESOLVE_CACHED | RESOLVE_NO_XDEV);
	return candidate < 0 ? candidate : open_regular(candidate);
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* What is left of a path below a directory; NULL if it is not below it. */
static const char *below(const char *path, const char *directory)
{
	size_t n = strlen(directory);
	if (n == 1)
		return path;
	bool is_below = strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
	return is_below ? path + n : NULL;
}

bool host_files_find_mounted(const struct host_files *h, uint32_t major, uint32_t minor,
			     const char *directory, char *buf, size_t size)
{
	_cleanup_free_ char *text = NULL;
	if (!directory || mountinfo_read(h->proc, 1, &text) < 0)
		return false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) < 0 || m.major != major || m.minor != minor)
			continue;
		const char *tail = below(directory, m.root);
		if (!tail)
			continue;
		const char *point = strcmp(m.point, "/") == 0 ? "" : m.point;
		tail = strcmp(tail, "/") == 0 ? "" : tail;
		int n = snprintf(buf, size, "%s%s", point, tail);
		return n > 0 && (size_t)n < size;
	}
	return false;
}

bool host_files_is_own_root(const struct host_files *h, uint32_t major, uint32_t minor,
			    const char *directory)
{
	_cleanup_free_ char *text = NULL;
	if (mountinfo_read(h->proc, 1, &text) < 0)
		return true;
	bool is_own = true;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) == 0 && strcmp(m.point, "/") == 0) /* the last is on top */
			is_own = m.major == major && m.minor == minor &&
				 strcmp(m.root, directory) == 0;
	}
	return is_own;
}
