/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc/proc.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define TEXT_LIMIT ((size_t)64 * 1024)

int proc_init(struct proc *proc, const char *prefix, struct mw_error *e)
{
	*proc = (struct proc)PROC_INIT;
	int fd = open(prefix, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(e, -errno, "cannot open %s", prefix);
	proc->dir = fd;
	return 0;
}

void proc_deinit(struct proc *proc)
{
	cleanup_close(&proc->dir);
	proc->dir = -1;
}

/* Numeric fields of /proc/PID/stat, ascending, counted from 1 as proc(5) does, from the fourth on. */
static int read_stat(const struct proc *proc, uint32_t pid, const int *fields, size_t n,
		     uint64_t *ret)
{
	char path[32];
	snprintf(path, sizeof path, "%u/stat", pid);
	_cleanup_free_ char *text = NULL;
	int r = io_read_text(proc->dir, path, TEXT_LIMIT, &text, NULL);
	if (r < 0)
		return r;
	/* 1234 (a name (with) parentheses) S 1 ...: field 3 comes after the last ')'. */
	const char *at = strrchr(text, ')');
	int field = 2;
	for (size_t i = 0; i < n; i++) {
		for (; at && field < fields[i]; field++) {
			at = strchr(at, ' ');
			at = at ? at + 1 : NULL;
		}
		if (!at || sscanf(at, "%" SCNu64, &ret[i]) != 1)
			return -EBADMSG;
	}
	return 0;
}

int proc_start_time(const struct proc *proc, uint32_t pid, uint64_t *ret)
{
	static const int field = 22; /* starttime */
	uint64_t ticks;
	int r = read_stat(proc, pid, &field, 1, &ticks);
	if (r == 0)
		*ret = ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	return r;
}

int proc_image(const struct proc *proc, uint32_t pid, struct proc_image *ret)
{
	static const int fields[] = {26, 28}; /* startcode, startstack */
	uint64_t values[ARRAY_SIZE(fields)];
	int r = read_stat(proc, pid, fields, ARRAY_SIZE(fields), values);
	if (r == 0)
		*ret = (struct proc_image){values[0], values[1]};
	return r;
}

int proc_is_same_process(const struct proc *proc, uint32_t pid, uint64_t start_time)
{
	uint64_t tick = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t now;
	return proc_start_time(proc, pid, &now) == 0 && now == start_time / tick * tick;
}

/* How well a line "4:memory:/path" or "0::/path" names a task: the root says nothing. */
static int rank_cgroup(const char *line, const char *path)
{
	if (path[0] == '/' && path[1] == '\0')
		return 0;
	if (strncmp(line, "0::", 3) == 0)
		return 3;
	return strstr(line, ":name=systemd:") ? 2 : 1;
}

int proc_cgroup(const struct proc *proc, uint32_t pid, char **ret)
{
	char path[32];
	snprintf(path, sizeof path, "%u/cgroup", pid);
	_cleanup_free_ char *text = NULL;
	int r = io_read_text(proc->dir, path, TEXT_LIMIT, &text, NULL);
	if (r < 0)
		return r;
	const char *best = "/";
	int best_rank = 0;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		const char *colon = strchr(line, ':');
		colon = colon ? strchr(colon + 1, ':') : NULL;
		if (!colon)
			continue;
		int rank = rank_cgroup(line, colon + 1);
		if (rank > best_rank) {
			best = colon + 1;
			best_rank = rank;
		}
	}
	*ret = strdup(best);
	return *ret ? 0 : -ENOMEM;
}

ssize_t proc_readlink(const struct proc *proc, uint32_t pid, const char *name, char *buf,
		      size_t size)
{
	char path[96];
	snprintf(path, sizeof path, "%u/%s", pid, name);
	ssize_t n = readlinkat(proc->dir, path, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}
