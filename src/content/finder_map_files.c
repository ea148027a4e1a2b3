/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /proc/PID/map_files/START-END opens the mapped inode itself: deleted, replaced, memfd, in another
 * root or namespace. Its names have no zero padding. It needs a living main thread.
 */
#include "content/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

static int find(const struct finder_context *context, const struct file_request *request)
{
	char path[96];
	snprintf(path, sizeof path, "%u/map_files/%" PRIx64 "-%" PRIx64, request->pid,
		 request->map_start, request->map_end);
	int fd = openat(context->proc->dir, path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct finder finder_map_files = {"map_files", find};
