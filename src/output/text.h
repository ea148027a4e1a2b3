/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text for terminals and line-based tools. Names come from files that anyone made: whatever would
 * break a line, move the cursor or is no UTF-8 is written as \xHH, byte by byte.
 */
#ifndef OUTPUT_TEXT_H
#define OUTPUT_TEXT_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Bytes of the UTF-8 character at s (ends in NUL), 0 if it is none. */
size_t text_utf8_length(const char *s);
/* Appends s, escaped. */
void text_escape(struct buffer *b, const char *s);
/* Columns that an escaped text takes: its characters (wide ones count as one). */
size_t text_columns(const char *s);

/* "file-gone"; "reason-99" for one of a later version. buf must have 24 bytes or more. */
const char *text_reason(uint8_t reason, char *buf, size_t size);
/* The last part of a path: what a file is called in tables. Never empty. */
const char *text_base_name(const char *path);
/* Appends the demangled name, not escaped. */
void text_demangle(struct buffer *b, const char *name);

#endif
