/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The path of the mapping, resolved in the task's root: for threads whose main thread is gone.
 * Resolution stays in the caches: it never waits for a file system.
 */
#include "base/cleanup.h"
#include "content/finder.h"
#include "content/task_root.h"
#include "proc/maps.h"

#include <errno.h>
#include <linux/openat2.h>
#include <string.h>

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

static int find(const struct finder_context *context, const struct file_request *request)
{
	_cleanup_free_ char *maps = NULL;
	int r = maps_read(context->proc, request->pid, request->tid, &maps);
	if (r < 0)
		return r;
	const char *name = mapping_name(maps, request);
	if (!name)
		return -ENOENT;
	_cleanup_close_ int root = task_root_open(context->proc, request->pid, request->tid);
	return root < 0 ? root : task_root_open_path(root, task_root_strip(root, name), RESOLVE_CACHED);
}

const struct finder finder_task_root = {"task-root", find};
