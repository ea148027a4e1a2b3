/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * same_pid SECONDS TIMES PROGRAM OTHER: runs two programs in turn, TIMES in all, under one and the same
 * process id, as chance gives it to them on a busy machine. Prints the id.
 */
#define _GNU_SOURCE
#include <err.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child with this process id, 0 for any. */
static pid_t start(pid_t wanted, const char *program, const char *seconds)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = wanted ? (uintptr_t)&wanted : 0,
		.set_tid_size = wanted ? 1 : 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid < 0)
		err(1, "clone3 with process id %d", wanted);
	if (pid == 0) {
		execl(program, program, seconds, (char *)NULL);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		errx(2, "usage: same_pid SECONDS TIMES PROGRAM OTHER");
	pid_t pid = 0;
	for (int i = 0; i < atoi(argv[2]); i++) {
		pid = start(pid, argv[3 + i % 2], argv[1]);
		if (waitpid(pid, NULL, 0) != pid)
			err(1, "waitpid");
	}
	printf("%d\n", pid);
	return 0;
}
