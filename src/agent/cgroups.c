/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/cgroups.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define ROOT_ID 1
/* Ids of our own have the top bit: the kernel's are inode numbers of cgroupfs. */
#define OWN_ID (UINT64_C(1) << 63)
/* Remembered answers: kernel ids, or processes on a hybrid host. Older ones are asked anew. */
#define N_ANSWERS 4096

struct answer {
	uint64_t id;
	uint64_t start_time;
	uint64_t cgroup; /* 0: free */
	uint32_t pid;
};

struct cgroups {
	struct profile *profile;
	const struct proc *proc;
	struct answer answers[N_ANSWERS];
};

int cgroups_new(struct profile *profile, const struct proc *proc, struct cgroups **ret)
{
	struct cgroups *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->profile = profile;
	c->proc = proc;
	*ret = c;
	return 0;
}

void cgroups_free(struct cgroups *c)
{
	free(c);
}

/* Asks /proc. The process may be gone already: then the kernel's id alone has to do. */
static uint64_t ask(struct cgroups *c, const struct sample *sample)
{
	_cleanup_free_ char *path = NULL;
	if (!proc_is_same_process(c->proc, sample->task.pid, sample->task.start_time) ||
	    proc_cgroup(c->proc, sample->task.pid, &path) < 0)
		return sample->cgroup;
	uint64_t id = sample->cgroup;
	if (id == ROOT_ID && strcmp(path, "/") != 0)
		id = OWN_ID | hash_bytes(path, strlen(path), 0);
	profile_set_cgroup(c->profile, id, path);
	return id;
}

uint64_t cgroups_see(struct cgroups *c, const struct sample *sample)
{
	struct answer wanted = {.id = sample->cgroup};
	if (wanted.id == ROOT_ID) { /* says nothing about this process */
		wanted.pid = sample->task.pid;
		wanted.start_time = sample->task.start_time;
	}
	uint64_t hash = hash_u64(wanted.id ^ hash_u64(wanted.start_time ^ wanted.pid));
	struct answer *a = &c->answers[hash % N_ANSWERS];
	if (a->cgroup && a->id == wanted.id && a->pid == wanted.pid &&
	    a->start_time == wanted.start_time)
		return a->cgroup;
	wanted.cgroup = ask(c, sample);
	*a = wanted;
	return wanted.cgroup;
}
