/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nameless memfd|tmpfile|descriptor PROGRAM [ARGUMENT...]: runs a copy of PROGRAM that has no name in
 * any directory, or PROGRAM itself by an open descriptor (execveat) after its name was removed.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

extern char **environ;

static int copy_of(const char *path, int target)
{
	int source = open(path, O_RDONLY | O_CLOEXEC);
	if (source < 0 || target < 0)
		err(1, "%s", path);
	while (sendfile(target, source, NULL, 1 << 20) > 0)
		;
	/* A file that is open for writing cannot be run. */
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", target);
	int fd = open(link, O_RDONLY | O_CLOEXEC);
	close(target);
	return fd;
}

static int open_program(const char *how, const char *path)
{
	if (strcmp(how, "memfd") == 0)
		return copy_of(path, memfd_create("no name", MFD_CLOEXEC));
	if (strcmp(how, "tmpfile") == 0)
		return copy_of(path, open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "usage: nameless memfd|tmpfile|descriptor PROGRAM [ARGUMENT...]");
	int fd = open_program(argv[1], argv[2]);
	if (fd < 0)
		err(1, "%s", argv[2]);
	execveat(fd, "", argv + 2, environ, AT_EMPTY_PATH);
	err(1, "execveat");
}
