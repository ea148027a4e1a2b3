/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc/maps.h"

#include "base/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 65,530 mappings (vm.max_map_count as it comes) with long names stay below this. */
#define MAPS_LIMIT ((size_t)64 << 20)

static void unescape_line_breaks(char *name)
{
	char *to = name;
	for (const char *from = name; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

int map_line_parse(char *line, struct map_line *ret)
{
	char r, w, x, shared;
	int n = 0;
	struct map_line m = {};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c%c%c %" SCNx64 " %" SCNx32 ":%" SCNx32
			 " %" SCNu64 "%n",
		   &m.start, &m.end, &r, &w, &x, &shared, &m.offset, &m.major, &m.minor, &m.inode,
		   &n) != 10 ||
	    m.start >= m.end)
		return -EBADMSG;
	m.protection = (r == 'r' ? MAP_READ : 0) | (w == 'w' ? MAP_WRITE : 0) |
		       (x == 'x' ? MAP_EXECUTE : 0) | (shared == 's' ? MAP_IS_SHARED : 0);
	m.name = line + n;
	while (*m.name == ' ')
		m.name++;
	unescape_line_breaks(m.name);
	*ret = m;
	return 0;
}

int maps_read(const struct proc *proc, uint32_t pid, uint32_t tid, char **ret)
{
	char path[64];
	snprintf(path, sizeof path, "%u/task/%u/maps", pid, tid);
	return io_read_text(proc->dir, path, MAPS_LIMIT, ret, NULL);
}
