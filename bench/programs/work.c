/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Work that recorders make slower, counted while it runs.
 *
 *	work COUNTER KIND [ARGUMENT...]	forks a worker for each CPU (compile: one more) that does
 *					KIND over and over, and adds 1 to the u64 in the file COUNTER
 *	exec		runs /bin/true (at most 1,000 a second in all)
 *	exec-free	the same, as fast as it can
 *	mmap FILE	maps a file executable, touches it, unmaps it
 *	compile COMMAND...	runs it, in a directory of its own
 *	idle		nothing
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void run(char **command)
{
	pid_t pid;
	posix_spawn_file_actions_t quiet;
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, command[0], &quiet, NULL, command, environ) != 0)
		exit(1);
	posix_spawn_file_actions_destroy(&quiet);
	waitpid(pid, NULL, 0);
}

static void map(const char *path)
{
	int fd = open(path, O_RDONLY);
	volatile char *p = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		exit(1);
	(void)p[0];
	(void)p[4096];
	munmap((void *)p, 65536);
	close(fd);
}

/* Execs are held to a rate, so that the storm is the same one whoever watches. */
static void hold_back(long per_second)
{
	static struct timespec next;
	if (!next.tv_sec)
		clock_gettime(CLOCK_MONOTONIC, &next);
	next.tv_nsec += 1000000000 / per_second;
	if (next.tv_nsec >= 1000000000) {
		next.tv_sec++;
		next.tv_nsec -= 1000000000;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}

static void work(int number, long n_workers, char **argv, _Atomic uint64_t *counter)
{
	static char *const true_command[] = {"/bin/true", NULL};
	char directory[32];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(argv[2], "compile") == 0) {
		snprintf(directory, sizeof directory, "worker.%d", number);
		mkdir(directory, 0700);
		if (chdir(directory) < 0)
			exit(1);
	}
	for (;;) {
		if (strcmp(argv[2], "exec") == 0) {
			run((char **)true_command);
			hold_back(1000 / n_workers);
		} else if (strcmp(argv[2], "exec-free") == 0) {
			run((char **)true_command);
		} else if (strcmp(argv[2], "mmap") == 0) {
			map(argv[3]);
		} else if (strcmp(argv[2], "compile") == 0) {
			run(argv + 3);
		} else {
			pause();
		}
		atomic_fetch_add(counter, 1);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	_Atomic uint64_t *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counter == MAP_FAILED)
		return 1;
	long n = sysconf(_SC_NPROCESSORS_ONLN) + (strcmp(argv[2], "compile") == 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < n; i++) {
		if (fork() == 0)
			work(i, n, argv, counter);
	}
	pause();
}
