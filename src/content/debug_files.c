/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/debug_files.h"

#include "base/cleanup.h"
#include "content/task_root.h"

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
	int *ret;
	size_t n;
};

/*
 * Opens a candidate. In a task's root it must lie on the file system of the file itself, which is
 * known to answer: somebody else's root may have mounts in it that never do.
 */
static void try(struct search *s, int root, bool is_ours, const char *path)
{
	if (s->n == DEBUG_FILES_MAX)
		return;
	_cleanup_close_ int candidate = task_root_open_path(root, path, is_ours ? 0 : RESOLVE_NO_XDEV);
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
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", candidate);
	int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	log_debug(s->log, "%s: debug file %s%s: %s", s->request->path, path,
		  is_ours ? "" : " in the task's root", fd < 0 ? "cannot be opened" : "opened");
	if (fd >= 0)
		s->ret[s->n++] = fd;
}

static void try_build_id(struct search *s, int root, bool is_ours)
{
	const struct mw_file_id *id = &s->request->identity->id;
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

size_t debug_files_open(const struct proc *proc, const struct log *log,
			const struct debug_file_request *request, int *ret)
{
	struct search s = {.request = request, .log = log, .ret = ret};
	if (fstat(request->fd, &s.self) < 0)
		return 0;
	_cleanup_close_ int theirs = task_root_open(proc, request->pid, request->tid);
	_cleanup_close_ int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (theirs >= 0 && is_on(theirs, s.self.st_dev)) {
		try_build_id(&s, theirs, false);
		try_link(&s, theirs, false);
	}
	if (ours >= 0) {
		try_build_id(&s, ours, true);
		try_link(&s, ours, true);
	}
	return s.n;
}
