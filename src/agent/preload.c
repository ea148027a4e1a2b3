/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/preload.h"

#include "base/vec.h"
#include "proc/maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PER_TICK  16
#define QUEUE_MAX 8192

struct waiting {
	uint32_t pid;
	uint64_t cpu_time;
};

struct preload {
	const struct proc *proc;
	struct first_sight *first_sight;
	VEC(struct waiting) queue;
	size_t next;
};

int preload_new(const struct proc *proc, struct first_sight *first_sight, struct preload **ret)
{
	struct preload *p = calloc(1, sizeof *p);
	if (!p)
		return -ENOMEM;
	p->proc = proc;
	p->first_sight = first_sight;
	*ret = p;
	return 0;
}

void preload_free(struct preload *p)
{
	if (!p)
		return;
	vec_deinit(&p->queue);
	free(p);
}

static int by_cpu_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	return x->cpu_time > y->cpu_time ? -1 : x->cpu_time < y->cpu_time;
}

int preload_add_all(struct preload *p)
{
	int fd = openat(p->proc->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		int r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (struct dirent *d; (d = readdir(directory)) && p->queue.n < QUEUE_MAX;) {
		char *end;
		unsigned long pid = strtoul(d->d_name, &end, 10);
		struct waiting w = {.pid = (uint32_t)pid};
		if (*end || !pid || proc_cpu_time(p->proc, w.pid, &w.cpu_time) < 0)
			continue;
		if (vec_push(&p->queue, w) < 0)
			break;
	}
	closedir(directory);
	if (p->queue.n)
		qsort(p->queue.items, p->queue.n, sizeof p->queue.items[0], by_cpu_time);
	return 0;
}

void preload_add(struct preload *p, uint32_t pid)
{
	if (pid && p->queue.n - p->next < QUEUE_MAX)
		vec_push(&p->queue, (struct waiting){.pid = pid}); /* no room: at its first sample, then */
}

static int look_at(struct preload *p, uint32_t pid)
{
	struct task_key task = {.pid = pid, .tid = pid};
	struct snapshot *snapshot;
	if (proc_start_time(p->proc, pid, &task.start_time) < 0 ||
	    snapshot_take(p->proc, pid, pid, &snapshot) < 0)
		return 0;
	int r = 0;
	for (size_t i = 0; i < snapshot_count(snapshot) && r == 0; i++) {
		const struct mapping *m = snapshot_get(snapshot, i);
		if (m->inode && m->protection & MAP_EXECUTE)
			r = first_sight_add_running(p->first_sight, &task, m);
	}
	snapshot_free(snapshot);
	return r == -ENOMEM ? r : 0;
}

int preload_tick(struct preload *p)
{
	int r = 0;
	for (int i = 0; i < PER_TICK && p->next < p->queue.n && r == 0; i++)
		r = look_at(p, p->queue.items[p->next++].pid);
	if (p->next && (p->next == p->queue.n || p->next >= QUEUE_MAX)) { /* programs may be executed for ever */
		p->queue.n -= p->next;
		memmove(p->queue.items, p->queue.items + p->next, p->queue.n * sizeof p->queue.items[0]);
		p->next = 0;
	}
	return r;
}
