/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What people read on standard error, in one shape:
 *
 *	mapwright: old.mwp: not a profile: starts with "%PDF"
 *	hint: mapwright record makes one
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <mapwright/mapwright.h>

/* Something failed. The text names the file first, where there is one. */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The run goes on, with less or otherwise than asked. */
void message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Plain news, without a judgement. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What can be done about the line before. */
void message_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A failure that the library reported. `hint` may be NULL: then one by the error code, if any. */
void message_failure(const struct mw_error *e, const char *hint);

#endif
