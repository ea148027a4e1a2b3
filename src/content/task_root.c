/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/task_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int task_root_open(const struct proc *proc, uint32_t pid, uint32_t tid)
{
	char link[64];
	snprintf(link, sizeof link, "%u/task/%u/root", pid, tid);
	int root = openat(proc->dir, link, O_PATH | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

const char *task_root_strip(int root, const char *path)
{
	char link[32], own[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", root);
	ssize_t n = readlink(link, own, sizeof own - 1);
	if (n <= 1 || strncmp(path, own, (size_t)n) != 0 || path[n] != '/')
		return path;
	return path + n;
}

int task_root_open_path(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
	return fd < 0 ? -errno : fd;
}
