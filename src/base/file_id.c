/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text forms of a file id: "gnu:93ac61ec", "go:TEXT", "htl:HEX", "gnu-padded:HEX". */
#include "base/file_id.h"

#include "base/hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = {
	[MW_FILE_ID_GNU] = "gnu:",
	[MW_FILE_ID_GO] = "go:",
	[MW_FILE_ID_HTL] = "htl:",
	[MW_FILE_ID_GNU_PADDED] = "gnu-padded:",
};

struct text {
	char *buf;
	size_t size;
	size_t n; /* length of the whole text, also of what did not fit */
};

static void put(struct text *t, char c)
{
	if (t->n + 1 < t->size)
		t->buf[t->n] = c;
	t->n++;
}

static void put_hex(struct text *t, uint8_t byte, const char *digits)
{
	put(t, digits[byte >> 4]);
	put(t, digits[byte & 0xf]);
}

static bool is_plain(uint8_t c)
{
	return isalnum(c) || (c && strchr("_.=-/", c));
}

size_t mw_file_id_to_text(const struct mw_file_id *id, char *buf, size_t size)
{
	struct text t = {buf, size, 0};
	const char *prefix = id->kind >= MW_FILE_ID_GNU && id->kind <= MW_FILE_ID_GNU_PADDED
				     ? prefixes[id->kind]
				     : "none";
	for (const char *p = prefix; *p; p++)
		put(&t, *p);
	for (size_t i = 0; id->kind != MW_FILE_ID_NONE && i < id->size; i++) {
		uint8_t byte = id->bytes[i];
		if (id->kind != MW_FILE_ID_GO) {
			put_hex(&t, byte, "0123456789abcdef");
		} else if (is_plain(byte)) {
			put(&t, (char)byte);
		} else {
			put(&t, '%');
			put_hex(&t, byte, "0123456789ABCDEF");
		}
	}
	if (size)
		buf[t.n < size ? t.n : size - 1] = '\0';
	return t.n;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte from two hex digits; -1 if they are not. */
static int hex_byte(const char *text)
{
	int high = hex_digit(text[0]);
	int low = high < 0 ? -1 : hex_digit(text[1]);
	return low < 0 ? -1 : high << 4 | low;
}

static int parse_hex(const char *text, struct mw_file_id *ret)
{
	size_t n = strlen(text);
	if (n == 0 || n % 2 || n / 2 > MW_FILE_ID_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 2) {
		int byte = hex_byte(text + i);
		if (byte < 0)
			return -EINVAL;
		ret->bytes[ret->size++] = (uint8_t)byte;
	}
	return 0;
}

static int parse_go(const char *text, struct mw_file_id *ret)
{
	for (; *text; text++) {
		int byte = (uint8_t)*text;
		if (byte == '%') {
			byte = hex_byte(text + 1);
			if (byte < 0)
				return -EINVAL;
			text += 2;
		}
		if (ret->size == MW_FILE_ID_MAX)
			return -EINVAL;
		ret->bytes[ret->size++] = (uint8_t)byte;
	}
	return ret->size ? 0 : -EINVAL;
}

int mw_file_id_from_text(const char *text, struct mw_file_id *ret)
{
	struct mw_file_id id = {.kind = MW_FILE_ID_GNU};
	for (int kind = MW_FILE_ID_GNU; kind <= MW_FILE_ID_GNU_PADDED; kind++) {
		size_t n = strlen(prefixes[kind]);
		if (strncmp(text, prefixes[kind], n) == 0) {
			id.kind = (uint8_t)kind;
			text += n;
			break;
		}
	}
	int r = id.kind == MW_FILE_ID_GO ? parse_go(text, &id) : parse_hex(text, &id);
	if (r == 0)
		*ret = id;
	return r;
}

int mw_file_id_equal(const struct mw_file_id *a, const struct mw_file_id *b)
{
	return a->kind != MW_FILE_ID_NONE && a->kind == b->kind && a->size == b->size &&
	       memcmp(a->bytes, b->bytes, a->size) == 0;
}

uint64_t file_id_hash(const struct mw_file_id *id)
{
	return hash_bytes(id->bytes, id->size, id->kind);
}
