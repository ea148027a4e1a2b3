/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output/answer.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "output/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define DEMANGLED_MAX 8192

/* Names kept in demangled form: a slot each, the later one wins. */
#define NAMES	  32768
#define NAMES_MAX ((size_t)8 << 20) /* bytes of all; then all are forgotten */

struct kept_name {
	const char *mangled;
	char *readable; /* owned; NULL: as it is */
};

struct answer_writer {
	struct answer_options o;
	size_t bytes;
	struct kept_name names[NAMES];
};

int answer_writer_new(const struct answer_options *options, struct answer_writer **ret)
{
	struct answer_writer *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->o = *options;
	*ret = w;
	return 0;
}

static void forget_names(struct answer_writer *w)
{
	for (size_t i = 0; i < NAMES; i++)
		free(w->names[i].readable);
	memset(w->names, 0, sizeof w->names);
	w->bytes = 0;
}

void answer_writer_free(struct answer_writer *w)
{
	if (!w)
		return;
	forget_names(w);
	free(w);
}

static const char *readable_name(struct answer_writer *w, const char *name)
{
	/* What is not mangled is told at once: C++, D and Rust names begin with an underscore. */
	if (!w->o.demangle || name[0] != '_')
		return name;
	struct kept_name *kept = &w->names[hash_u64((uintptr_t)name) % NAMES];
	if (kept->mangled == name)
		return kept->readable ? kept->readable : name;
	if (kept->readable)
		w->bytes -= strlen(kept->readable) + 1;
	free(take_ptr(kept->readable));
	char readable[DEMANGLED_MAX];
	if (mw_demangle(name, readable, sizeof readable))
		kept->readable = strdup(readable);
	if (kept->readable)
		w->bytes += strlen(kept->readable) + 1;
	kept->mangled = name;
	return kept->readable ? kept->readable : name;
}

static void put(struct buffer *b, const char *text)
{
	buffer_bytes(b, text, strlen(text));
}

static void put_number(struct buffer *b, uint64_t value, unsigned base, int digits)
{
	char text[24];
	char *at = text + sizeof text;
	do {
		*--at = "0123456789abcdef"[value % base];
		value /= base;
		digits--;
	} while (value || digits > 0);
	buffer_bytes(b, at, (size_t)(text + sizeof text - at));
}

/* Whether eight bytes may hold one that is not printable ASCII (it may be wrong about a plain one). */
static bool looks_odd(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	return (word | (word - ones * 0x20) | (word + ones)) & ones * 0x80;
}

/* A name or path: nearly all are plain ASCII, and only the rest is looked at closely. */
static void put_escaped(struct buffer *b, const char *text)
{
	size_t n = strlen(text), i = 0;
	bool odd = false;
	for (; i + 8 <= n; i += 8) {
		uint64_t word;
		memcpy(&word, text + i, 8);
		odd |= looks_odd(word);
	}
	for (; i < n; i++)
		odd |= (uint8_t)(text[i] - 0x20) >= 0x5f;
	if (odd)
		text_escape(b, text);
	else
		buffer_bytes(b, text, n);
}

