/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What /proc says about where a task runs, taken apart. */
#include "base/io.h"
#include "content/container_family.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUP_LIMIT	((size_t)64 << 10)
#define MOUNTINFO_LIMIT ((size_t)4 << 20)
/* The root comes first, what a runtime mounts for itself soon after. */
#define MOUNTS_MAX 256

/* A thread's own file, since the process's is empty once its main thread has exited. */
static int read_text(const struct container_clues *k, const char *name, size_t limit, char **ret)
{
	char path[64];
	snprintf(path, sizeof path, "%u/task/%u/%s", k->pid, k->tid, name);
	int r = io_read_text(k->host->proc->dir, path, limit, ret, NULL);
	if (r != -ENOENT)
		return r;
	snprintf(path, sizeof path, "%u/%s", k->pid, name);
	return io_read_text(k->host->proc->dir, path, limit, ret, NULL);
}

/* ---- cgroups --------------------------------------------------------------------------------- */

static struct cgroup_path split(char *path)
{
	struct cgroup_path split = {};
	for (char *name; (name = strsep(&path, "/")) != NULL;) {
		if (!name[0] || strcmp(name, "..") == 0 || split.n == CGROUP_COMPONENTS_MAX)
			continue;
		split.names[split.n++] = name;
	}
	return split;
}

static bool is_same(const struct cgroup_path *a, const struct cgroup_path *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->names[i], b->names[i]) != 0)
			return false;
	}
	return true;
}

static void add_path(struct container_clues *k, char *path)
{
	struct cgroup_path new = split(path);
	if (!new.n || k->n_paths == CGROUP_PATHS_MAX)
		return;
	for (size_t i = 0; i < k->n_paths; i++) {
		if (is_same(&k->paths[i], &new))
			return;
	}
	k->paths[k->n_paths++] = new;
}

/*
 * Lines are "4:memory:/path", "1:name=systemd:/path", or "0::/path" for the unified hierarchy. This one
 * names a task best, then systemd's; in others it may have been left anywhere.
 */
static size_t rank_of(const char *line)
{
	if (strncmp(line, "0::", 3) == 0)
		return 0;
	return strstr(line, ":name=systemd:") ? 1 : 2;
}

static int read_cgroups(struct container_clues *k)
{
	int r = read_text(k, "cgroup", CGROUP_LIMIT, &k->cgroups);
	if (r < 0)
		return r;
	struct {
		char *path;
		size_t rank;
	} lines[64];
	size_t n = 0;
	char *rest = k->cgroups;
	for (char *line; (line = strsep(&rest, "\n")) != NULL && n < ARRAY_SIZE(lines);) {
		char *colon = strchr(line, ':');
		char *path = colon ? strchr(colon + 1, ':') : NULL;
		if (!path)
			continue;
		lines[n].rank = rank_of(line);
		lines[n++].path = path + 1;
	}
	for (size_t rank = 0; rank <= 2; rank++) {
		for (size_t i = 0; i < n; i++) {
			if (lines[i].rank == rank)
				add_path(k, lines[i].path);
		}
	}
	return 0;
}

/* ---- mounts ---------------------------------------------------------------------------------- */

static int read_mounts(struct container_clues *k)
{
	int r = read_text(k, "mountinfo", MOUNTINFO_LIMIT, &k->mountinfo);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* no clue, but the cgroups may be enough */
	size_t root = SIZE_MAX;
	char *rest = k->mountinfo;
	for (char *line; (line = strsep(&rest, "\n")) != NULL && k->mounts.n < MOUNTS_MAX;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) < 0)
			continue;
		if (strcmp(m.point, "/") == 0) /* the last one is on top */
			root = k->mounts.n;
		if (vec_push(&k->mounts, m) < 0)
			return -ENOMEM;
	}
	k->root = root == SIZE_MAX ? NULL : &k->mounts.items[root];
	if (k->root && strcmp(k->root->type, "overlay") == 0) {
		const char *at = k->root->options;
		mount_option_next(&at, "upperdir", k->upper, sizeof k->upper);
	}
	return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

int container_clues_read(const struct host_files *host, uint32_t pid, uint32_t tid,
			 struct container_clues **ret)
{
	struct container_clues *k = calloc(1, sizeof *k);
	if (!k)
		return -ENOMEM;
	k->host = host;
	k->pid = pid;
	k->tid = tid;
	char path[16];
	struct stat st;
	snprintf(path, sizeof path, "%u", pid);
	int r = fstatat(host->proc->dir, path, &st, 0) < 0 ? -errno : 0;
	if (r == 0) {
		k->owner = st.st_uid;
		r = read_cgroups(k);
	}
	if (r == 0)
		r = read_mounts(k);
	if (r < 0) {
		container_clues_free(k);
		return r;
	}
	*ret = k;
	return 0;
}

int container_clues_of_path(const struct host_files *host, const char *cgroup,
			    struct container_clues **ret)
{
	struct container_clues *k = calloc(1, sizeof *k);
	if (k)
		k->cgroups = strdup(cgroup);
	if (!k || !k->cgroups) {
		free(k);
		return -ENOMEM;
	}
	k->host = host;
	add_path(k, k->cgroups);
	*ret = k;
	return 0;
}

void container_clues_free(struct container_clues *k)
{
	if (!k)
		return;
	vec_deinit(&k->mounts);
	free(k->cgroups);
	free(k->mountinfo);
	free(k);
}
