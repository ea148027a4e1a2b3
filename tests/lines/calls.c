/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* C whose optimized code has inlined calls, several ranges of one, cold parts, and nested functions. */
#include "calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned sink;

static inline unsigned mix(unsigned value, unsigned by)
{
	value ^= value >> 16;
	value *= by | 1;
	return value ^ value >> 13;
}

static inline unsigned twice(unsigned value)
{
	return mix(mix(value, 0x85ebca6b), 0xc2b2ae35);
}

__attribute__((cold, noinline)) static void complain(const char *why)
{
	fprintf(stderr, "calls: %s\n", why);
	sink++;
}

static inline __attribute__((always_inline)) void expect(int holds, const char *why)
{
	if (__builtin_expect(!holds, 0)) {
		complain(why);
		if (sink > 1000)
			exit(3);
	}
}

unsigned walk(const unsigned *values, int n)
{
	unsigned sum = 0;
	for (int i = 0; i < n; i++) {
		expect(values[i] != 7, "a seven");
		sum += twice(values[i]);
		if (i % 5 == 0)
			sum ^= mix(sum, values[i]);
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return (x > y) - (x < y);
}

static unsigned median(unsigned *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, compare);
	return values[n / 2];
}

static jmp_buf back;

__attribute__((noinline)) static void leave(int value)
{
	if (value & 1)
		longjmp(back, value);
	sink += (unsigned)from_header(value);
}

unsigned sum_of(int n, ...)
{
	va_list list;
	unsigned sum = 0;
	va_start(list, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(list, unsigned);
	va_end(list);
	return sum;
}

#if defined(__GNUC__) && !defined(__clang__)
unsigned nested(unsigned n)
{
	unsigned total = 0;
	void add(unsigned value)
	{
		total += mix(value, n);
		if (value > 3)
			expect(total != 4, "a four");
	}
	for (unsigned i = 0; i < n; i++)
		add(i);
	return total;
}
#else
unsigned nested(unsigned n)
{
	return mix(n, n);
}
#endif

int choose(int kind, int value)
{
	switch (kind) {
	case 0:
		return value + 1;
	case 1:
		return value * (int)mix((unsigned)value, 3);
	case 2:
		return (int)sum_of(3, value, kind, sink);
	case 3:
		leave(value);
		return value - 1;
	case 9:
		return from_header(value) + from_header(kind);
	default:
		abort();
	}
}

int main(int argc, char **argv)
{
	unsigned values[64];
	for (int i = 0; i < 64; i++)
		values[i] = mix((unsigned)i, (unsigned)argc);
	sink = walk(values, 64) + median(values, 64) + nested((unsigned)argc);
	if (setjmp(back) == 0)
		sink += (unsigned)choose(argc, (int)strlen(argv[0]));
	return sink == 1;
}
