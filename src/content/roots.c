/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/roots.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "content/task_root.h"
#include "proc/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Linux 5.15; older headers lack it. */
#ifndef NS_GET_MNTNS_ID
#define NS_GET_MNTNS_ID _IOR(0xb7, 0x5, uint64_t)
#endif

#define MAX_ROOTS 256
/* A pin outlives its last known task by this long, if nobody else of the namespace is seen. */
#define GRACE_SECONDS 1

struct root {
	struct root_key key;
	int fd;	      /* owned */
	char *mounts; /* what was mounted for its tasks: text of mountinfo, owned */
	uint32_t pid; /* the last task that was seen with it */
	time_t seen;
};

struct roots {
	const struct proc *proc;
	const struct log *log;
	uint64_t own_namespace; /* 0: unknown */
	VEC(struct root) list;
};

static time_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static uint64_t ask_own_namespace(void)
{
	uint64_t id = 0;
	_cleanup_close_ int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && ioctl(fd, NS_GET_MNTNS_ID, &id) == 0 ? id : 0;
}

int roots_new(const struct proc *proc, const struct log *log, struct roots **ret)
{
	struct roots *roots = calloc(1, sizeof *roots);
	if (!roots)
		return -ENOMEM;
	roots->proc = proc;
	roots->log = log;
	roots->own_namespace = ask_own_namespace();
	*ret = roots;
	return 0;
}

static void root_deinit(struct root *root)
{
	cleanup_close(&root->fd);
	free(root->mounts);
}

void roots_free(struct roots *roots)
{
	if (!roots)
		return;
	vec_foreach(root, &roots->list)
		root_deinit(root);
	vec_deinit(&roots->list);
	free(roots);
}

static struct root *find(const struct roots *roots, const struct root_key *key)
{
	vec_foreach(root, &roots->list) {
		if (root->key.mount_namespace == key->mount_namespace &&
		    root->key.inode == key->inode && root->key.device == key->device)
			return root;
	}
	return NULL;
}

/* A descriptor that keeps the directory reachable and is not in anybody's way. */
static int hold(const struct roots *roots, const struct root_key *key, int root)
{
	if (key->mount_namespace != roots->own_namespace)
		return fcntl(root, F_DUPFD_CLOEXEC, 0);
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
	return (int)syscall(SYS_open_tree, root, "", flags);
}

static void pin(struct roots *roots, const struct root_key *key, uint32_t pid, uint32_t tid)
{
	_cleanup_close_ int directory = task_root_open(roots->proc, pid, tid);
	if (directory < 0)
		return;
	_cleanup_close_ int fd = hold(roots, key, directory);
	_cleanup_free_ char *mounts = NULL;
	if (fd < 0 || mountinfo_read(roots->proc, pid, &mounts) < 0 ||
	    vec_reserve(&roots->list, roots->list.n + 1) < 0)
		return;
	log_debug(roots->log, "root of task %u is pinned (mount namespace %llu)", pid,
		  (unsigned long long)key->mount_namespace);
	roots->list.items[roots->list.n++] = (struct root){
		.key = *key,
		.fd = take_fd(fd),
		.mounts = take_ptr(mounts),
		.pid = pid,
		.seen = now(),
	};
}

void roots_see(struct roots *roots, const struct root_key *key, uint32_t pid, uint32_t tid)
{
	if (!key->mount_namespace)
		return;
	struct root *root = find(roots, key);
	if (root) {
		root->pid = pid;
		root->seen = now();
	} else if (roots->list.n < MAX_ROOTS) {
		pin(roots, key, pid, tid);
	}
}

void roots_touch(struct roots *roots, uint64_t mount_namespace)
{
	vec_foreach(root, &roots->list) {
		if (root->key.mount_namespace == mount_namespace &&
		    mount_namespace != roots->own_namespace)
			root->seen = now();
	}
}

static bool lives(const struct roots *roots, uint32_t pid)
{
	char path[16];
	snprintf(path, sizeof path, "%u", pid);
	return faccessat(roots->proc->dir, path, F_OK, 0) == 0;
}

void roots_expire(struct roots *roots)
{
	size_t kept = 0;
	vec_foreach(root, &roots->list) {
		if (lives(roots, root->pid) || now() - root->seen <= GRACE_SECONDS)
			roots->list.items[kept++] = *root;
		else
			root_deinit(root);
	}
	roots->list.n = kept;
}

/* ---- finding a file -------------------------------------------------------------------------- */

/* What is left of a path below a directory, with its slash; NULL if it is not below it. */
static const char *below(const char *path, const char *directory)
{
	size_t n = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
	return strncmp(path, directory, n) == 0 && path[n] == '/' ? path + n : NULL;
}

/* Through the mount of its file system, as the tasks of this root had it. */
static int open_by_mount(const struct root *root, const struct mount_line *m, const char *path)
{
	const char *rest = below(path, m->root);
	char full[8192];
	if (!rest)
		return -ENOENT;
	snprintf(full, sizeof full, "%s%s", strcmp(m->point, "/") == 0 ? "" : m->point, rest);
	return task_root_open_path(root->fd, full, RESOLVE_CACHED);
}

int roots_open(const struct roots *roots, const struct root_key *key, uint32_t device,
	       const char *path)
{
	const struct root *root = find(roots, key);
	if (!root || path[0] != '/')
		return -ENOENT;
	_cleanup_free_ char *text = strdup(root->mounts);
	char *rest = text;
	for (char *line; text && (line = strsep(&rest, "\n")) != NULL;) {
		struct mount_line m;
		if (mount_line_parse(line, &m) < 0 || (m.major << 20 | m.minor) != device)
			continue;
		int fd = open_by_mount(root, &m, path);
		if (fd >= 0)
			return fd;
	}
	/* A chroot inside of a file system is no mount of its own. */
	return task_root_open_path(root->fd, task_root_strip(root->fd, path), RESOLVE_CACHED);
}
