/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * burn SECONDS [HOW [ARGUMENT...]]: spends so much CPU time in functions that say which program they
 * are of. Built with -DP=right, -DP=wrong, -DP=other the layout is the same and the names differ:
 * P_first and P_second take half of the time each. The command name is burn_P, so that the names in
 * each stack can be held against it.
 *
 *   flat           just that (the default)
 *   unlinked       removes its own file first
 *   thread         in a second thread, after the main thread has ended
 *   both           in P_first, and in a second thread in P_second
 *   fork, vfork    the child in P_first, the parent in P_second, SECONDS each
 *   exec N NEXT    becomes the program NEXT afterwards, which becomes this one again, and so on N times
 *   over           after copying its code over itself, onto anonymous memory
 *   moved          in P_first, after moving its page elsewhere
 *   copied         in a copy of P_first in anonymous memory
 *   filed FILE     in a copy of P_first in a new file that holds nothing else
 *
 * BURN_TAG is appended to the command name: so two runs of the tests at a time tell theirs apart.
 * If BURN_STARTED is set, a file of that name appears when a tenth of the time is spent.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(x)    #x
#define TEXT(x)	    TEXT_(x)
#define PAGE_SIZE   4096

/* A page of its own that calls nothing: it can be copied and moved. */
#define MOVABLE(section_name) \
	__attribute__((noinline, noclone, aligned(PAGE_SIZE), section(section_name)))

MOVABLE(".text.first") long JOIN(P, first)(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

MOVABLE(".text.second") long JOIN(P, second)(long n)
{
	volatile long sum = 1;
	for (long i = 1; i < n; i++)
		sum ^= i;
	return sum;
}

/* Keeps whatever follows off the page of P_second. */
MOVABLE(".text.third") long JOIN(P, third)(void)
{
	return 3;
}

/* Part of what is loaded, so that build IDs differ, which do not depend on symbol names. */
static const char *const volatile name = "burn_" TEXT(P);

typedef long burn_fn(long);

static double seconds;
static volatile long sink;

static double cpu_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void take_name(void)
{
	char tagged[32];
	const char *tag = getenv("BURN_TAG");
	snprintf(tagged, sizeof tagged, "%s%s", name, tag ? tag : "");
	prctl(PR_SET_NAME, tagged);
}

static void tell_start(void)
{
	const char *path = getenv("BURN_STARTED");
	if (path)
		close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void burn(burn_fn *first, burn_fn *second)
{
	double start = cpu_time();
	int told = 0;
	for (double spent = 0; spent < seconds; spent = cpu_time() - start) {
		if (!told && spent > seconds / 10) {
			tell_start();
			told = 1;
		}
		if (first)
			sink += first(200000);
		if (second)
			sink += second(200000);
	}
}

static void burn_all(void)
{
	burn(JOIN(P, first), JOIN(P, second));
}

static void remove_own_file(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n > 0) {
		path[n] = '\0';
		unlink(path);
	}
}

static void *burn_alone(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	burn_all();
	_exit(0);
}

static void burn_in_thread(void)
{
	static pthread_t self, thread;
	self = pthread_self();
	pthread_create(&thread, NULL, burn_alone, &self);
	pthread_exit(NULL);
}

static void *burn_second(void *unused)
{
	(void)unused;
	burn(NULL, JOIN(P, second));
	return NULL;
}

static void burn_both(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, burn_second, NULL);
	burn(JOIN(P, first), NULL);
	pthread_join(thread, NULL);
}

static void burn_in_child(pid_t child)
{
	if (child == 0) {
		burn(JOIN(P, first), NULL);
		_exit(0);
	}
	burn(NULL, JOIN(P, second));
	while (wait(NULL) > 0)
		;
}

static void become(char **argv)
{
	int left = atoi(argv[3]);
	if (left <= 0)
		return;
	char count[16];
	snprintf(count, sizeof count, "%d", left - 1);
	execl(argv[4], argv[4], argv[1], argv[2], count, argv[0], (char *)NULL);
	perror(argv[4]);
	exit(1);
}

static void *anonymous_page(void *at)
{
	return mmap(at, PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static void copy_over_itself(burn_fn *fn)
{
	static char copy[PAGE_SIZE];
	memcpy(copy, (void *)fn, PAGE_SIZE);
	memcpy(anonymous_page((void *)fn), copy, PAGE_SIZE);
}

static burn_fn *copied_to_file(burn_fn *fn, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, (void *)fn, PAGE_SIZE) != PAGE_SIZE) {
		perror(path);
		exit(1);
	}
	void *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return (burn_fn *)page;
}

static burn_fn *moved(burn_fn *fn)
{
	void *target = anonymous_page(NULL);
	return (burn_fn *)mremap((void *)fn, PAGE_SIZE, PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
				 target);
}

int main(int argc, char **argv)
{
	seconds = argc > 1 ? atof(argv[1]) : 1;
	/* As an interpreter it gets the script's path here: the last part counts. */
	const char *how = argc > 2 ? basename(argv[2]) : "flat";
	take_name();
	if (strcmp(how, "flat") == 0) {
		burn_all();
	} else if (strcmp(how, "unlinked") == 0) {
		remove_own_file();
		burn_all();
	} else if (strcmp(how, "thread") == 0) {
		burn_in_thread();
	} else if (strcmp(how, "both") == 0) {
		burn_both();
	} else if (strcmp(how, "fork") == 0) {
		burn_in_child(fork());
	} else if (strcmp(how, "vfork") == 0) {
		burn_in_child(vfork());
	} else if (strcmp(how, "exec") == 0 && argc > 4) {
		burn_all();
		become(argv);
	} else if (strcmp(how, "over") == 0) {
		copy_over_itself(JOIN(P, first));
		copy_over_itself(JOIN(P, second));
		burn_all();
	} else if (strcmp(how, "moved") == 0) {
		burn(moved(JOIN(P, first)), NULL);
	} else if (strcmp(how, "copied") == 0) {
		burn((burn_fn *)memcpy(anonymous_page(NULL), (void *)JOIN(P, first), PAGE_SIZE), NULL);
	} else if (strcmp(how, "filed") == 0 && argc > 3) {
		burn(copied_to_file(JOIN(P, first), argv[3]), NULL);
	} else {
		fprintf(stderr, "burn: how? %s\n", how);
		return 2;
	}
	return 0;
}
