/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A function run with a terminal of its own: what it shows there, and how it ends. */
#ifndef TESTS_LIB_TERMINAL_H
#define TESTS_LIB_TERMINAL_H

#include <stddef.h>

/*
 * Runs fn in a child whose standard streams are a terminal of 40 columns. Returns its exit status, or
 * minus the signal it died of; what was shown is in text, cut to size.
 */
int terminal_run(int (*fn)(void), char *text, size_t size);

#endif
