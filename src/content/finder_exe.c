/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program of the task: also when the main thread is gone and map_files with it, and when the
 * mapping was split since. Whether the request is for the program at all, the proof will tell.
 */
#include "content/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int find(const struct finder_context *context, const struct file_request *request)
{
	char path[64];
	snprintf(path, sizeof path, "%u/task/%u/exe", request->pid, request->tid);
	int fd = openat(context->proc->dir, path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct finder finder_exe = {"exe", find};
