/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/output_file.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_temporary(struct output_file *file)
{
	if (asprintf(&file->temporary, "%s.XXXXXX", file->name) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	int fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;
		free(take_ptr(file->temporary));
		return r;
	}
	mode_t mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask); /* mkostemp() makes files that only the owner reads */
	return fd;
}

int output_file_open(struct output_file *file, const char *name, struct mw_error *e)
{
	*file = (struct output_file){.fd = -1, .name = name};
	struct stat st;
	bool special = stat(name, &st) == 0 && !S_ISREG(st.st_mode);
	_cleanup_close_ int fd =
		special ? open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY) : open_temporary(file);
	if (fd < 0)
		return error_errno(e, special ? -errno : fd, "%s", name);
	fflush(stdout);
	file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (file->fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
		return 0;
	int r = error_errno(e, -errno, "%s", name);
	output_file_discard(file);
	return r;
}

static void restore(struct output_file *file)
{
	dup2(file->fd, STDOUT_FILENO);
	close(take_fd(file->fd));
}

int output_file_keep(struct output_file *file, struct mw_error *e)
{
	if (file->fd < 0)
		return 0;
	int r = 0;
	if (fflush(stdout) != 0 ||
	    (file->temporary && rename(file->temporary, file->name) < 0))
		r = error_errno(e, -errno, "%s", file->name);
	if (r == 0)
		free(take_ptr(file->temporary));
	output_file_discard(file);
	return r;
}

void output_file_discard(struct output_file *file)
{
	if (file->temporary) {
		unlink(file->temporary);
		free(take_ptr(file->temporary));
	}
	if (file->fd >= 0)
		restore(file);
}
