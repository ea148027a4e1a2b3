/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * made SECONDS HOW [ROOT]: code made at run time, named by a perf map. What runs is always called
 * under_SIDE, and so may have names of that side only.
 *
 *	plain      a map of both functions, one with spaces in its name
 *	brief      the same, and the map is removed at the end
 *	odd        the same, among lines that make no sense, some with a wrong name for the place
 *	replaced   a function is made in the place of another, and announced behind it
 *	rewritten  ... in a map that is written anew
 *	renamed    ... in a map that takes the place of the old one
 *	late       a function that nobody announces, then another one in its place, announced
 *	swapped    two functions change places, again and again
 *	silent     no map
 *	fifo link directory foreign endless
 *		   the map is none: a name in it would be wrong
 *	chroot     a wrong map outside of ROOT, a right one in it
 *	inner      a wrong map by the outer number, a right one by the number in the PID namespace
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BODY	  __attribute__((noinline, noclone, aligned(256)))
#define CODE_SIZE 256

typedef long (*work_fn)(long n);

BODY long sum(long n)
{
	volatile long s = 0;
	for (long i = 0; i < n; i++)
		s += i;
	return s;
}

BODY long mix(long n)
{
	volatile long s = 1;
	for (long i = 0; i < n; i++)
		s ^= i * 3;
	return s;
}

static double seconds;
static char *memory;
static char map_name[64];

static double cpu_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(work_fn work, double share)
{
	for (double end = cpu_time() + seconds * share; cpu_time() < end;)
		work(200000);
}

/* Not static: their names are looked for in the stacks. A call that is not the last thing done. */
#define UNDER(side)                                                                                \
	BODY void under_##side(char *place, double share)                                          \
	{                                                                                          \
		burn((work_fn)place, share);                                                       \
		__asm__ volatile("");                                                              \
	}
UNDER(right)
UNDER(other)
UNDER(wrong)

static void make(char *place, work_fn code) { memcpy(place, (void *)code, CODE_SIZE); }

static void name_map(pid_t pid) { snprintf(map_name, sizeof map_name, "/tmp/perf-%d.map", pid); }

__attribute__((format(printf, 2, 3))) static void write_map(const char *mode, const char *format,
							    ...)
{
	va_list args;
	FILE *f = fopen(map_name, mode);
	if (!f)
		err(1, "%s", map_name);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	if (fclose(f) != 0)
		err(1, "%s", map_name);
}

static void announce(const char *mode, const char *place, const char *name)
{
	write_map(mode, "%lx %x %s\n", (long)place, CODE_SIZE, name);
}

static void run_plain(void)
{
	char *second = memory + 4096;
	make(memory, sum);
	make(second, mix);
	announce("a", memory, "right_first");
	write_map("a", "0x%lx 0x%x right second: of (many) words", (long)second, CODE_SIZE);
	write_map("a", "\n");
	under_right(memory, 0.5);
	under_right(second, 0.5);
}

static void run_odd(void)
{
	write_map("a",
		  "\n \n%lx\n%lx 100\n%lx 0 wrong_first\nzz 10 wrong_first\n%lx 100wrong_first\n",
		  (long)memory, (long)memory, (long)memory, (long)memory);
	write_map("a", "%lx ffffffffffffffff wrong_first\n-%lx 100 wrong_first\n", (long)memory,
		  (long)memory);
	write_map("a", "%lx 1000 wrong_first\n",
		  (long)memory); /* and this is the one that is replaced */
	run_plain();
}

static void run_replaced(const char *how)
{
	make(memory, sum);
	announce("w", memory, "right_first");
	under_right(memory, 0.5);
	make(memory, mix);
	if (strcmp(how, "renamed") == 0) {
		char real_name[64];
		memcpy(real_name, map_name, sizeof real_name);
		strcat(map_name, ".new");
		announce("w", memory, "other_first");
		if (rename(map_name, real_name) < 0)
			err(1, "rename");
		memcpy(map_name, real_name, sizeof map_name);
	} else {
		announce(strcmp(how, "rewritten") == 0 ? "w" : "a", memory, "other_first");
	}
	under_other(memory, 0.5);
}

static void run_late(void)
{
	make(memory, sum);
	under_wrong(memory, 0.5);
	make(memory, mix);
	announce("w", memory, "right_first");
	under_right(memory, 0.5);
}

static void run_swapped(void)
{
	for (int i = 0; i < 10; i++) {
		char *first = memory + (i & 1) * 4096, *second = memory + (~i & 1) * 4096;
		make(first, sum);
		make(second, mix);
		announce("a", first, "right_first");
		announce("a", second, "other_first");
		under_right(first, 0.05);
		under_other(second, 0.05);
	}
}

static void run_none(const char *how)
{
	make(memory, sum);
	if (strcmp(how, "fifo") == 0) {
		mkfifo(map_name, 0600);
	} else if (strcmp(how, "directory") == 0) {
		mkdir(map_name, 0700);
	} else if (strcmp(how, "link") == 0) {
		char real_name[64];
		memcpy(real_name, map_name, sizeof real_name);
		strcat(map_name, ".real");
		announce("w", memory, "right_first");
		if (symlink(map_name, real_name) < 0)
			err(1, "symlink");
	} else if (strcmp(how, "silent") != 0) {
		announce("w", memory, "right_first");
		if (strcmp(how, "foreign") == 0 && chown(map_name, 4711, 4711) < 0)
			err(1, "chown");
		if (strcmp(how, "endless") == 0 && truncate(map_name, (off_t)1 << 42) < 0)
			err(1, "truncate");
	}
	under_wrong(memory, 1);
	remove(map_name);
	name_map(getpid());
	remove(map_name);
}

static void run_in_root(const char *root)
{
	make(memory, sum);
	announce("w", memory, "wrong_first");
	if (chroot(root) < 0 || chdir("/") < 0)
		err(1, "chroot");
	announce("w", memory, "right_first");
	under_right(memory, 1);
}

static void run_inner(void)
{
	int go[2];
	char c = 0;
	make(memory, sum);
	if (unshare(CLONE_NEWPID) < 0 || pipe(go) < 0)
		err(1, "unshare");
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		name_map(getpid());
		announce("w", memory, "right_first");
		under_right(memory, 1);
		unlink(map_name);
		_exit(0);
	}
	name_map(child);
	announce("w", memory, "wrong_first");
	if (write(go[1], &c, 1) != 1)
		err(1, "write");
	wait(NULL);
}

int main(int argc, char **argv)
{
	char name[16];
	if (argc < 3)
		errx(2, "usage: made SECONDS HOW [ROOT]");
	const char *how = argv[2], *tag = getenv("BURN_TAG");
	snprintf(name, sizeof name, "made%s", tag ? tag : "");
	prctl(PR_SET_NAME, name);
	seconds = atof(argv[1]);
	memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	name_map(getpid());
	if (strcmp(how, "plain") == 0 || strcmp(how, "brief") == 0)
		run_plain();
	else if (strcmp(how, "odd") == 0)
		run_odd();
	else if (strcmp(how, "late") == 0)
		run_late();
	else if (strcmp(how, "swapped") == 0)
		run_swapped();
	else if (strcmp(how, "chroot") == 0 && argc > 3)
		run_in_root(argv[3]);
	else if (strcmp(how, "inner") == 0)
		run_inner();
	else if (how[0] == 'r')
		run_replaced(how);
	else
		run_none(how);
	if (strcmp(how, "brief") == 0)
		unlink(map_name);
	return 0;
}
