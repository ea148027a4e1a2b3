/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include <stdio.h>

/* How much of text stands on a line: up to the last space that fits into room, one word at least. */
size_t wrap_line(const char *text, size_t room);
/*
 * Writes text, broken at spaces so that each line stands `indent` columns in and ends by `width`.
 * `at` is the column where the cursor is; beyond the indentation, the text starts on a new line.
 */
void wrap_text(FILE *out, const char *text, int at, int indent, int width);

#endif
