/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The path of the file, in the root that its task had: for tasks that are gone, on file systems whose
 * files have no handles (tmpfs, overlay's own).
 */
#include "content/finder.h"

#include <errno.h>

static int find(const struct finder_context *context, const struct file_request *request)
{
	if (!context->roots || !request->path)
		return -ENOENT;
	return roots_open(context->roots, &request->root, request->key.device, request->path);
}

const struct finder finder_pinned_root = {"pinned-root", find};
