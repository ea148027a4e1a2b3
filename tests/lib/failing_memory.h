/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocations that fail on demand, in programs linked with --wrap for malloc, calloc and realloc.
 * What other libraries allocate for themselves is not counted.
 */
#ifndef TESTS_LIB_FAILING_MEMORY_H
#define TESTS_LIB_FAILING_MEMORY_H

#include <stdbool.h>

/* Allocation number n (from 0) fails, and all after it; -1: none. */
void failing_memory_start(long n);
/* Ends it; true if an allocation did fail. */
bool failing_memory_stop(void);

#endif
