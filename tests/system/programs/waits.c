/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: waits HOW TIMES MILLISECONDS. Waits so often, so long each time, in true_wait(). Writes how long all
 * of it took, in ms, to standard output.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long sink;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static struct timespec span(long ms)
{
	return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

static void wait_asleep(long ms)
{
	struct timespec t = span(ms);
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static void wait_for_a_word(long ms)
{
	static int word;
	struct timespec t = span(ms);
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0);
}

__attribute__((noinline)) void true_read(int fd)
{
	char byte;
	if (read(fd, &byte, 1) != 1)
		abort();
	sink++;
}

/* A child writes when it is time. */
static void wait_for_a_byte(long ms)
{
	int fds[2];
	if (pipe(fds))
		abort();
	if (fork() == 0) {
		usleep((useconds_t)ms * 1000);
		_exit(write(fds[1], "x", 1) != 1);
	}
	true_read(fds[0]);
	close(fds[0]);
	close(fds[1]);
}

__attribute__((noinline)) void true_wait(void (*how)(long), long ms)
{
	how(ms);
	sink++;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	void (*how)(long) = strcmp(argv[1], "asleep") == 0 ? wait_asleep
			    : strcmp(argv[1], "word") == 0 ? wait_for_a_word
							     : wait_for_a_byte;
	double start = now();
	for (long i = 0; i < atol(argv[2]); i++)
		true_wait(how, atol(argv[3]));
	printf("%.0f\n", now() - start);
	return 0;
}
