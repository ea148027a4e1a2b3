/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/cgroup_target.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUP_LIMIT ((size_t)64 << 10)
/* Handles of kernfs: the id alone (include/linux/exportfs.h, FILEID_KERNFS). */
#define HANDLE_KERNFS 0xfe

/* ---- lines of /proc/PID/cgroup --------------------------------------------------------------- */

struct cgroup_line {
	uint32_t hierarchy;
	char *controllers; /* "cpu,cpuacct", "name=systemd", "" */
	char *path;
};

/* "4:memory:/path", in place. */
static bool read_line(char *line, struct cgroup_line *ret)
{
	char *rest = line, *number = strsep(&rest, ":");
	ret->controllers = strsep(&rest, ":");
	ret->path = rest;
	ret->hierarchy = (uint32_t)strtoul(number, NULL, 10);
	return ret->path;
}

static int read_cgroups(const struct proc *proc, uint32_t pid, char **ret)
{
	char path[32];
	snprintf(path, sizeof path, "%u/cgroup", pid);
	return io_read_text(proc->dir, path, CGROUP_LIMIT, ret, NULL);
}

/* Whether an option is among those of a mount. */
static bool has_option(const char *options, const char *name, size_t n)
{
	for (const char *at = options; *at;) {
		size_t length = strcspn(at, ",");
		if (length == n && strncmp(at, name, n) == 0)
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

/* The number of the hierarchy that a mount of version 1 shows. */
static bool find_hierarchy(const struct proc *proc, const char *options, uint32_t *ret)
{
	_cleanup_free_ char *text = NULL;
	if (read_cgroups(proc, 1, &text) < 0)
		return false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct cgroup_line l;
		if (!read_line(line, &l) || !l.controllers[0])
			continue;
		if (has_option(options, l.controllers, strcspn(l.controllers, ","))) {
			*ret = l.hierarchy;
			return true;
		}
	}
	return false;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The directory under a mount that the text names: directly, or as a path in its hierarchy. */
static bool find_directory(const struct mount_line *m, const char *text, char *buf, size_t size)
{
	size_t n = strlen(m->point);
	struct stat st;
	bool is_below = strncmp(text, m->point, n) == 0 && (text[n] == '/' || !text[n]);
	const char *tail = is_below ? text + n : text;
	tail += strspn(tail, "/");
	if (strstr(tail, "..") || snprintf(buf, size, "%s/%s", m->point, tail) >= (int)size)
		return false;
	for (size_t end = strlen(buf); end > n && buf[end - 1] == '/'; end--)
		buf[end - 1] = '\0';
	return stat(buf, &st) == 0 && S_ISDIR(st.st_mode);
}

static int fill(const struct proc *proc, const struct mount_line *m, const char *directory,
		struct cgroup_target *ret)
{
	struct stat st;
	const char *root = strcmp(m->root, "/") == 0 ? "" : m->root;
	const char *tail = directory + strlen(m->point);
	*ret = (struct cgroup_target){};
	if (stat(directory, &st) < 0)
		return -errno;
	ret->id = st.st_ino;
	if (strcmp(m->type, "cgroup") == 0 && !find_hierarchy(proc, m->options, &ret->hierarchy))
		return -ENOENT;
	int n = snprintf(ret->path, sizeof ret->path, "%s%s", root, tail);
	if (n == 0)
		strcpy(ret->path, "/");
	return n < (int)sizeof ret->path ? 0 : -ENAMETOOLONG;
}

static int find_in(const struct proc *proc, const char *mounts, const char *type, const char *text,
		   struct cgroup_target *ret)
{
	_cleanup_free_ char *lines = strdup(mounts);
	if (!lines)
		return -ENOMEM;
	char *rest = lines;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		char directory[4096];
		if (mount_line_parse(line, &m) < 0 || strcmp(m.type, type) != 0 ||
		    !find_directory(&m, text, directory, sizeof directory))
			continue;
		if (fill(proc, &m, directory, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

int cgroup_target_find(const struct proc *proc, const char *text, struct cgroup_target *ret,
		       struct mw_error *e)
{
	_cleanup_free_ char *mounts = NULL;
	int r = mountinfo_read(proc, 0, &mounts);
	return r < 0 ? error_errno(e, r, "cgroup %s", text)
		     : cgroup_target_find_among(proc, mounts, text, ret, e);
}

int cgroup_target_find_among(const struct proc *proc, const char *mounts, const char *text,
			     struct cgroup_target *ret, struct mw_error *e)
{
	int r = find_in(proc, mounts, "cgroup2", text, ret);
	if (r == -ENOENT)
		r = find_in(proc, mounts, "cgroup", text, ret);
	if (r == -ENOENT)
		return error_set(e, r, "there is no cgroup %s", text);
	return r < 0 ? error_errno(e, r, "cgroup %s", text) : 0;
}

bool cgroup_target_has(const struct cgroup_target *target, const struct proc *proc, uint32_t pid)
{
	_cleanup_free_ char *text = NULL;
	size_t n = strlen(target->path);
	if (read_cgroups(proc, pid, &text) < 0)
		return false;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct cgroup_line l;
		if (read_line(line, &l) && l.hierarchy == target->hierarchy)
			return n == 1 || (strncmp(l.path, target->path, n) == 0 &&
					  (l.path[n] == '/' || !l.path[n]));
	}
	return false;
}

/* ---- by id ----------------------------------------------------------------------------------- */

/* Opens any directory of the unified hierarchy. */
static int open_hierarchy(const struct proc *proc, char *point, size_t size, char *root)
{
	_cleanup_free_ char *mounts = NULL;
	int r = mountinfo_read(proc, 0, &mounts);
	if (r < 0)
		return r;
	char *rest = mounts;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) < 0 || strcmp(m.type, "cgroup2") != 0 ||
		    strlen(m.point) >= size || strlen(m.root) >= size)
			continue;
		strcpy(point, m.point);
		strcpy(root, strcmp(m.root, "/") == 0 ? "" : m.root);
		int fd = open(m.point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	return -ENOENT;
}

int cgroup_path_of_id(const struct proc *proc, uint64_t id, char **ret)
{
	char point[512], root[512], link[32], path[4096];
	_cleanup_close_ int mount = open_hierarchy(proc, point, sizeof point, root);
	if (mount < 0)
		return mount;
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = {.head = {.handle_bytes = sizeof id, .handle_type = HANDLE_KERNFS}, .id = id};
	_cleanup_close_ int fd = open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	size_t before = strlen(point);
	if (n <= 0 || (size_t)n < before || strncmp(path, point, before) != 0)
		return -ENOENT;
	path[n] = '\0';
	int written = asprintf(ret, "%s%s", root, path[before] ? path + before : "/");
	return written < 0 ? -ENOMEM : 0;
}