static void put_file(struct buffer *b, const struct mw_location *l, void (*put_text)(struct buffer *b, const char *text))
{
	if (l->directory && *l->directory) {
		put_text(b, l->directory);
		if (l->directory[strlen(l->directory) - 1] != '/')
			put(b, "/");
	}
	put_text(b, l->file);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_location(struct answer_writer *w, const struct mw_location *l, struct buffer *b)
{
	put_escaped(b, readable_name(w, l->name));
	if (l->file) {
		put(b, " at ");
		put_file(b, l, put_escaped);
		put(b, ":");
		if (l->line)
			put_number(b, l->line, 10, 1);
		else
			put(b, "?");
	}
	put(b, "\n");
}

static void write_text(struct answer_writer *w, const struct answer *a, struct buffer *b)
{
	put(b, "0x");
	put_number(b, a->asked, 16, 1);
	put(b, ": ");
	if (!a->n) {
		char reason[24];
		put(b, "?? (");
		put(b, text_reason((uint8_t)a->chain[0].reason, reason, sizeof reason));
		put(b, ")\n");
	}
	for (size_t i = 0; i < a->n; i++) {
		if (i)
			put(b, " (inlined by) ");
		text_location(w, &a->chain[i], b);
	}
}

/* ---- addr2line ------------------------------------------------------------------------------- */

static void addr2line_location(struct answer_writer *w, const struct mw_location *l,
			       struct buffer *b)
{
	put(b, readable_name(w, l->name));
	put(b, " at ");
	if (l->file)
		put_file(b, l, put);
	else
		put(b, "??");
	put(b, ":");
	if (l->line)
		put_number(b, l->line, 10, 1);
	else
		put(b, "?");
	put(b, "\n");
}

static void write_addr2line(struct answer_writer *w, const struct answer *a, struct buffer *b)
{
	put(b, "0x");
	put_number(b, a->asked, 16, w->o.is_32bit ? 8 : 16);
	put(b, ": ");
	if (!a->n)
		put(b, "?? ??:0\n");
	for (size_t i = 0; i < a->n; i++) {
		if (i)
			put(b, " (inlined by) ");
		addr2line_location(w, &a->chain[i], b);
	}
}

/* ---- json ------------------------------------------------------------------------------------ */

static void put_json(struct buffer *b, const char *s)
{
	while (*s) {
		const char *plain = s;
		while ((uint8_t)(*s - 0x20) < 0x5f && *s != '"' && *s != '\\')
			s++;
		buffer_bytes(b, plain, (size_t)(s - plain));
		if (!*s)
			break;
		size_t n = text_utf8_length(s);
		if (!n)
			put(b, "\\ufffd");
		else if (*s == '"' || *s == '\\')
			buffer_printf(b, "\\%c", *s);
		else if (n == 1)
			buffer_printf(b, "\\u%04x", (uint8_t)*s);
		else
			buffer_bytes(b, s, n);
		s += n ? n : 1;
	}
}

static void json_text(struct buffer *b, const char *key, const char *text)
{
	put(b, ",\"");
	put(b, key);
	put(b, "\":\"");
	put_json(b, text);
	put(b, "\"");
}

static void json_hex(struct buffer *b, const char *key, uint64_t value)
{
	put(b, ",\"");
	put(b, key);
	put(b, "\":\"0x");
	put_number(b, value, 16, 1);
	put(b, "\"");
}

static void json_location(struct answer_writer *w, const struct mw_location *l, struct buffer *b)
{
	put(b, "{\"name\":\"");
	put_json(b, readable_name(w, l->name));
	put(b, "\"");
	json_text(b, "symbol", l->name);
	if (l->file) {
		put(b, ",\"file\":\"");
		put_file(b, l, put_json);
		put(b, "\"");
	}
	if (l->line) {
		put(b, ",\"line\":");
		put_number(b, l->line, 10, 1);
	}
	if (l->is_inlined)
		put(b, ",\"inlined\":true");
	else
		json_hex(b, "start", l->start);
	put(b, "}");
}

static void write_json(struct answer_writer *w, const struct answer *a, struct buffer *b)
{
	put(b, "{\"address\":\"0x");
	put_number(b, a->asked, 16, 1);
	put(b, "\"");
	if (a->id && a->id->kind != MW_FILE_ID_NONE) {
		char id[MW_FILE_ID_TEXT_MAX];
		mw_file_id_to_text(a->id, id, sizeof id);
		json_text(b, "file_id", id);
	}
	if (a->offset != UINT64_MAX)
		json_hex(b, "offset", a->offset);
	if (a->path && *a->path)
		json_text(b, "path", a->path);
	if (a->module)
		json_text(b, "module", a->module);
	put(b, ",\"frames\":[");
	for (size_t i = 0; i < a->n; i++) {
		if (i)
			put(b, ",");
		json_location(w, &a->chain[i], b);
	}
	put(b, "]");
	if (!a->n) {
		char reason[24];
		json_text(b, "reason", text_reason((uint8_t)a->chain[0].reason, reason, sizeof reason));
	}
	put(b, "}\n");
}

void answer_write(struct answer_writer *w, const struct answer *answer, struct buffer *b)
{
	static void (*const writers[])(struct answer_writer *w, const struct answer *a,
				       struct buffer *b) = {
		[ANSWER_TEXT] = write_text,
		[ANSWER_ADDR2LINE] = write_addr2line,
		[ANSWER_JSON] = write_json,
	};
	struct answer a = *answer;
	struct mw_location alone;
	if (w->o.no_inline && a.n > 1) {
		/* What the code is there, in terms of the function: its innermost place. */
		alone = a.chain[a.n - 1];
		a.chain = &alone;
		a.n = 1;
	}
	writers[w->o.format](w, &a, b);
}
