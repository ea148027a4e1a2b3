/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/exec_watch.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "content/task_root.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

/* Linux 6.0; older headers lack them. */
#ifndef FAN_MARK_EVICTABLE
#define FAN_MARK_EVICTABLE 0x00000200
#endif
#ifndef FAN_MARK_IGNORE
#define FAN_MARK_IGNORE 0x00000400
#endif

/* More are not remembered; they would only be marked again. */
#define MAX_KNOWN 65536

struct exec_watch {
	const struct proc *proc;
	const struct log *log;
	int fanotify;
	int mounts; /* our own mountinfo: readable with POLLPRI when it changed */
	bool knows_ignore; /* FAN_MARK_IGNORE */
	VEC(uint32_t) devices;    /* whose file systems were looked at */
	VEC(uint64_t) namespaces; /* likewise */
	struct exec_watch_counts counts;
	/* Events that were read and not handed on yet. */
	uint8_t buffer[4096] __attribute__((aligned(8)));
	size_t at, n;
};

void exec_watch_free(struct exec_watch *w)
{
	if (!w)
		return;
	for (int fd; (fd = exec_watch_next(w, NULL)) >= 0;)
		close(fd);
	cleanup_close(&w->fanotify);
	cleanup_close(&w->mounts);
	vec_deinit(&w->devices);
	vec_deinit(&w->namespaces);
	free(w);
}

int exec_watch_fd(const struct exec_watch *w)
{
	return w->fanotify;
}

struct exec_watch_counts exec_watch_get_counts(const struct exec_watch *w)
{
	return w->counts;
}

/* ---- file systems ---------------------------------------------------------------------------- */

/* Those that hold programs and answer by themselves. overlay's layers lie on the others. */
static bool is_local(const char *type)
{
	static const char *const types[] = {"ext2",  "ext3",	"ext4",	  "xfs",   "btrfs",
					    "tmpfs", "ramfs",	"squashfs", "erofs", "iso9660",
					    "f2fs",  "bcachefs", "zfs",	  "vfat",  "overlay"};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

static bool is_new_device(struct exec_watch *w, uint32_t device)
{
	vec_foreach(known, &w->devices) {
		if (*known == device)
			return false;
	}
	return w->devices.n < MAX_KNOWN && vec_push(&w->devices, device) == 0;
}

static void mark(struct exec_watch *w, int root, const struct mount_line *m)
{
	/* Not the caches alone: a mount point that nobody looked at yet is worth a look. */
	_cleanup_close_ int fd = task_root_open_path(root, m->point, 0);
	if (fd < 0)
		return;
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int r = fanotify_mark(w->fanotify, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN_EXEC,
			      AT_FDCWD, path);
	log_debug(w->log, "executions on %s (%s, %u:%u): %s", m->point, m->type, m->major, m->minor,
		  r < 0 ? strerror(errno) : "watched");
	w->counts.file_systems += r == 0;
}

/* Marks what is mounted for a task (0: for us), below its root. */
static void mark_mounts(struct exec_watch *w, uint32_t pid, int root)
{
	_cleanup_free_ char *text = NULL;
	if (mountinfo_read(w->proc, pid, &text) < 0)
		return;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) == 0 && is_local(m.type) &&
		    is_new_device(w, m.major << 20 | m.minor))
			mark(w, root, &m);
	}
}

static void mark_our_mounts(struct exec_watch *w)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		mark_mounts(w, 0, root);
}

void exec_watch_refresh(struct exec_watch *w)
{
	struct pollfd p = {.fd = w->mounts, .events = POLLPRI};
	if (poll(&p, 1, 0) == 1)
		mark_our_mounts(w);
}

void exec_watch_see_namespace(struct exec_watch *w, uint64_t mount_namespace, uint32_t pid)
{
	if (!mount_namespace)
		return;
	vec_foreach(known, &w->namespaces) {
		if (*known == mount_namespace)
			return;
	}
	if (w->namespaces.n >= MAX_KNOWN || vec_push(&w->namespaces, mount_namespace) < 0)
		return;
	_cleanup_close_ int root = task_root_open(w->proc, pid, pid);
	if (root >= 0)
		mark_mounts(w, pid, root);
}

/* ---- life and events ------------------------------------------------------------------------- */

int exec_watch_new(const struct proc *proc, const struct log *log, struct exec_watch **ret,
		   struct mw_error *e)
{
	struct exec_watch *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	*w = (struct exec_watch){.proc = proc, .log = log, .mounts = -1, .knows_ignore = true};
	w->fanotify = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK,
				    O_RDONLY | O_CLOEXEC | O_LARGEFILE);
	if (w->fanotify < 0) {
		int r = -errno;
		exec_watch_free(w);
		return error_errno(e, r, "fanotify");
	}
	w->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	mark_our_mounts(w);
	if (!w->counts.file_systems) {
		exec_watch_free(w);
		return error_set(e, -EINVAL, "fanotify: no file system can be watched for executions");
	}
	*ret = w;
	return 0;
}

static int fill(struct exec_watch *w)
{
	ssize_t n = read(w->fanotify, w->buffer, sizeof w->buffer);
	if (n <= 0)
		return n < 0 ? -errno : -EAGAIN;
	w->at = 0;
	w->n = (size_t)n;
	return 0;
}

int exec_watch_next(struct exec_watch *w, uint32_t *ret_pid)
{
	for (;;) {
		if (w->at >= w->n) {
			int r = fill(w);
			if (r < 0)
				return -EAGAIN;
		}
		const struct fanotify_event_metadata *event =
			(const struct fanotify_event_metadata *)(w->buffer + w->at);
		if (!FAN_EVENT_OK(event, w->n - w->at)) {
			w->at = w->n;
			continue;
		}
		w->at += event->event_len;
		if (event->mask & FAN_Q_OVERFLOW)
			w->counts.overflows++;
		if (event->fd < 0)
			continue;
		w->counts.events++;
		if (ret_pid)
			*ret_pid = event->pid > 0 ? (uint32_t)event->pid : 0;
		return event->fd;
	}
}

void exec_watch_ignore(struct exec_watch *w, int fd)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (w->knows_ignore) {
		unsigned flags = FAN_MARK_ADD | FAN_MARK_IGNORE | FAN_MARK_EVICTABLE;
		if (fanotify_mark(w->fanotify, flags, FAN_OPEN_EXEC, AT_FDCWD, path) == 0)
			return;
		w->knows_ignore = false; /* before Linux 6.0 */
	}
	fanotify_mark(w->fanotify, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK, FAN_OPEN_EXEC, AT_FDCWD,
		      path);
}
