/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct mw_error *e, int code, uint64_t offset, const char *format, va_list args)
{
	e->code = code;
	e->offset = offset;
	vsnprintf(e->msg, sizeof e->msg, format, args);
}

static void append(struct mw_error *e, const char *text)
{
	size_t n = strlen(e->msg);
	snprintf(e->msg + n, sizeof e->msg - n, "%s", text);
}

int error_set(struct mw_error *e, int code, const char *format, ...)
{
	if (!e)
		return code;
	va_list args;
	va_start(args, format);
	fill(e, code, MW_NO_OFFSET, format, args);
	va_end(args);
	return code;
}

int error_at(struct mw_error *e, int code, uint64_t offset, const char *format, ...)
{
	if (!e)
		return code;
	va_list args;
	va_start(args, format);
	fill(e, code, offset, format, args);
	va_end(args);
	char place[40];
	snprintf(place, sizeof place, " at byte %llu", (unsigned long long)offset);
	append(e, place);
	return code;
}

int error_errno(struct mw_error *e, int code, const char *format, ...)
{
	if (!e)
		return code;
	va_list args;
	va_start(args, format);
	fill(e, code, MW_NO_OFFSET, format, args);
	va_end(args);
	char cause[120];
	append(e, ": ");
	append(e, strerror_r(-code, cause, sizeof cause));
	return code;
}

int error_prefix(struct mw_error *e, int code, const char *format, ...)
{
	if (!e)
		return code;
	char inner[sizeof e->msg];
	memcpy(inner, e->msg, sizeof inner);
	uint64_t offset = e->offset;
	va_list args;
	va_start(args, format);
	fill(e, code, offset, format, args);
	va_end(args);
	append(e, ": ");
	append(e, inner);
	return code;
}
