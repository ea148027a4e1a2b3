/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program without a library, for machines that this one has none of. */
typedef unsigned u32;

static inline u32 mix(u32 value, u32 by)
{
	value ^= value >> 16;
	value *= by | 1;
	return value ^ value >> 13;
}

static inline u32 twice(u32 value)
{
	return mix(mix(value, 0x85eb), 0xc2b2);
}

volatile u32 sink;

__attribute__((noinline)) void cold(u32 value)
{
	sink = value;
}

u32 walk(const u32 *values, int n)
{
	u32 sum = 0;
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(values[i] == 7, 0))
			cold((u32)i);
		sum += twice(values[i]);
		if (i % 5 == 0)
			sum ^= mix(sum, values[i]);
	}
	return sum;
}

u32 other(u32 n)
{
	u32 sum = n;
	while (n--)
		sum = twice(sum) + n;
	return sum;
}

int _start(void)
{
	return (int)other(walk((const u32 *)0x1000, 3));
}
