/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "space/snapshot.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct snapshot {
	char *text; /* the names lie here */
	VEC(struct mapping) mappings; /* ascending, apart from each other */
};

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	vec_deinit(&s->mappings);
	free(s->text);
	free(s);
}

static int parse(struct snapshot *s)
{
	uint64_t end = 0;
	char *rest = s->text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct map_line m;
		if (map_line_parse(line, &m) < 0 || m.start < end)
			continue;
		end = m.end;
		struct mapping mapping = {m.start, m.end,	m.offset,     m.inode,
					  m.major, m.minor, m.protection, false, m.name};
		int r = vec_push(&s->mappings, mapping);
		if (r < 0)
			return r;
	}
	return 0;
}

int snapshot_take(const struct proc *proc, uint32_t pid, uint32_t tid, struct snapshot **ret)
{
	struct snapshot *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	int r = maps_read(proc, pid, tid, &s->text);
	if (r == 0)
		r = parse(s);
	if (r < 0) {
		snapshot_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void snapshot_mark_program(struct snapshot *s, const struct mapping *mapping)
{
	s->mappings.items[mapping - s->mappings.items].is_program = true;
}

size_t snapshot_count(const struct snapshot *s)
{
	return s->mappings.n;
}

size_t snapshot_index(const struct snapshot *s, uint64_t address)
{
	size_t low = 0, high = s->mappings.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->mappings.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *snapshot_get(const struct snapshot *s, size_t index)
{
	return index < s->mappings.n ? &s->mappings.items[index] : NULL;
}

const struct mapping *snapshot_find(const struct snapshot *s, uint64_t address)
{
	const struct mapping *m = snapshot_get(s, snapshot_index(s, address));
	return m && address >= m->start ? m : NULL;
}
