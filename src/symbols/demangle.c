/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Demangling with libiberty, of names from files that anybody wrote.
 *
 * For C++ and Rust its depth is limited there. Its output is not: a name of 200 bytes can stand for one of many
 * gigabytes, by naming what it has built so far twice, again and again. So the text is taken
 * piece by piece, and the call is left as soon as there is more of it than any real name has. For D
 * see demangle_d.h.
 */
#include "symbols/demangle_d.h"

#include "base/cleanup.h"

#include <mapwright/mapwright.h>

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#define MANGLED_MAX   8192
#define DEMANGLED_MAX (256 * 1024)

struct output {
	char *buf;
	size_t size;
	size_t n; /* of the whole text */
	jmp_buf leave;
};

/*
 * Both demanglers hold no memory of their own between pieces, but for the Rust one while it writes
 * the characters of a Punycode name, one by one. Text that grows without bound has separators of two
 * ASCII characters in it, so leaving at one of those leaks nothing.
 */
static void take_piece(const char *text, size_t n, void *data)
{
	struct output *out = data;
	if (out->n > DEMANGLED_MAX && n >= 2 && !(text[0] & 0x80))
		longjmp(out->leave, 1);
	if (n && out->n + 1 < out->size) { /* an empty piece may come as NULL */
		size_t part = MIN(n, out->size - 1 - out->n);
		memcpy(out->buf + out->n, text, part);
	}
	out->n += n;
}

static bool is_rust_v0(const char *name)
{
	return name[0] == '_' && name[1] == 'R';
}

/* Also Rust's legacy names, which look like C++ ones. */
static bool is_itanium(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "__Z", 3) == 0 ||
	       strncmp(name, "_GLOBAL_", 8) == 0;
}

static bool demangle(const char *name, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	if (setjmp(out->leave))
		return false;
	if (rust_demangle_callback(name, options, take_piece, out) && out->n)
		return true;
	out->n = 0;
	return is_itanium(name) && cplus_demangle_v3_callback(name, options, take_piece, out) &&
	       out->n;
}

static bool demangle_d(const char *name, size_t length, struct output *out)
{
	if (length > MANGLED_MAX || !demangle_d_is_cheap(name, length))
		return false;
	_cleanup_free_ char *text = dlang_demangle(name, 0);
	if (!text || !text[0])
		return false;
	out->n = strlen(text);
	if (out->size)
		memcpy(out->buf, text, MIN(out->n, out->size - 1));
	return true;
}

int mw_demangle(const char *name, char *buf, size_t size)
{
	struct output out = {.buf = buf, .size = size};
	size_t length = strnlen(name, MANGLED_MAX + 1);
	bool ok = (is_rust_v0(name) || is_itanium(name)) && length <= MANGLED_MAX &&
		  demangle(name, &out);
	if (!ok && demangle_is_d(name))
		ok = demangle_d(name, length, &out);
	if (!ok) {
		out.n = strlen(name);
		if (size)
			memcpy(buf, name, MIN(out.n, size - 1));
	}
	if (size)
		buf[MIN(out.n, size - 1)] = '\0';
	return ok;
}
