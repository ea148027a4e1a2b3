/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output/text.h"

#include <stdio.h>
#include <string.h>

/* A demangled name is cut there. */
#define DEMANGLED_MAX 8192

/* The code point of n bytes that are known to begin well; bad ones give a value that is refused. */
static uint32_t utf8_value(const uint8_t *s, size_t n)
{
	uint32_t value = s[0] & (0xff >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		value = value << 6 | (s[i] & 0x3f);
	}
	return value;
}

size_t text_utf8_length(const char *text)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *s = (const uint8_t *)text;
	if (s[0] < 0x80)
		return s[0] != 0;
	size_t n = (s[0] & 0xe0) == 0xc0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : (s[0] & 0xf8) == 0xf0 ? 4 : 0;
	if (!n)
		return 0;
	uint32_t value = utf8_value(s, n);
	bool surrogate = value >= 0xd800 && value < 0xe000;
	return value < lowest[n] || value > 0x10ffff || surrogate ? 0 : n;
}

/* Control characters, line and paragraph separators, and those that change the direction. */
static bool is_harmful(const char *s, size_t n)
{
	uint8_t first = (uint8_t)s[0];
	if (n == 1)
		return first < 0x20 || first == 0x7f;
	uint32_t value = utf8_value((const uint8_t *)s, n);
	return value < 0xa0 || (value >= 0x2028 && value <= 0x202e) ||
	       (value >= 0x2066 && value <= 0x2069) || value == 0x200e || value == 0x200f;
}

void text_escape(struct buffer *b, const char *s)
{
	while (*s) {
		size_t n = text_utf8_length(s);
		if (n && !is_harmful(s, n)) {
			buffer_bytes(b, s, n);
			s += n;
			continue;
		}
		for (n = n ? n : 1; n; n--)
			buffer_printf(b, "\\x%02x", (uint8_t)*s++);
	}
}

size_t text_columns(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

const char *text_reason(uint8_t reason, char *buf, size_t size)
{
	const char *name = mw_reason_name(reason);
	if (name)
		return name;
	snprintf(buf, size, "reason-%u", reason);
	return buf;
}

/* What is in brackets is no file (the kernel, the vdso); a file of such a name keeps its slash. */
const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	if (name != path && *name == '[')
		name--;
	return *name ? name : "[no path]";
}

void text_demangle(struct buffer *b, const char *name)
{
	char readable[DEMANGLED_MAX];
	buffer_printf(b, "%s", mw_demangle(name, readable, sizeof readable) ? readable : name);
}
