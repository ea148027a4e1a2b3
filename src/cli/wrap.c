/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/wrap.h"

#include "base/cleanup.h"

#include <string.h>

size_t wrap_line(const char *text, size_t room)
{
	size_t n = 0;
	for (size_t i = strcspn(text, " ");; i += 1 + strcspn(text + i + 1, " ")) {
		if (n && i > room)
			return n;
		n = i;
		if (!text[i])
			return n;
	}
}

void wrap_text(FILE *out, const char *text, int at, int indent, int width)
{
	size_t room = (size_t)MAX(width - indent, 20);
	if (at > indent) {
		fputc('\n', out);
		at = 0;
	}
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = wrap_line(text, room);
		fprintf(out, "%*s%.*s\n", indent - at, "", (int)n, text);
		text += n;
		at = 0;
	}
}
