/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/address_input.h"

#include "cli/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number at the start of a text; how many of its characters belong to it, 0: none, or too many digits. */
static size_t scan(const char *text, size_t n, uint64_t *ret)
{
	size_t at = n > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' ? 2 : 0, first = at;
	uint64_t value = 0;
	for (; at < n && hex_digit(text[at]) >= 0; at++) {
		if (value >> 60)
			return 0;
		value = value << 4 | (uint64_t)hex_digit(text[at]);
	}
	*ret = value;
	return at > first ? at : 0;
}

int address_parse(const char *text, uint64_t *ret)
{
	size_t n = strlen(text);
	return n && scan(text, n, ret) == n ? 0 : -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* 1 and the address of a line; 0: there is none in it. */
static int take_line(struct address_input *in, const char *line, size_t n, uint64_t *ret)
{
	in->line++;
	while (n && is_blank(line[n - 1]))
		n--;
	while (n && is_blank(*line)) {
		line++;
		n--;
	}
	size_t used = scan(line, n, ret);
	if (used && (used == n || in->is_lenient))
		return 1;
	if (in->is_lenient) {
		*ret = 0;
		return 1;
	}
	if (!n)
		return 0;
	in->n_bad++;
	message_error("%s: line %llu: not an address: %.*s", in->name,
		      (unsigned long long)in->line, (int)(n > 60 ? 60 : n), line);
	return 0;
}

static long from_arguments(struct address_input *in, uint64_t *ret, size_t max)
{
	size_t n = 0;
	while (n < max && *in->argv) {
		const char *text = *in->argv++;
		in->name = "arguments";
		n += (size_t)take_line(in, text, strlen(text), &ret[n]);
	}
	return (long)n;
}

/* Reads more behind what is there. 1; 0: nothing more for now, or at all; -errno. */
static int fill(struct address_input *in, bool may_wait)
{
	if (in->at_end)
		return 0;
	if (in->start) {
		memmove(in->buffer, in->buffer + in->start, in->n);
		in->start = 0;
	}
	if (in->n == sizeof in->buffer) /* no line is that long: an address it is not */
		in->n = 0;
	struct pollfd ready = {.fd = in->fd, .events = POLLIN};
	if (!may_wait && poll(&ready, 1, 0) == 0)
		return 0;
	ssize_t got;
	do {
		got = read(in->fd, in->buffer + in->n, sizeof in->buffer - in->n);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	in->at_end = got == 0;
	in->n += (size_t)got;
	return got > 0;
}

/* The next whole line, or at the end what is left; NULL if there is none in the buffer. */
static const char *next_line(struct address_input *in, size_t *ret_size)
{
	const char *line = in->buffer + in->start;
	const char *feed = memchr(line, '\n', in->n);
	if (!feed && !(in->at_end && in->n))
		return NULL;
	*ret_size = feed ? (size_t)(feed - line) : in->n;
	size_t used = *ret_size + (feed ? 1 : 0);
	in->start += used;
	in->n -= used;
	return line;
}

long address_input_next(struct address_input *in, uint64_t *ret, size_t max)
{
	if (in->argv)
		return from_arguments(in, ret, max);
	size_t n = 0;
	while (n < max) {
		size_t size;
		const char *line = next_line(in, &size);
		if (line) {
			n += (size_t)take_line(in, line, size, &ret[n]);
			continue;
		}
		if (in->at_end)
			break;
		int r = fill(in, n == 0);
		if (r < 0)
			return r;
		if (r == 0 && !in->at_end)
			break;
	}
	return (long)n;
}
