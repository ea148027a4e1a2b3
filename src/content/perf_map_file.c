/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/perf_map_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "content/task_root.h"
#include "proc/mountinfo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define STATUS_MAX 65536
#define NS_PER_S   INT64_C(1000000000)

void perf_map_file_deinit(struct perf_map_file *file)
{
	cleanup_close(&file->fd);
	file->fd = -1;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int64_t nanoseconds(const struct statx_timestamp *t)
{
	return t->tv_sec * NS_PER_S + t->tv_nsec;
}

static int look(int fd, struct statx *s, struct perf_map_state *ret)
{
	/* As it is cached: what lies on a file system that has to be asked is not taken at all. */
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	if (statx(fd, "", flags, STATX_BASIC_STATS, s) < 0)
		return -errno;
	int64_t written = nanoseconds(&s->stx_mtime), status = nanoseconds(&s->stx_ctime);
	*ret = (struct perf_map_state){
		.device = (uint64_t)s->stx_dev_major << 32 | s->stx_dev_minor,
		.inode = s->stx_ino,
		.size = s->stx_size,
		.changed = MAX(written, status),
		.written = written,
	};
	return 0;
}

int perf_map_file_look(const struct perf_map_file *file, struct perf_map_state *ret)
{
	struct statx s;
	return look(file->fd, &s, ret);
}

int perf_map_file_open(const struct perf_map_file *file)
{
	return io_reopen(file->fd);
}

/* ---- what counts ----------------------------------------------------------------------------- */

/* The numbers of a line such as "Uid:	1000	1000	1000	1000": how many. */
static size_t read_numbers(const char *status, const char *key, uint32_t *ret, size_t max)
{
	const char *line = strstr(status, key);
	size_t n = 0;
	char *end;
	for (line = line ? line + strlen(key) : ""; n < max && *line != '\n'; line = end) {
		ret[n] = (uint32_t)strtoul(line, &end, 10);
		if (end == line)
			break;
		n++;
	}
	return n;
}

static int read_status(const struct proc *proc, uint32_t pid, char **ret)
{
	char path[32];
	snprintf(path, sizeof path, "%u/status", pid);
	return io_read_text(proc->dir, path, STATUS_MAX, ret, NULL);
}

static int ask_own_pid(const struct proc *proc, struct perf_map_place *place)
{
	uint32_t pids[64];
	_cleanup_free_ char *status = NULL;
	if (place->own_pid)
		return 0;
	int r = read_status(proc, place->pid, &status);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	size_t n = read_numbers(status, "\nNSpid:", pids, ARRAY_SIZE(pids));
	place->own_pid = n ? pids[n - 1] : place->pid; /* a kernel without PID namespaces */
	return 0;
}

/* As perf demands it: of root or of the user of the process. */
static bool is_owner_right(const struct proc *proc, uint32_t pid, uint32_t owner)
{
	uint32_t uids[4]; /* real, effective, saved, of the file system */
	_cleanup_free_ char *status = NULL;
	if (owner == 0)
		return true;
	if (read_status(proc, pid, &status) < 0)
		return false;
	size_t n = read_numbers(status, "\nUid:", uids, ARRAY_SIZE(uids));
	for (size_t i = 0; i < n; i++) {
		if (uids[i] == owner)
			return true;
	}
	return false;
}

/* Clocks tick, and files carry the time of the last tick: whatever is within a second is not older.
 */
static bool is_older_than_process(const struct perf_map_place *place, int64_t changed)
{
	struct timespec real, boot;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	int64_t started = (real.tv_sec - boot.tv_sec) * NS_PER_S + (real.tv_nsec - boot.tv_nsec) +
			  (int64_t)place->start_time;
	return changed < started - NS_PER_S;
}

static const char *reason_against(const struct proc *proc, const struct perf_map_place *place,
				  const struct statx *s, const struct perf_map_state *state)
{
	if (!S_ISREG(s->stx_mode))
		return "not a regular file";
	if (!is_owner_right(proc, place->pid, s->stx_uid))
		return "neither of the process' user nor of root";
	if (is_older_than_process(place, state->changed))
		return "older than the process";
	return NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool may_block(const struct proc *proc, struct perf_map_place *place, int directory)
{
	struct statx s;
	struct perf_map_state state;
	_cleanup_free_ char *mounts = NULL;
	if (look(directory, &s, &state) < 0)
		return true;
	if (state.device == place->safe_device)
		return false;
	if (mountinfo_read(proc, place->pid, &mounts) < 0)
		return true;
	char *rest = mounts;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) == 0 && m.major == s.stx_dev_major &&
		    m.minor == s.stx_dev_minor && mount_type_may_block(m.type))
			return true;
	}
	place->safe_device = state.device; /* btrfs' own devices, too, which no mount has */
	return false;
}

