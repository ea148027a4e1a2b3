/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Flatpak: cgroup "app-flatpak-APPLICATION-<number>.scope", and in the sandbox's root, which is a tmpfs
 * made for it, the file .flatpak-info:
 *
 *	[Application]
 *	name=org.gnome.Maps
 *	runtime=runtime/org.gnome.Platform/x86_64/45
 *	[Instance]
 *	instance-id=1234567890
 *	branch=stable
 *	arch=x86_64
 */
#include "base/error.h"
#include "base/io.h"
#include "content/container_family.h"
#include "content/task_root.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INFO_LIMIT ((size_t)64 << 10)

static int match_cgroup(const struct container_clues *k, const struct cgroup_path *path, size_t i,
			struct container *c)
{
	const char *name;
	size_t n = container_strip(path->names[i], "app-flatpak-", ".scope", &name);
	if (!n)
		return 0;
	size_t digits = n;
	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits > 1 && name[digits - 1] == '-')
		n = digits - 1;
	if (container_set(c, CONTAINER_ID, name, n) < 0 || container_set(c, CONTAINER_NAME, name, n) < 0)
		return -ENOMEM;
	return 1;
}

static int open_info(const struct container_clues *k)
{
	if (!k->root || strcmp(k->root->type, "tmpfs") != 0)
		return -ENOENT;
	_cleanup_close_ int root = task_root_open(k->host->proc, k->pid, k->tid);
	return root < 0 ? root : host_files_open_in(k->host, root, "/.flatpak-info");
}

static int match_root(const struct container_clues *k, struct container *c)
{
	_cleanup_close_ int fd = open_info(k);
	return fd >= 0;
}

static void open_files(const struct container_clues *k, const struct container *c,
		       struct container_files *files)
{
	int fd = open_info(k);
	if (fd >= 0)
		files->fds[files->n++] = fd;
}

struct info {
	const char *name;
	const char *instance;
	const char *branch;
	const char *arch;
};

static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);
	return strncmp(line, key, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

static void read_line(const char *section, const char *line, struct info *info)
{
	const char *value;
	if (strcmp(section, "[Application]") == 0) {
		if ((value = value_of(line, "name")))
			info->name = value;
	} else if (strcmp(section, "[Instance]") == 0) {
		if ((value = value_of(line, "instance-id")))
			info->instance = value;
		else if ((value = value_of(line, "branch")))
			info->branch = value;
		else if ((value = value_of(line, "arch")))
			info->arch = value;
	}
}

static int read_info(const struct container_question *q, const int *fds,
		     struct container_answer *ret, struct mw_error *e)
{
	_cleanup_free_ char *text = malloc(INFO_LIMIT);
	ssize_t n = text ? io_pread(fds[0], text, INFO_LIMIT - 1, 0) : -ENOMEM;
	if (n < 0)
		return error_errno(e, (int)n, "cannot read");
	text[n] = '\0';
	struct info info = {};
	const char *section = "";
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (line[0] == '[')
			section = line;
		else
			read_line(section, line, &info);
	}
	container_answer_set(ret, CONTAINER_NAME, info.name);
	container_answer_set(ret, CONTAINER_ID, info.instance);
	char image[CONTAINER_TEXT_MAX];
	if (info.name && info.arch && info.branch &&
	    snprintf(image, sizeof image, "app/%s/%s/%s", info.name, info.arch, info.branch) <
		    (int)sizeof image)
		container_answer_set(ret, CONTAINER_IMAGE, image);
	return 0;
}

const struct container_family container_flatpak = {
	.name = "flatpak",
	.match_cgroup = match_cgroup,
	.match_root = match_root,
	.open = open_files,
	.read = read_info,
};
