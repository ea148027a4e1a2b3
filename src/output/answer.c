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

/* What a function is called instead of its name; see is_cplusplus(). */
struct renamed {
	uint64_t key;
	const char *name; /* NULL: the place is free */
};

/* Source files in written form. */
#define FILES	  4096
#define FILES_MAX ((size_t)1 << 20) /* bytes of all; then all are forgotten */

struct kept_file {
	const char *directory;
	const char *file;
	size_t at; /* in the texts */
	size_t n;
};

struct answer_writer {
	struct answer_options o;
	size_t bytes;
	struct kept_file files[FILES];
	struct buffer file_texts;
	struct renamed *renamed; /* owned */
	size_t renamed_size;
	size_t n_renamed;
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
	free(w->renamed);
	buffer_deinit(&w->file_texts);
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

static void put_file_text(struct buffer *b, const struct mw_location *l, void (*put_text)(struct buffer *b, const char *text))
{
	if (l->directory && *l->directory) {
		put_text(b, l->directory);
		if (l->directory[strlen(l->directory) - 1] != '/')
			put(b, "/");
	}
	put_text(b, l->file);
}

/* The same files come again and again: each is put together once. */
static void put_file(struct answer_writer *w, struct buffer *b, const struct mw_location *l,
		     void (*put_text)(struct buffer *b, const char *text))
{
	uint64_t hash = hash_u64((uintptr_t)l->file ^ (uintptr_t)l->directory << 20);
	struct kept_file *kept = &w->files[hash % FILES];
	if (kept->file != l->file || kept->directory != l->directory) {
		if (w->file_texts.n > FILES_MAX) {
			memset(w->files, 0, sizeof w->files);
			w->file_texts.n = 0;
		}
		kept->at = w->file_texts.n;
		put_file_text(&w->file_texts, l, put_text);
		kept->n = w->file_texts.n - kept->at;
		kept->file = l->file;
		kept->directory = l->directory;
	}
	b->failed |= w->file_texts.failed;
	if (!b->failed)
		buffer_bytes(b, w->file_texts.data + kept->at, kept->n);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_location(struct answer_writer *w, const struct mw_location *l, struct buffer *b)
{
	put_escaped(b, readable_name(w, l->name));
	if (l->file) {
		put(b, " at ");
		put_file(w, b, l, put_escaped);
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

/*
 * For a function of C++ whose debug information has no mangled name, binutils 2.40 prints the symbol at
 * the address instead, the first time that the function is the innermost one (an inlined one, too, of
 * which the symbol is not). From then on it prints the symbol if that starts where the function does,
 * and else the name that it has. To stand in for it is to do the same.
 */
static bool is_cplusplus(const struct answer *a)
{
	static const char *const suffixes[] = {".cc", ".cpp", ".cxx", ".C", ".hpp", ".hh", ".tcc"};
	const char *file = a->chain[a->n - 1].file;
	if (strncmp(a->symbol->name, "_Z", 2) == 0)
		return true;
	size_t n = file ? strlen(file) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t m = strlen(suffixes[i]);
		if (n > m && strcmp(file + n - m, suffixes[i]) == 0)
			return true;
	}
	return false;
}

/* Which function, or which call of one that is inlined, a location of a chain is. */
static uint64_t key_of_function(const struct answer *a, size_t i)
{
	const struct mw_location *l = &a->chain[i];
	uint64_t key = hash_u64(a->chain[a->n - 1].address ^ (uint64_t)(a->n - i) << 48);
	key = hash_u64(key ^ (uintptr_t)l->name);
	return i + 1 < a->n ? hash_u64(key ^ a->chain[i + 1].line) : key;
}

/* The place of a renamed function, or the free one for it; NULL without memory. */
static struct renamed *find_renamed(struct answer_writer *w, uint64_t key)
{
	if (w->n_renamed * 2 >= w->renamed_size) {
		size_t size = w->renamed_size ? w->renamed_size * 2 : 1024;
		struct renamed *grown = calloc(size, sizeof *grown);
		if (!grown)
			return NULL;
		for (size_t i = 0; i < w->renamed_size; i++) {
			size_t at = w->renamed[i].key & (size - 1);
			while (w->renamed[i].name && grown[at].name)
				at = (at + 1) & (size - 1);
			if (w->renamed[i].name)
				grown[at] = w->renamed[i];
		}
		free(w->renamed);
		w->renamed = grown;
		w->renamed_size = size;
	}
	size_t at = key & (w->renamed_size - 1);
	while (w->renamed[at].name && w->renamed[at].key != key)
		at = (at + 1) & (w->renamed_size - 1);
	return &w->renamed[at];
}

static const char *name_for_addr2line(struct answer_writer *w, const struct answer *a, size_t i)
{
	const char *name = a->chain[i].name;
	if (!a->symbol || !a->symbol->name || strncmp(name, "_Z", 2) == 0 || !is_cplusplus(a))
		return name;
	struct renamed *renamed = find_renamed(w, key_of_function(a, i));
	if (!renamed)
		return name;
	if (!renamed->name && i == 0) {
		bool is_its_own = a->n == 1 && a->symbol->address == a->chain[0].address;
		*renamed = (struct renamed){key_of_function(a, i),
					    is_its_own ? a->symbol->name : name};
		w->n_renamed++;
		return a->symbol->name;
	}
	return renamed->name ? renamed->name : name;
}

static void addr2line_location(struct answer_writer *w, const struct answer *a, size_t i,
			       struct buffer *b)
{
	const struct mw_location *l = &a->chain[i];
	put(b, readable_name(w, name_for_addr2line(w, a, i)));
	put(b, " at ");
	if (l->file)
		put_file(w, b, l, put);
	else
		put(b, "??");
	put(b, ":");
	if (l->line)
		put_number(b, l->line, 10, 1);
	else
		put(b, "?");
	/* That of the innermost place, with all of its lines: so it is there. */
	if (l->line && a->chain[0].discriminator) {
		put(b, " (discriminator ");
		put_number(b, a->chain[0].discriminator, 10, 1);
		put(b, ")");
	}
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
		addr2line_location(w, a, i, b);
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
		put_file_text(b, l, put_json);
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
