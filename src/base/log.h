/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The debug log: why a candidate was rejected, which probe failed. The library has no globals and
 * never prints, so whoever wants a log passes one down; NULL means nobody listens.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

struct log {
	void (*write)(void *data, const char *line); /* one line, without its end */
	void *data;
};

static inline bool log_wanted(const struct log *log)
{
	return log && log->write;
}

/* Formats and hands on one line, cut at 1 KiB. */
void log_debug(const struct log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
