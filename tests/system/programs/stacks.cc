/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: stacks WAY SECONDS COMMAND. Burns so much CPU time in true_leaf(), which is called in one of the ways
 * that make a stack hard to walk. The same way is gone before with warm_leaf(), for a moment, and then it
 * waits: whoever records has met all of the files then. Its name is COMMAND from then on.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION extern "C" __attribute__((noinline))

static double seconds;
static volatile long sink;

static double used(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Burns in short calls, so that the clock's own samples are few. */
#define DEFINE_LEAF(name)                                                                          \
	FUNCTION void name(void)                                                                   \
	{                                                                                          \
		for (long i = 0; i < 200000; i++)                                                  \
			sink += i;                                                                 \
	}
DEFINE_LEAF(true_leaf)
DEFINE_LEAF(warm_leaf)

static void (*leaf)(void) = warm_leaf;

FUNCTION void true_inner(void)
{
	double end = used(CLOCK_THREAD_CPUTIME_ID) + seconds;
	do
		leaf();
	while (used(CLOCK_THREAD_CPUTIME_ID) < end);
	sink++;
}

/* ---- the ways -------------------------------------------------------------------------------- */

FUNCTION void true_plain(void)
{
	true_inner();
	sink++;
}

FUNCTION long true_deep(long n, long a, long b)
{
	long r = n ? true_deep(n - 1, b, a + n) + a : 0;
	if (!n)
		true_inner();
	return r + b;
}

static void plain(void)
{
	true_plain();
}

static void deep(void)
{
	sink += true_deep(500, 1, 2);
}

static volatile sig_atomic_t is_handled;

FUNCTION void true_handler(int)
{
	true_inner();
	is_handled = 1;
}

/* Interrupted anywhere. */
FUNCTION void true_interrupted(void)
{
	while (!is_handled)
		sink++;
}

static void handle(int flags)
{
	struct sigaction action = {};
	action.sa_handler = true_handler;
	action.sa_flags = flags;
	sigaction(SIGALRM, &action, NULL);
	timer_t timer;
	struct itimerspec when = {{0, 0}, {0, 10000000}};
	is_handled = 0;
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) || timer_settime(timer, 0, &when, NULL))
		abort();
	true_interrupted();
}

static void handler(void)
{
	handle(0);
}

static void alternate(void)
{
	static char room[65536];
	stack_t stack = {};
	stack.ss_sp = room;
	stack.ss_size = sizeof room;
	sigaltstack(&stack, NULL);
	handle(SA_ONSTACK);
}

static int is_compared;

FUNCTION int true_compare(const void *a, const void *b)
{
	if (!is_compared++)
		true_inner();
	return *(const int *)a - *(const int *)b;
}

FUNCTION void true_sort(void)
{
	int numbers[] = {3, 1, 2, 5, 4};
	is_compared = 0;
	qsort(numbers, 5, sizeof numbers[0], true_compare);
	sink += numbers[0];
}

struct guard {
	__attribute__((noinline)) ~guard()
	{
		true_inner();
		sink++;
	}
};

FUNCTION void true_throw(int n)
{
	if (n)
		throw n;
}

FUNCTION void true_guarded(void)
{
	guard g;
	true_throw(1);
}

/* The destructor runs while the exception is on its way. */
FUNCTION void true_catch(void)
{
	try {
		true_guarded();
	} catch (int n) {
		sink += n;
	}
}

/* The unwinder of the language itself. */
FUNCTION void true_rethrow(void)
{
	double end = used(CLOCK_THREAD_CPUTIME_ID) + seconds;
	while (used(CLOCK_THREAD_CPUTIME_ID) < end) {
		for (int i = 0; i < 50; i++) {
			try {
				true_throw(1);
			} catch (int n) {
				sink += n;
			}
		}
	}
}

FUNCTION void true_alloca(int n)
{
	for (int i = 0; i < 4; i++) {
		char *room = (char *)alloca(n + i * 24);
		memset(room, i, n);
		sink += room[n / 2];
	}
	true_inner();
	sink++;
}

FUNCTION void true_array(int n)
{
	volatile int numbers[n];
	numbers[n - 1] = n;
	true_inner();
	sink += numbers[n - 1];
}

FUNCTION void true_realigned(int n)
{
	alignas(64) volatile char line[64];
	volatile int numbers[n];
	line[0] = numbers[n - 1] = n;
	if ((uintptr_t)line & 63)
		abort();
	true_inner();
	sink += line[0] + numbers[n - 1];
}

static ucontext_t outside, inside;

FUNCTION void true_coroutine(void)
{
	true_inner();
	sink++;
}

FUNCTION void coroutine(void)
{
	size_t size = 262144;
	char *stack = (char *)malloc(size);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, true_coroutine, 0);
	swapcontext(&outside, &inside);
	free(stack);
}

FUNCTION void *true_thread(void *)
{
	true_inner();
	sink++;
	return NULL;
}

static void thread(void)
{
	pthread_t id;
	pthread_create(&id, NULL, true_thread, NULL);
	pthread_join(id, NULL);
}

FUNCTION void true_vfork(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		true_inner();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	sink++;
}

FUNCTION void true_clock(void)
{
	double end = used(CLOCK_THREAD_CPUTIME_ID) + seconds;
	struct timespec t;
	while (used(CLOCK_THREAD_CPUTIME_ID) < end) {
		for (int i = 0; i < 20000; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
	}
	sink += t.tv_nsec;
}

/* Most of its time is the kernel's. */
FUNCTION void true_calls(void)
{
	static char zeros[65536];
	double end = used(CLOCK_THREAD_CPUTIME_ID) + seconds;
	int fds[2];
	if (pipe(fds))
		abort();
	while (used(CLOCK_THREAD_CPUTIME_ID) < end) {
		for (int i = 0; i < 100; i++)
			sink += write(fds[1], zeros, sizeof zeros) + read(fds[0], zeros, sizeof zeros);
	}
	close(fds[0]);
	close(fds[1]);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"plain", plain},
	{"deep", deep},
	{"handler", handler},
	{"alternate", alternate},
	{"sort", true_sort},
	{"catch", true_catch},
	{"rethrow", true_rethrow},
	{"alloca", [] { true_alloca(100); }},
	{"array", [] { true_array(50); }},
	{"realigned", [] { true_realigned(50); }},
	{"coroutine", coroutine},
	{"thread", thread},
	{"vfork", true_vfork},
	{"clock", true_clock},
	{"calls", true_calls},
};

int main(int argc, char **argv)
{
	for (auto &way : ways) {
		if (argc != 4 || strcmp(way.name, argv[1]))
			continue;
		prctl(PR_SET_NAME, "warming");
		seconds = 0.02;
		way.run();
		usleep(200000);
		prctl(PR_SET_NAME, argv[3]);
		leaf = true_leaf;
		seconds = atof(argv[2]);
		way.run();
		return 0;
	}
	return 2;
}
