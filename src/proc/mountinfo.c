/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc/mountinfo.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MOUNTINFO_LIMIT ((size_t)32 << 20)

static int octal(char c)
{
	return c >= '0' && c <= '7' ? c - '0' : -1;
}

/* "\040" and its like stand for the bytes that would break the columns. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; to++) {
		int a, b, c;
		if (*from == '\\' && (a = octal(from[1])) >= 0 && (b = octal(from[2])) >= 0 &&
		    (c = octal(from[3])) >= 0) {
			*to = (char)(a << 6 | b << 3 | c);
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

int mount_line_parse(char *line, struct mount_line *ret)
{
	struct mount_line m = {};
	char *rest = line;
	strsep(&rest, " "); /* mount id */
	strsep(&rest, " "); /* parent */
	char *device = strsep(&rest, " ");
	m.root = strsep(&rest, " ");
	m.point = strsep(&rest, " ");
	char *separator = rest ? strstr(rest, " - ") : NULL;
	if (!separator || !device || sscanf(device, "%u:%u", &m.major, &m.minor) != 2)
		return -EBADMSG;
	rest = separator + 3;
	m.type = strsep(&rest, " ");
	strsep(&rest, " "); /* source */
	m.options = rest ? rest : m.type + strlen(m.type);
	unescape(m.root);
	unescape(m.point);
	*ret = m;
	return 0;
}

bool mount_option_next(const char **at, const char *name, char *buf, size_t size)
{
	size_t n = strlen(name);
	while (**at) {
		const char *option = *at;
		size_t length = strcspn(option, ",");
		*at += length + (option[length] == ',');
		if (length <= n || strncmp(option, name, n) != 0 || option[n] != '=')
			continue;
		snprintf(buf, size, "%.*s", (int)(length - n - 1), option + n + 1);
		unescape(buf);
		return true;
	}
	return false;
}

/* Types begin so: fuse, fuse.sshfs, fuseblk; nfs4; smb3; and autofs, which waits for a mount. */
static const char *const blocking_types[] = {
	"9p", "afs", "autofs", "ceph", "cifs", "coda", "fuse", "gfs2", "lustre", "nfs", "ocfs2",
	"orangefs", "smb", "virtiofs",
};

bool mount_type_may_block(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocking_types); i++) {
		if (strncmp(type, blocking_types[i], strlen(blocking_types[i])) == 0)
			return true;
	}
	return false;
}

int mountinfo_read(const struct proc *proc, uint32_t pid, char **ret)
{
	char path[40];
	if (!pid) /* ours, whatever our number is in the other /proc */
		return io_read_text(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_LIMIT, ret, NULL);
	snprintf(path, sizeof path, "%u/mountinfo", pid);
	return io_read_text(proc->dir, path, MOUNTINFO_LIMIT, ret, NULL);
}
