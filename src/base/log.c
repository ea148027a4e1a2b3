/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void log_debug(const struct log *log, const char *format, ...)
{
	if (!log_wanted(log))
		return;
	char line[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	log->write(log->data, line);
}
