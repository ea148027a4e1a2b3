/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a mapping that was read from /proc: who it is, so that it can be asked for. */
#ifndef CONTENT_MAPPED_FILE_H
#define CONTENT_MAPPED_FILE_H

#include "content/finder.h"

/*
 * Fills in key and magic of a request whose task and mapping are given. Nothing that might block is
 * asked of the file system. 0 or -errno.
 */
int mapped_file_ask(const struct proc *proc, struct file_request *request);

#endif
