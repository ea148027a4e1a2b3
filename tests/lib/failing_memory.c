/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/failing_memory.h"

#include <stddef.h>

static long left = -1;
static bool has_failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void failing_memory_start(long n)
{
	left = n;
	has_failed = false;
}

bool failing_memory_stop(void)
{
	left = -1;
	return has_failed;
}

static bool fails(void)
{
	if (left < 0)
		return false;
	if (left == 0) {
		has_failed = true;
		return true;
	}
	left--;
	return false;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}
