/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * storm PROGRAM PROCESSES FILES: runs PROGRAM so often, FILES times from a copy with content of its own
 * that is removed at once; two at a time. Prints what has been done at each tenth, and waits for a line
 * on standard input then, so that somebody can look.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char image[1 << 20];
static size_t image_size;

static pid_t run(const char *path)
{
	char *const command[] = {(char *)path, NULL};
	pid_t pid;
	if (posix_spawn(&pid, path, NULL, NULL, command, environ) != 0) {
		perror(path);
		exit(1);
	}
	return pid;
}

static pid_t run_copy(long number)
{
	char path[32];
	snprintf(path, sizeof path, "copy.%ld", number);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, image, image_size) != (ssize_t)image_size ||
	    write(fd, &number, sizeof number) != sizeof number) {
		perror(path);
		exit(1);
	}
	close(fd);
	pid_t pid = run(path);
	unlink(path);
	return pid;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	long n = atol(argv[2]), files = atol(argv[3]);
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	image_size = (size_t)read(fd, image, sizeof image);
	pid_t before = 0;
	for (long i = 0; i < n; i++) {
		pid_t pid = files && i % (n / files) == 0 ? run_copy(i) : run(argv[1]);
		if (before)
			waitpid(before, NULL, 0);
		before = pid;
		if ((i + 1) % (n / 10) == 0) {
			printf("%ld\n", i + 1);
			fflush(stdout);
			(void)!getchar();
		}
	}
	waitpid(before, NULL, 0);
	return 0;
}
