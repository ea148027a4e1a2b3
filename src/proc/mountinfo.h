/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of /proc/PID/mountinfo. An example line:
 *
 *   36 35 98:0 /sub /mnt rw,noatime master:1 - ext4 /dev/root rw,errors=continue
 */
#ifndef PROC_MOUNTINFO_H
#define PROC_MOUNTINFO_H

#include "proc/proc.h"

struct mount_line {
	uint32_t major;
	uint32_t minor;
	char *root;  /* the directory of the file system that is mounted */
	char *point; /* where, relative to the task's root */
	char *type;  /* of the file system */
};

/* Reads one line in place, octal escapes resolved. 0, or -EBADMSG if it is none. */
int mount_line_parse(char *line, struct mount_line *ret);
/* All of a task's mounts as text; "self" is pid 0. The caller frees *ret. */
int mountinfo_read(const struct proc *proc, uint32_t pid, char **ret);

#endif
