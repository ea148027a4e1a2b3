/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The path of the mapping, resolved in the task's root: for threads whose main thread is gone.
 *
 * A path in maps is relative to the reader's root, the task's root to ours. So the path of a task in
 * a chroot is tried with the root's own path taken off its front, and as it is. Resolution stays in
 * the root, whatever links say, and in the caches (RESOLVE_CACHED): it never waits for a file system.
 */
#include "base/cleanup.h"
#include "content/finder.h"
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

static int open_in_root(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
	return fd < 0 ? -errno : fd;
}

/* The name of the mapping that was sampled; NULL if it is not there any more or has none. */
static char *mapping_name(char *maps, const struct file_request *request)
{
	for (char *line; (line = strsep(&maps, "\n")) != NULL;) {
		struct map_line m;
		if (map_line_parse(line, &m) == 0 && m.start <= request->map_start &&
		    request->map_start < m.end)
			return m.name[0] == '/' ? m.name : NULL;
	}
	return NULL;
}

/* What is left of a path below the root's own path; the path itself where it is not below. */
static const char *below_root(int root, const char *path)
{
	char link[32], own[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", root);
	ssize_t n = readlink(link, own, sizeof own - 1);
	if (n <= 1 || strncmp(path, own, (size_t)n) != 0 || path[n] != '/')
		return path;
	return path + n;
}

static int find(const struct finder_context *context, const struct file_request *request)
{
	_cleanup_free_ char *maps = NULL;
	int r = maps_read(context->proc, request->pid, request->tid, &maps);
	if (r < 0)
		return r;
	const char *name = mapping_name(maps, request);
	if (!name)
		return -ENOENT;
	char link[64];
	snprintf(link, sizeof link, "%u/task/%u/root", request->pid, request->tid);
	_cleanup_close_ int root = openat(context->proc->dir, link, O_PATH | O_CLOEXEC);
	if (root < 0)
		return -errno;
	return open_in_root(root, below_root(root, name));
}

const struct finder finder_task_root = {"task-root", find};
