/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/perf_map.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <string.h>

/* Of a larger known part only its beginning and its end are compared, so much of each. */
#define HASHED_PART ((uint64_t)512 << 10)

void perf_map_deinit(struct perf_map *map)
{
	vec_deinit(&map->entries);
	buffer_deinit(&map->names);
}

const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t address)
{
	for (size_t i = map->entries.n; i-- > 0;) {
		const struct perf_map_entry *entry = &map->entries.items[i];
		if (address >= entry->start && address < entry->end)
			return entry;
	}
	return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

/* A number and the blanks behind it, of which there is one at least; NULL if it is none. */
static const char *take_number(const char *at, const char *end, uint64_t *ret)
{
	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	const char *first = at;
	uint64_t value = 0;
	for (; at < end && digit_of(*at) < 16; at++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | digit_of(*at);
	}
	*ret = value;
	if (at == first || at == end || (*at != ' ' && *at != '\t'))
		return NULL;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static int add_line(struct perf_map *map, const char *line, const char *end)
{
	uint64_t start, size, stop;
	if (end > line && end[-1] == '\r')
		end--;
	bool is_long = end - line > PERF_MAP_LINE_MAX;
	const char *name = is_long ? NULL : take_number(line, end, &start);
	if (name)
		name = take_number(name, end, &size);
	if (!name || name == end || !size || __builtin_add_overflow(start, size, &stop) ||
	    memchr(line, 0, (size_t)(end - line))) {
		map->n_broken++;
		return 0;
	}
	size_t length = MIN((size_t)(end - name), PERF_MAP_NAME_MAX);
	if (map->names.n > UINT32_MAX - length - 1)
		return -ENOMEM;
	struct perf_map_entry entry = {.start = start, .end = stop, .name = (uint32_t)map->names.n};
	buffer_bytes(&map->names, name, length);
	buffer_u8(&map->names, 0);
	return map->names.failed ? -ENOMEM : vec_push(&map->entries, entry);
}

/* What has no line break. It is left for later, unless nothing comes or it is too long to be a
 * line. */
static int take_unfinished(struct perf_map *map, const char *line, const char *end, bool take_rest)
{
	size_t n = (size_t)(end - line);
	if (!n || (!take_rest && n <= PERF_MAP_LINE_MAX && !map->in_line))
		return 0;
	map->consumed += n;
	if (take_rest && !map->in_line)
		return add_line(map, line, end);
	map->n_broken += !map->in_line;
	map->in_line = true;
	return 0;
}

int perf_map_parse(struct perf_map *map, const char *text, size_t size, bool take_rest)
{
	const char *end = text + size;
	int r = 0;
	while (r == 0) {
		const char *stop = size ? memchr(text, '\n', (size_t)(end - text)) : NULL;
		if (!stop)
			return take_unfinished(map, text, end, take_rest);
		if (map->in_line)
			map->in_line = false; /* and this is the end of the line that is skipped */
		else if (stop > text)
			r = add_line(map, text, stop);
		map->consumed += (size_t)(stop + 1 - text);
		text = stop + 1;
	}
	return r;
}

/* ---- in the child ---------------------------------------------------------------------------- */

static int hash_part(int fd, uint64_t from, uint64_t to, char *buf, uint64_t *hash)
{
	ssize_t n = io_pread(fd, buf, (size_t)(to - from), from);
	if (n < 0)
		return (int)n;
	*hash = hash_bytes(buf, (size_t)n, *hash);
	return 0;
}

/* Of the first bytes of a file; never 0. */
static int hash_known(int fd, uint64_t size, char *buf, uint64_t *ret)
{
	uint64_t hash = size, middle = size > 2 * HASHED_PART ? size - HASHED_PART : size;
	int r = hash_part(fd, 0, MIN(size, middle == size ? size : HASHED_PART), buf, &hash);
	if (r == 0 && middle < size)
		r = hash_part(fd, middle, size, buf, &hash);
	*ret = hash ? hash : 1;
	return r;
}

static int write_out(int fd, const struct perf_map *map)
{
	int r = io_write(fd, map->entries.items, map->entries.n * sizeof *map->entries.items);
	return r < 0 ? r : io_write(fd, map->names.data, map->names.n);
}

static int read_more(int fd, const struct perf_map_request *request, uint64_t known, char *buf,
		     struct perf_map *map)
{
	uint64_t left = request->size > known ? request->size - known : 0;
	size_t wanted = (size_t)MIN(left, PERF_MAP_BATCH);
	ssize_t n = io_pread(fd, buf, wanted, known);
	if (n < 0)
		return (int)n;
	bool is_end = request->take_rest && (uint64_t)n == left;
	return perf_map_parse(map, buf, (size_t)n, is_end);
}

int perf_map_read(int fd, int out_fd, const struct perf_map_request *request,
		  struct perf_map_reply *reply, struct mw_error *e)
{
	_cleanup_free_ char *buf = malloc(PERF_MAP_BATCH);
	_cleanup_(perf_map_deinit) struct perf_map map = {};
	uint64_t known = request->known, hash = 0;
	int r = buf ? 0 : -ENOMEM;
	if (r == 0 && known)
		r = known <= request->size ? hash_known(fd, known, buf, &hash) : 0;
	if (hash != request->known_hash) {
		reply->is_rewritten = 1;
		known = 0;
	}
	map.in_line = known && request->in_line;
	if (r == 0)
		r = read_more(fd, request, known, buf, &map);
	if (r == 0)
		r = hash_known(fd, known + map.consumed, buf, &hash);
	if (r == 0)
		r = write_out(out_fd, &map);
	if (r < 0)
		return error_errno(e, r, "cannot read the perf map");
	reply->consumed = known + map.consumed;
	reply->hash = reply->consumed ? hash : 0;
	reply->n_broken = map.n_broken;
	reply->n_entries = (uint32_t)map.entries.n;
	reply->names_size = (uint32_t)map.names.n;
	reply->in_line = map.in_line;
	return 0;
}

/* ---- in the parent --------------------------------------------------------------------------- */

static bool is_sound(const struct perf_map *map)
{
	const struct buffer *names = &map->names;
	if (map->entries.n && (!names->n || names->data[names->n - 1]))
		return false;
	vec_foreach(entry, &map->entries) {
		if (entry->start >= entry->end || entry->name >= names->n)
			return false;
	}
	return true;
}

int perf_map_take(int out_fd, const struct perf_map_reply *reply, struct perf_map *ret)
{
	size_t size = reply->n_entries * sizeof *ret->entries.items;
	/* No line is shorter than "1 1 a" and its end, nor does it give more name than it has. */
	if (reply->n_entries > PERF_MAP_BATCH / 6 + 1 || reply->names_size > PERF_MAP_BATCH + 1)
		return -EBADMSG;
	int r = vec_reserve(&ret->entries, reply->n_entries);
	uint8_t *names = r == 0 ? buffer_extend(&ret->names, reply->names_size) : NULL;
	if (r < 0 || (!names && reply->names_size))
		return -ENOMEM;
	ssize_t n = io_pread(out_fd, ret->entries.items, size, 0);
	if (n == (ssize_t)size && reply->names_size) {
		n = io_pread(out_fd, names, reply->names_size, size);
		size = reply->names_size;
	}
	if (n != (ssize_t)size)
		return n < 0 ? (int)n : -EBADMSG;
	ret->entries.n = reply->n_entries;
	ret->n_broken = reply->n_broken;
	return is_sound(ret) ? 0 : -EBADMSG;
}
