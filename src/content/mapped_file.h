/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a mapping that was read from /proc: who it is, so that it can be asked for. */
#ifndef CONTENT_MAPPED_FILE_H
#define CONTENT_MAPPED_FILE_H

#include "content/finder.h"

#include <stdbool.h>

/*
 * Fills in key and magic of a request whose task and mapping are given. Nothing that might block is
 * asked of the file system. 0 or -errno.
 */
int mapped_file_ask(const struct proc *proc, struct file_request *request);
/* The magic of the file system that an open file (O_PATH will do) of a task lies on. Where asking might
 * block it is FUSE's. */
uint64_t mapped_file_magic(const struct proc *proc, uint32_t pid, uint32_t device, int fd);
/* Only what stat(2) tells of the key: cheap. */
int mapped_file_attributes(const struct proc *proc, const struct file_request *request,
			   struct inode_key *ret);
/*
 * Whether a mapping is of the file that its process was started from, which nobody can write to while it
 * runs. The request's key has device and inode as maps shows them: enough if the two are the link's, too.
 */
bool mapped_file_is_program(const struct proc *proc, const struct file_request *request);

#endif
