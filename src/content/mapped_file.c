/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/mapped_file.h"

#include "base/cleanup.h"
#include "content/content.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <string.h>
#include <sys/vfs.h>

#define FUSE_MAGIC 0x65735546 /* stands for every file system that may block */

static bool type_may_block(const char *type)
{
	static const char *const types[] = {"fuse", "nfs",  "cifs", "smb", "9p", "ceph",
					    "afs",  "coda", "gfs2", "ocfs2"};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strncmp(type, types[i], strlen(types[i])) == 0)
			return true;
	}
	return false;
}

/* Whether a file system may block is read from the task's mounts, before it is asked anything. */
static bool may_block(const struct proc *proc, uint32_t pid, uint32_t device)
{
	_cleanup_free_ char *text = NULL;
	if (mountinfo_read(proc, pid, &text) < 0)
		return true;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) == 0 && (m.major << 20 | m.minor) == device &&
		    type_may_block(m.type))
			return true;
	}
	return false;
}

int mapped_file_ask(const struct proc *proc, struct file_request *request)
{
	struct finder_context context = {.proc = proc};
	_cleanup_close_ int fd = finder_map_files.find(&context, request);
	if (fd < 0)
		return fd;
	struct pin pin = {.fd = fd};
	int r = pin_remember(&pin); /* from what is cached */
	if (r < 0)
		return r;
	request->key = pin.key;
	request->magic = FUSE_MAGIC;
	struct statfs fs;
	if (!may_block(proc, request->pid, pin.key.device) && fstatfs(fd, &fs) == 0)
		request->magic = (uint64_t)fs.f_type;
	return 0;
}
