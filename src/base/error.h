/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filling the caller's struct mw_error. All of these take NULL and do nothing then but return. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <mapwright/mapwright.h>

/* Fills *e and returns code, so that a failing function ends in `return error_set(...)`. */
int error_set(struct mw_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with the byte of the input at fault; " at byte OFFSET" is added to the text. */
int error_at(struct mw_error *e, int code, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* "TEXT: strerror". `code` is -errno. */
int error_errno(struct mw_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "TEXT: " before what an inner function wrote; returns e->code, or code without an e. */
int error_prefix(struct mw_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
