/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* events faults|switches N: causes that many page faults, or context switches. Its command name is events
 * and BURN_TAG. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	char name[32];
	const char *tag = getenv("BURN_TAG");
	snprintf(name, sizeof name, "events%s", tag ? tag : "");
	prctl(PR_SET_NAME, name);
	if (argc > 1 && strcmp(argv[1], "faults") == 0) {
		size_t size = (size_t)n * 4096;
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(p, size, MADV_NOHUGEPAGE);
		for (long i = 0; i < n; i++)
			p[i * 4096] = 1;
	} else {
		struct timespec moment = {.tv_nsec = 1000};
		for (long i = 0; i < n; i++)
			nanosleep(&moment, NULL);
	}
	return 0;
}
