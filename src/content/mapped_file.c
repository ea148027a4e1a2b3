/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/mapped_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "content/content.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

uint64_t mapped_file_magic(const struct proc *proc, uint32_t pid, uint32_t device, int fd)
{
	struct statfs fs;
	return !may_block(proc, pid, device) && fstatfs(fd, &fs) == 0 ? (uint64_t)fs.f_type : FUSE_MAGIC;
}

int mapped_file_ask(const struct proc *proc, struct file_request *request)
{
	struct finder_context context = {.proc = proc};
	_cleanup_close_ int fd = finder_map_files.find(&context, request);
	if (fd < 0)
		return fd;
	int r = content_ask_attributes(fd, &request->key);
	if (r < 0)
		return r;
	request->magic = mapped_file_magic(proc, request->pid, request->key.device, fd);
	if (finder_may_block(request->magic))
		return 0;
	/* The rest of the key takes a descriptor that can be asked. */
	_cleanup_close_ int readable = io_reopen(fd);
	return readable < 0 ? 0 : content_ask_key(readable, &request->key);
}

static bool has_same_inode(const struct inode_key *a, const struct inode_key *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* What a finder has for the request: who it is, as stat(2) tells. */
static int ask_finder(const struct finder *finder, const struct proc *proc,
		      const struct file_request *request, struct inode_key *ret)
{
	struct finder_context context = {.proc = proc};
	_cleanup_close_ int fd = finder->find(&context, request);
	return fd < 0 ? fd : content_ask_attributes(fd, ret);
}

int mapped_file_attributes(const struct proc *proc, const struct file_request *request,
			   struct inode_key *ret)
{
	return ask_finder(&finder_map_files, proc, request, ret);
}

bool mapped_file_is_program(const struct proc *proc, const struct file_request *request)
{
	struct inode_key program, mapped;
	if (ask_finder(&finder_exe, proc, request, &program) < 0)
		return false;
	/* btrfs and overlayfs show other numbers in maps than in stat(2), and never the latter's. */
	return has_same_inode(&program, &request->key) ||
	       (mapped_file_attributes(proc, request, &mapped) == 0 &&
		has_same_inode(&program, &mapped));
}