/* The last part of a path in a directory; a link is opened as what it is. */
static int open_in(int directory, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
	return fd < 0 ? -errno : fd;
}

/* The root of any thread: those that have ended have none. */
static int open_root_of_any(const struct proc *proc, uint32_t pid)
{
	char path[32];
	snprintf(path, sizeof path, "%u/task", pid);
	int fd = openat(proc->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	if (!tasks)
		return -ESRCH;
	int root = -ESRCH;
	for (struct dirent *d; root < 0 && (d = readdir(tasks)) != NULL;) {
		if (d->d_name[0] != '.')
			root = task_root_open(proc, pid, (uint32_t)strtoul(d->d_name, NULL, 10));
	}
	closedir(tasks);
	return root;
}

/* The process' /tmp, unless that is where one might wait for ever. */
static int open_directory(const struct proc *proc, struct perf_map_place *place)
{
	_cleanup_close_ int root = task_root_open(proc, place->pid, place->tid);
	if (root < 0)
		root = open_root_of_any(proc, place->pid);
	if (root < 0)
		return -ESRCH;
	int directory = task_root_open_path(root, "tmp", RESOLVE_CACHED);
	if (directory == -EAGAIN && !may_block(proc, place, root))
		directory = task_root_open_path(root, "tmp", 0);
	return directory == -EAGAIN ? -ENOENT : directory;
}

static int open_map(const struct proc *proc, struct perf_map_place *place)
{
	char name[32];
	int r = ask_own_pid(proc, place);
	if (r < 0)
		return r;
	_cleanup_close_ int directory = open_directory(proc, place);
	if (directory < 0)
		return directory;
	snprintf(name, sizeof name, "perf-%u.map", place->own_pid);
	int fd = open_in(directory, name);
	if (fd >= 0 && may_block(proc, place, directory)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

/* Something that keeps the file and is in nobody's way. */
static int hold(int fd)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
	int copy = (int)syscall(SYS_open_tree, fd, "", flags);
	return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static bool is_same_file(const struct perf_map_state *a, const struct perf_map_state *b)
{
	return a->device == b->device && a->inode == b->inode;
}

int perf_map_file_find(const struct proc *proc, const struct log *log, struct perf_map_place *place,
		       struct perf_map_file *held)
{
	struct statx s;
	struct perf_map_state state;
	_cleanup_close_ int fd = open_map(proc, place);
	int r = fd < 0 ? fd : look(fd, &s, &state);
	if (r < 0)
		return r == -ESRCH ? r : -ENOENT;
	if (held->fd >= 0 && is_same_file(&held->state, &state))
		return 0;
	const char *against = reason_against(proc, place, &s, &state);
	if (against) {
		if (!place->is_refused)
			log_debug(log, "task %u: perf-%u.map does not count: %s", place->pid,
				  place->own_pid, against);
		place->is_refused = true;
		return -ENOENT;
	}
	int copy = hold(fd);
	if (copy < 0)
		return -ENOENT; /* no descriptor is left: at a later look */
	perf_map_file_deinit(held);
	*held = (struct perf_map_file){copy, state};
	log_debug(log, "task %u: perf-%u.map found, %llu bytes", place->pid, place->own_pid,
		  (unsigned long long)state.size);
	return 1;
}
