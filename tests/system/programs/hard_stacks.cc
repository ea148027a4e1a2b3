/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: hard_stacks: spins for ever, in turn at the end of every kind of stack that is hard to walk: deep
 * recursion, a signal handler (also on a stack of its own), a callback in libc, an exception in flight,
 * alloca and arrays of variable size, a realigned stack, a coroutine on the heap, a thread, a child of vfork.
 */
#include <alloca.h>
#include <algorithm>
#include <immintrin.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE extern "C" __attribute__((noinline))

static volatile unsigned long sum;

NOINLINE void spin(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sum = sum + i;
}

NOINLINE int deep(int n)
{
	if (n == 0) {
		spin();
		return 1;
	}
	int below = deep(n - 1);
	sum = sum + (unsigned long)below;
	return below + n;
}

static void handler(int)
{
	spin();
}

NOINLINE void in_handler(int flags)
{
	static char stack[65536];
	stack_t alternate = {};
	alternate.ss_sp = stack;
	alternate.ss_size = sizeof stack;
	sigaltstack(&alternate, NULL);
	struct sigaction action = {};
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sum = sum + 1;
}

/* Interrupted at any instruction, not in a system call. */
NOINLINE void in_alarm(void)
{
	signal(SIGVTALRM, handler);
	struct itimerval timer = {{0, 0}, {0, 1000}};
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	spin();
	spin();
}

static int compare(const void *a, const void *b)
{
	static int calls;
	if (++calls % 16 == 0)
		spin();
	return *(const int *)a - *(const int *)b;
}

NOINLINE void in_callback(void)
{
	int numbers[12];
	for (int i = 0; i < 12; i++)
		numbers[i] = (i * 7) % 12;
	qsort(numbers, 12, sizeof numbers[0], compare);
	sum = sum + (unsigned long)numbers[3];
}

struct spinner {
	~spinner()
	{
		spin();
	}
};

NOINLINE void throws(int n)
{
	spinner s;
	if (n == 0)
		throw 7;
	throws(n - 1);
	sum = sum + 1;
}

NOINLINE void in_exception(void)
{
	try {
		throws(5);
	} catch (int n) {
		spin();
		sum = sum + (unsigned long)n;
	}
}

NOINLINE int in_variable(int n)
{
	char array[n];
	memset(array, n, (size_t)n);
	char *more = (char *)alloca((size_t)n * 2);
	memset(more, n, (size_t)n * 2);
	spin();
	return array[n / 2] + more[n];
}

NOINLINE int in_realigned(int n)
{
	alignas(64) char array[256];
	memset(array, n, sizeof array);
	char *more = (char *)alloca((size_t)n);
	memset(more, n, (size_t)n);
	spin();
	return array[n & 255] + more[0];
}

static ucontext_t outside, inside;

static void coroutine(void)
{
	deep(3);
	swapcontext(&inside, &outside);
}

NOINLINE void in_coroutine(void)
{
	static const size_t size = 262144;
	char *stack = (char *)malloc(size);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	free(stack);
}

NOINLINE void in_thread(void)
{
	std::thread thread([] { deep(20); });
	thread.join();
}

NOINLINE void in_vfork(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		spin();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(void)
{
	for (;;) {
		deep(500);
		in_handler(0);
		in_handler(SA_ONSTACK);
		in_alarm();
		in_callback();
		in_exception();
		sum = sum + (unsigned long)in_variable(1000);
		sum = sum + (unsigned long)in_realigned(1000);
		in_coroutine();
		in_thread();
		in_vfork();
	}
}
