/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/debug_files.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "content/task_root.h"
#include "proc/mountinfo.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define DEBUG_DIRECTORY "/usr/lib/debug"

struct search {
	const struct debug_file_request *request;
	const struct log *log;
	struct stat self; /* the stripped file */
	bool may_block;	  /* the task's root has a mount that may never answer */
	int *ret;
	size_t n;
	size_t max;
};

/*
 * Opens a candidate. If a task's root has mounts in it that may never answer, it must lie on the file
 * system of the file itself, which did.
 */
static void try(struct search *s, int root, bool is_ours, const char *path)
{
	if (s->n == s->max)
		return;
	uint64_t resolve = !is_ours && s->may_block ? RESOLVE_NO_XDEV : 0;
	_cleanup_close_ int candidate = task_root_open_path(root, path, resolve);
	struct stat st;
	if (candidate < 0 || fstat(candidate, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_dev == s->self.st_dev && st.st_ino == s->self.st_ino)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct stat other;
		if (fstat(s->ret[i], &other) == 0 && other.st_dev == st.st_dev &&
		    other.st_ino == st.st_ino)
			return;
	}
	int fd = io_reopen(candidate);
	log_debug(s->log, "%s: debug file %s%s: %s", s->request->path, path,
		  is_ours ? "" : " in the task's root", fd < 0 ? "cannot be opened" : "opened");
	if (fd >= 0)
		s->ret[s->n++] = fd;
}

static void try_build_id(struct search *s, int root, bool is_ours, const struct mw_file_id *id)
{
	if (id->kind != MW_FILE_ID_GNU || id->size < 2)
		return;
	char text[MW_FILE_ID_TEXT_MAX], path[MW_FILE_ID_TEXT_MAX + 64];
	mw_file_id_to_text(id, text, sizeof text);
	const char *hex = text + strlen("gnu:");
	snprintf(path, sizeof path, DEBUG_DIRECTORY "/.build-id/%.2s/%s.debug", hex, hex + 2);
	try(s, root, is_ours, path);
}

static void try_link(struct search *s, int root, bool is_ours)
{
	const char *name = s->request->identity->debug_link.name;
	const char *path = task_root_strip(root, s->request->path);
	const char *slash = strrchr(path, '/');
	if (!name[0] || path[0] != '/')
		return;
	int n = (int)(slash - path);
	char candidate[3 * 4096];
	snprintf(candidate, sizeof candidate, "%.*s/%s", n, path, name);
	try(s, root, is_ours, candidate);
	snprintf(candidate, sizeof candidate, "%.*s/.debug/%s", n, path, name);
	try(s, root, is_ours, candidate);
	snprintf(candidate, sizeof candidate, DEBUG_DIRECTORY "%.*s/%s", n, path, name);
	try(s, root, is_ours, candidate);
}

static bool is_on(int root, dev_t device)
{
	struct statx s;
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	return statx(root, "", flags, STATX_TYPE, &s) == 0 &&
	       makedev(s.stx_dev_major, s.stx_dev_minor) == device;
}

static bool has_blocking_mount(const struct proc *proc, uint32_t pid)
{
	_cleanup_free_ char *mounts = NULL;
	if (mountinfo_read(proc, pid, &mounts) < 0)
		return true;
	char *rest = mounts;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) == 0 && mount_type_may_block(m.type))
			return true;
	}
	return false;
}

/* The task's root, if files in it may be opened; -1. */
static int open_theirs(struct search *s, const struct proc *proc)
{
	uint32_t pid = s->request->pid;
	_cleanup_close_ int root = pid ? task_root_open(proc, pid, s->request->tid) : -1;
	if (root < 0)
		return -1;
	s->may_block = has_blocking_mount(proc, pid);
	return s->may_block && !is_on(root, s->self.st_dev) ? -1 : take_fd(root);
}

/* By build ID in both roots first: these are proved before anything of them is read. */
size_t debug_files_open(const struct proc *proc, const struct log *log,
			const struct debug_file_request *request, int *ret)
{
	struct search s = {.request = request, .log = log, .ret = ret, .max = DEBUG_FILES_MAX};
	if (fstat(request->fd, &s.self) < 0)
		return 0;
	_cleanup_close_ int theirs = open_theirs(&s, proc);
	_cleanup_close_ int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (theirs >= 0)
		try_build_id(&s, theirs, false, &request->identity->id);
	if (ours >= 0)
		try_build_id(&s, ours, true, &request->identity->id);
	if (theirs >= 0)
		try_link(&s, theirs, false);
	if (ours >= 0)
		try_link(&s, ours, true);
	return s.n;
}

/* ---- what debug files share ------------------------------------------------------------------ */

/* As the link says, from the directory of a file if it is a relative one. */
static void try_alt_from(struct search *s, int root, bool is_ours, const char *file, const char *link)
{
	const char *path = task_root_strip(root, file), *slash = strrchr(path, '/');
	char candidate[2 * 4096];
	if (!slash || path[0] != '/')
		return;
	snprintf(candidate, sizeof candidate, "%.*s/%s", (int)(slash - path), path, link);
	try(s, root, is_ours, candidate);
}

static void try_alt(struct search *s, int root, bool is_ours, const struct elf_alt_link *link,
		    const int *debug_fds, size_t n)
{
	if (root < 0)
		return;
	if (link->path[0] == '/')
		try(s, root, is_ours, link->path);
	for (size_t i = 0; i < n && link->path[0] != '/'; i++) {
		char name[32], path[4096];
		snprintf(name, sizeof name, "/proc/self/fd/%d", debug_fds[i]);
		ssize_t length = readlink(name, path, sizeof path - 1);
		path[MAX(length, 0)] = '\0';
		try_alt_from(s, root, is_ours, path, link->path);
	}
	if (link->path[0] != '/')
		try_alt_from(s, root, is_ours, s->request->path, link->path);
	try_build_id(s, root, is_ours, &link->id);
}

int debug_files_open_alt(const struct proc *proc, const struct log *log,
			 const struct debug_file_request *request, const struct elf_alt_link *link,
			 const int *debug_fds, size_t n_debug_fds)
{
	int found = -1;
	struct search s = {.request = request, .log = log, .ret = &found, .max = 1};
	if (!link->path[0] || fstat(request->fd, &s.self) < 0)
		return -1;
	_cleanup_close_ int theirs = open_theirs(&s, proc);
	_cleanup_close_ int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	try_alt(&s, theirs, false, link, debug_fds, n_debug_fds);
	try_alt(&s, ours, true, link, debug_fds, n_debug_fds);
	return found;
}
