/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc/pid_namespace.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* PROC_PID_INIT_INO of include/linux/proc_ns.h, the same on every machine. */
#define INITIAL_INODE 0xEFFFFFFCu

static int namespace_of(const struct proc *proc, const char *pid, ino_t *ret)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof path, "%.20s/ns/pid", pid);
	if (fstatat(proc->dir, path, &st, 0) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

int pid_namespace_is_initial(const struct proc *proc)
{
	/* Process 1 of a /proc is the first of its namespace. */
	ino_t inode = 0;
	int r = namespace_of(proc, "1", &inode);
	return r < 0 ? r : inode == INITIAL_INODE;
}

/* The last number of the line "NSpid:	4711	12	1": that of the innermost namespace. */
static uint32_t innermost_pid(const struct proc *proc, const char *pid)
{
	char path[64];
	snprintf(path, sizeof path, "%.20s/status", pid);
	_cleanup_free_ char *text = NULL;
	if (io_read_text(proc->dir, path, 65536, &text, NULL) < 0)
		return 0;
	char *line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line++;
	line[strcspn(line, "\n")] = '\0';
	const char *last = strrchr(line, '\t');
	return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

int pid_namespace_translate(const struct proc *proc, uint32_t own_pid, uint32_t *ret)
{
	struct stat own;
	ino_t inode = 0;
	if (stat("/proc/self/ns/pid", &own) < 0)
		return -errno;
	_cleanup_close_ int fd = openat(proc->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory)
		return -errno;
	take_fd(fd); /* closedir() closes it */
	int result = -ESRCH;
	for (struct dirent *d; result != 0 && (d = readdir(directory)) != NULL;) {
		if (!isdigit((unsigned char)d->d_name[0]) ||
		    innermost_pid(proc, d->d_name) != own_pid ||
		    namespace_of(proc, d->d_name, &inode) < 0 || inode != own.st_ino)
			continue;
		*ret = (uint32_t)strtoul(d->d_name, NULL, 10);
		result = 0;
	}
	closedir(directory);
	return result;
}
