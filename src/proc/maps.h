/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of /proc/PID/maps. An example line:
 *
 *   7f12a4c00000-7f12a4d55000 r-xp 00028000 08:01 131104    /usr/lib/x86_64-linux-gnu/libc.so.6
 */
#ifndef PROC_MAPS_H
#define PROC_MAPS_H

#include "proc/proc.h"

#include <stdbool.h>

#define MAP_READ    0x1
#define MAP_WRITE   0x2
#define MAP_EXECUTE 0x4
#define MAP_IS_SHARED 0x8

struct map_line {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
	uint32_t protection; /* MAP_* */
	char *name; /* as the kernel writes it, "\012" turned back to a line break; "" if none */
};

/*
 * Reads one line in place (it must be writable and end in NUL). Returns 0, or -EBADMSG if it is none.
 * ret->name points into the line. A real backslash followed by 012 cannot be told from a line break:
 * the kernel does not escape backslashes.
 */
int map_line_parse(char *line, struct map_line *ret);

/* Reads all of a task's maps, from the thread's own file since the process's is empty once its main
 * thread has exited. The caller frees *ret. */
int maps_read(const struct proc *proc, uint32_t pid, uint32_t tid, char **ret);

#endif
