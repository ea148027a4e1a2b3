/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of /proc/PID/mountinfo. An example line:
 *
 *   36 35 98:0 /sub /mnt rw,noatime master:1 - ext4 /dev/root rw,errors=continue
 */
#ifndef PROC_MOUNTINFO_H
#define PROC_MOUNTINFO_H

#include "proc/proc.h"

#include <stdbool.h>

struct mount_line {
	uint32_t major;
	uint32_t minor;
	char *root;  /* the directory of the file system that is mounted */
	char *point; /* where, relative to the task's root */
	char *type;  /* of the file system */
	char *options; /* of the file system, "rw,lowerdir=...", still escaped; "" if none */
};

/* Reads one line in place, octal escapes resolved. 0, or -EBADMSG if it is none. */
int mount_line_parse(char *line, struct mount_line *ret);
/*
 * The next value of an option of the file system ("upperdir"), unescaped, cut to size: *at, the options
 * at first, moves on behind it. An option can be there several times. False after the last.
 */
bool mount_option_next(const char **at, const char *name, char *buf, size_t size);
/* Whether operations on this type of file system may wait for ever for somebody else: FUSE, networks. */
bool mount_type_may_block(const char *type);
/* All of a task's mounts as text; ours are those of pid 0. The caller frees *ret. */
int mountinfo_read(const struct proc *proc, uint32_t pid, char **ret);

#endif
