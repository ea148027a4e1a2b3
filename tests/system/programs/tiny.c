/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program of one page that burns a little CPU time and ends: the smallest thing that can be sampled.
 * Its function is P_tiny.
 */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)

__attribute__((noinline)) static long JOIN(P, tiny)(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

void _start(void);
void _start(void)
{
	long status = JOIN(P, tiny)(150000) & 0;
	__asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
	__builtin_unreachable();
}
