/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values as people write them on a command line. The whole text must be the value. All return 0,
 * -EINVAL if it is not of this kind, or -ERANGE if it does not fit.
 */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include <stdint.h>

/* "99", "4k", "1.5M": powers of 1000. */
int value_read_number(const char *text, uint64_t *ret);
/* "64K", "8M", "4096B": powers of 1024. A bare number counts `unit` bytes. */
int value_read_bytes(const char *text, uint64_t unit, uint64_t *ret);
/* "10", "10s", "0.5s", "500ms", "2m": to nanoseconds; a bare number is seconds. */
int value_read_time(const char *text, uint64_t *ret);
/* "0.5", "12%", from 0 to 100. */
int value_read_percent(const char *text, double *ret);

#endif
