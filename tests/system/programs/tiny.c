/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program of one page that burns a little CPU time and ends: the smallest thing that can be sampled. */
__attribute__((noinline)) static long right_tiny(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

void _start(void);
void _start(void)
{
	long status = right_tiny(150000) & 0;
	__asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
	__builtin_unreachable();
}
