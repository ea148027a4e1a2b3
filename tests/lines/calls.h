/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Code that is in another file than the function it is inlined into. */
#ifndef CALLS_H
#define CALLS_H

static inline int from_header(int value)
{
	int sum = 0;
	while (value > 0) {
		sum += value & 3;
		value >>= 2;
	}
	return sum;
}

#endif
