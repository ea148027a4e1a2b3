/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library with one function that takes time, called P_work, on a page of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(x)    #x
#define TEXT(x)	    TEXT_(x)

/* Part of what is loaded, so that build IDs differ. */
const char *const library_name = "library of " TEXT(P);

__attribute__((noinline, aligned(4096))) long JOIN(P, work)(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

__attribute__((aligned(4096))) long JOIN(P, nothing)(void)
{
	return 0;
}

/*
 * For LD_PRELOAD: takes time before the program's main does anything, and tells so as burn does. The
 * command name is then preloaded and BURN_TAG.
 */
__attribute__((constructor)) static void start(void)
{
	const char *seconds = getenv("PRELOAD_SECONDS"), *started = getenv("BURN_STARTED");
	clock_t length = seconds ? (clock_t)(atof(seconds) * CLOCKS_PER_SEC) : 0;
	clock_t begin = clock();
	char name[32];
	const char *tag = getenv("BURN_TAG");
	snprintf(name, sizeof name, "preloaded%s", tag ? tag : "");
	if (length)
		prctl(PR_SET_NAME, name);
	while (clock() - begin < length) {
		if (started && clock() - begin > length / 10) {
			close(open(started, O_CREAT | O_WRONLY, 0600));
			started = NULL;
		}
		JOIN(P, work)(200000);
	}
}
