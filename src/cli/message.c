/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void write_line(const char *before, const char *format, va_list args)
{
	/* One write for the whole line: several processes may share the terminal. */
	char text[1024];
	vsnprintf(text, sizeof text, format, args);
	fprintf(stderr, "%s%s\n", before, text);
}

#define WRITE_LINE(before, format)                                                                 \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, format);                                                            \
		write_line(before, format, args);                                                  \
		va_end(args);                                                                      \
	} while (0)

void message_error(const char *format, ...)
{
	WRITE_LINE("mapwright: ", format);
}

void message_warning(const char *format, ...)
{
	WRITE_LINE("mapwright: warning: ", format);
}

void message_note(const char *format, ...)
{
	WRITE_LINE("mapwright: ", format);
}

void message_hint(const char *format, ...)
{
	WRITE_LINE("hint: ", format);
}

static const char *hint_of(int code)
{
	switch (code) {
	case -EPERM:
	case -EACCES:
		return "run it as root (sudo)";
	case -ENOSPC:
		return "free some room, or write elsewhere with -o FILE";
	case -EMFILE:
		return "raise the limit of open files (ulimit -n)";
	default:
		return NULL;
	}
}

void message_failure(const struct mw_error *e, const char *hint)
{
	message_error("%s", e->msg);
	if (!hint)
		hint = hint_of(e->code);
	if (hint)
		message_hint("%s", hint);
}
