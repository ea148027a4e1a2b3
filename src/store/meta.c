/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file `meta`: one line per fact, in this order, each ended by a line feed, words parted by one
 * space:
 *
 *	mapwright-meta 2
 *	id gnu:93ac61ecf00d5b7e
 *	elf 3 62
 *	size 35664
 *	content 5d41402abc4b2a76b9719d911017c592
 *	segment 0 0 17a8 17a8 4
 *	segment 2000 2000 2d11 2d11 5
 *	path /usr/bin/true
 *	path /mnt/line\012feed
 *	part names 20 7 12345 0f1e2d3c4b5a6978 symtab
 *	failure lines stripped 7 1700000000
 *	piece 2340 2310
 *	end
 *
 *   mapwright-meta  version of this format; another one is not read
 *   id              the text form of the file id, the same as the directory's
 *   elf             ELF type and machine, decimal; 0 unknown
 *   size            bytes of the file, decimal; 0 unknown
 *   content         digest by which contents of one id are told apart, 32 hexadecimal digits; absent
 *                   if it is not known
 *   segment         virtual address, offset, size in the file, size in memory, flags; hexadecimal;
 *                   any number up to META_SEGMENTS_MAX
 *   path            newest first, at most META_PATHS_MAX; control characters and the backslash as
 *                   three octal digits
 *   part            name, rank, builder version, bytes (decimal), check (16 hexadecimal digits),
 *                   source; at most one of each part, in the order of enum store_part
 *   failure         part, reason, builder version, seconds since 1970; likewise
 *   piece           address of the entry, real start of its symbol; hexadecimal, ascending
 *   end             shows that nothing was cut off
 *
 * There is one way to write each meta: numbers have no leading zeros, hexadecimal is lower case.
 * The reader takes nothing else, so what it takes, it would write the same. It runs in the
 * privileged process: the store's directory is ours alone, but a disk may be damaged or restored
 * from anywhere.
 */
#include "store/meta.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const part_names[STORE_N_PARTS] = {
	[STORE_NAMES] = "names",
	[STORE_LINES] = "lines",
	[STORE_UNWIND] = "unwind",
	[STORE_CODE] = "code",
};

const char *store_part_name(enum store_part part)
{
	return (unsigned)part < STORE_N_PARTS ? part_names[part] : NULL;
}

void meta_deinit(struct meta *meta)
{
	vec_foreach(path, &meta->paths)
		free(*path);
	vec_deinit(&meta->paths);
	vec_deinit(&meta->segments);
	vec_deinit(&meta->pieces);
	*meta = (struct meta){};
}

/* ---- building -------------------------------------------------------------------------------- */

/* Sums that wrap would make every later comparison wrong. */
static bool segment_is_sane(const struct store_segment *s)
{
	uint64_t end;
	return !__builtin_add_overflow(s->offset, s->file_size, &end) &&
	       !__builtin_add_overflow(s->vaddr, s->mem_size, &end) &&
	       !__builtin_add_overflow(s->vaddr, s->file_size, &end);
}

int meta_add_segment(struct meta *meta, const struct store_segment *segment)
{
	if (meta->segments.n == META_SEGMENTS_MAX)
		return -E2BIG;
	if (!segment_is_sane(segment))
		return -EINVAL;
	return vec_push(&meta->segments, *segment);
}

/* Takes a path out of the list if it is there. */
static char *take_path(struct meta *meta, const char *path)
{
	for (size_t i = 0; i < meta->paths.n; i++) {
		char *found = meta->paths.items[i];
		if (strcmp(found, path) != 0)
			continue;
		meta->paths.n--;
		memmove(meta->paths.items + i, meta->paths.items + i + 1,
			(meta->paths.n - i) * sizeof *meta->paths.items);
		return found;
	}
	return NULL;
}

int meta_add_path(struct meta *meta, const char *path)
{
	size_t n = strnlen(path, META_PATH_MAX);
	if (n == 0 || n == META_PATH_MAX)
		return -EINVAL;
	int r = vec_reserve(&meta->paths, META_PATHS_MAX);
	if (r < 0)
		return r;
	char *copy = take_path(meta, path);
	if (!copy)
		copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	if (meta->paths.n == META_PATHS_MAX)
		free(meta->paths.items[--meta->paths.n]);
	memmove(meta->paths.items + 1, meta->paths.items,
		meta->paths.n * sizeof *meta->paths.items);
	meta->paths.items[0] = copy;
	meta->paths.n++;
	return 0;
}

int meta_add_piece(struct meta *meta, uint64_t address, uint64_t start)
{
	if (meta->pieces.n == META_PIECES_MAX)
		return -E2BIG;
	if (start >= address)
		return -EINVAL;
	return vec_push(&meta->pieces, (struct meta_piece){address, start});
}

static int compare_pieces(const void *a, const void *b)
{
	const struct meta_piece *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

void meta_sort_pieces(struct meta *meta)
{
	if (!meta->pieces.n)
		return;
	qsort(meta->pieces.items, meta->pieces.n, sizeof *meta->pieces.items, compare_pieces);
	size_t n = 1;
	for (size_t i = 1; i < meta->pieces.n; i++) {
		if (meta->pieces.items[i].address != meta->pieces.items[n - 1].address)
			meta->pieces.items[n++] = meta->pieces.items[i];
	}
	meta->pieces.n = n;
}

static int replace_segments(struct meta *meta, const struct meta *about)
{
	int r = vec_reserve(&meta->segments, about->segments.n);
	if (r < 0)
		return r;
	memcpy(meta->segments.items, about->segments.items,
	       about->segments.n * sizeof *about->segments.items);
	meta->segments.n = about->segments.n;
	return 0;
}

bool meta_is_of_another(const struct meta *meta, const struct meta *other)
{
	return meta->has_content && other->has_content &&
	       memcmp(meta->content, other->content, sizeof meta->content) != 0;
}

int meta_merge(struct meta *meta, const struct meta *about)
{
	if (about->has_content) {
		meta->has_content = true;
		memcpy(meta->content, about->content, sizeof meta->content);
	}
	if (about->elf_type)
		meta->elf_type = about->elf_type;
	if (about->elf_machine)
		meta->elf_machine = about->elf_machine;
	if (about->file_size)
		meta->file_size = about->file_size;
	int r = about->segments.n ? replace_segments(meta, about) : 0;
	for (size_t i = about->paths.n; r == 0 && i > 0; i--) /* newest last: it will be first */
		r = meta_add_path(meta, about->paths.items[i - 1]);
	for (size_t i = 0; i < STORE_N_PARTS; i++) {
		if (about->failures[i].reason != MW_REASON_NONE)
			meta->failures[i] = about->failures[i];
	}
	return r;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void format_path(struct buffer *b, const char *path)
{
	buffer_printf(b, "path ");
	for (const char *p = path; *p; p++) {
		uint8_t c = (uint8_t)*p;
		if (c < 0x20 || c == 0x7f || c == '\\')
			buffer_printf(b, "\\%03o", c);
		else
			buffer_u8(b, c);
	}
	buffer_u8(b, '\n');
}

static void format_content(const struct meta *meta, struct buffer *b)
{
	buffer_printf(b, "content ");
	for (size_t i = 0; i < META_CONTENT_SIZE; i++)
		buffer_printf(b, "%02x", meta->content[i]);
	buffer_u8(b, '\n');
}

static void format_parts(const struct meta *meta, struct buffer *b)
{
	for (size_t i = 0; i < STORE_N_PARTS; i++) {
		const struct meta_part *part = &meta->parts[i];
		if (part->present)
			buffer_printf(b, "part %s %u %u %" PRIu64 " %016" PRIx64 " %s\n",
				      part_names[i], part->rank, part->builder, part->size,
				      part->check, part->source);
	}
	for (size_t i = 0; i < STORE_N_PARTS; i++) {
		const struct meta_failure *failure = &meta->failures[i];
		if (failure->reason != MW_REASON_NONE)
			buffer_printf(b, "failure %s %s %u %" PRId64 "\n", part_names[i],
				      mw_reason_name(failure->reason), failure->builder,
				      failure->when);
	}
}

int meta_format(const struct meta *meta, struct buffer *ret)
{
	char id[MW_FILE_ID_TEXT_MAX + 2 * MW_FILE_ID_MAX];
	mw_file_id_to_text(&meta->id, id, sizeof id);
	buffer_printf(ret, "mapwright-meta 2\nid %s\nelf %u %u\nsize %" PRIu64 "\n", id,
		      meta->elf_type, meta->elf_machine, meta->file_size);
	if (meta->has_content)
		format_content(meta, ret);
	vec_foreach(s, &meta->segments)
		buffer_printf(ret, "segment %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %x\n",
			      s->vaddr, s->offset, s->file_size, s->mem_size, s->flags);
	vec_foreach(path, &meta->paths)
		format_path(ret, *path);
	format_parts(meta, ret);
	vec_foreach(piece, &meta->pieces)
		buffer_printf(ret, "piece %" PRIx64 " %" PRIx64 "\n", piece->address, piece->start);
	buffer_printf(ret, "end\n");
	if (ret->failed)
		return -ENOMEM;
	return ret->n > META_TEXT_MAX ? -E2BIG : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What is left of a line, without its line feed. */
struct line {
	const char *at;
	const char *end;
};

struct word {
	const char *text; /* not terminated */
	size_t n;
};

static bool word_is(struct word word, const char *text)
{
	return word.n == strlen(text) && memcmp(word.text, text, word.n) == 0;
}

/* Up to the next space or the end. */
static struct word first_word(struct line *line)
{
	const char *space = memchr(line->at, ' ', (size_t)(line->end - line->at));
	const char *end = space ? space : line->end;
	struct word word = {line->at, (size_t)(end - line->at)};
	line->at = end;
	return word;
}

static bool take_word(struct line *line, struct word *ret)
{
	if (line->at == line->end || *line->at != ' ')
		return false;
	line->at++;
	*ret = first_word(line);
	return ret->n > 0;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool word_to_number(struct word word, unsigned base, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;
	for (size_t i = 0; i < word.n; i++) {
		unsigned digit = (unsigned)digit_of(word.text[i]);
		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	*ret = value;
	return word.n > 0 && value <= max;
}

static bool take_number(struct line *line, unsigned base, uint64_t max, uint64_t *ret)
{
	struct word word;
	return take_word(line, &word) && (word.n == 1 || word.text[0] != '0') &&
	       word_to_number(word, base, max, ret);
}

static bool take_part(struct line *line, size_t *ret)
{
	struct word word;
	if (!take_word(line, &word))
		return false;
	for (*ret = 0; *ret < STORE_N_PARTS; ++*ret) {
		if (word_is(word, part_names[*ret]))
			return true;
	}
	return false;
}

static int read_id(struct line *line, struct meta *meta)
{
	char text[MW_FILE_ID_TEXT_MAX + 2 * MW_FILE_ID_MAX], again[sizeof text];
	struct word word;
	if (!take_word(line, &word) || word.n >= sizeof text || memchr(word.text, '\0', word.n))
		return -EBADMSG;
	memcpy(text, word.text, word.n);
	text[word.n] = '\0';
	if (mw_file_id_from_text(text, &meta->id) < 0)
		return -EBADMSG;
	mw_file_id_to_text(&meta->id, again, sizeof again);
	return strcmp(text, again) == 0 ? 0 : -EBADMSG;
}

static int read_elf(struct line *line, struct meta *meta)
{
	uint64_t type, machine;
	if (!take_number(line, 10, UINT16_MAX, &type) ||
	    !take_number(line, 10, UINT16_MAX, &machine))
		return -EBADMSG;
	meta->elf_type = (uint16_t)type;
	meta->elf_machine = (uint16_t)machine;
	return 0;
}

static int read_size(struct line *line, struct meta *meta)
{
	return take_number(line, 10, UINT64_MAX, &meta->file_size) ? 0 : -EBADMSG;
}

static int read_content(struct line *line, struct meta *meta)
{
	struct word word;
	if (meta->has_content || !take_word(line, &word) || word.n != 2 * META_CONTENT_SIZE)
		return -EBADMSG;
	for (size_t i = 0; i < META_CONTENT_SIZE; i++) {
		uint64_t byte;
		if (!word_to_number((struct word){word.text + 2 * i, 2}, 16, UINT8_MAX, &byte))
			return -EBADMSG;
		meta->content[i] = (uint8_t)byte;
	}
	meta->has_content = true;
	return 0;
}

static int read_segment(struct line *line, struct meta *meta)
{
	struct store_segment s;
	uint64_t flags;
	if (!take_number(line, 16, UINT64_MAX, &s.vaddr) ||
	    !take_number(line, 16, UINT64_MAX, &s.offset) ||
	    !take_number(line, 16, UINT64_MAX, &s.file_size) ||
	    !take_number(line, 16, UINT64_MAX, &s.mem_size) ||
	    !take_number(line, 16, UINT32_MAX, &flags))
		return -EBADMSG;
	s.flags = (uint32_t)flags;
	int r = meta_add_segment(meta, &s);
	return r == -ENOMEM || r == 0 ? r : -EBADMSG;
}

/* One byte of a path from where the line is; -1 if it is not written as it should be. */
static int take_path_byte(struct line *line)
{
	uint8_t c = (uint8_t)*line->at++;
	if (c < 0x20 || c == 0x7f)
		return -1;
	if (c != '\\')
		return c;
	uint64_t value;
	struct word octal = {line->at, 3};
	if (line->end - line->at < 3 || !word_to_number(octal, 8, 0x7f, &value))
		return -1;
	line->at += 3;
	bool needed = value && (value < 0x20 || value == 0x7f || value == '\\');
	return needed ? (int)value : -1;
}

static int read_path(struct line *line, struct meta *meta)
{
	char path[META_PATH_MAX];
	size_t n = 0;
	if (meta->paths.n == META_PATHS_MAX || line->at == line->end || *line->at++ != ' ')
		return -EBADMSG;
	while (line->at < line->end) {
		int c = take_path_byte(line);
		if (c < 0 || n == sizeof path - 1)
			return -EBADMSG;
		path[n++] = (char)c;
	}
	path[n] = '\0';
	vec_foreach(other, &meta->paths) {
		if (strcmp(*other, path) == 0)
			return -EBADMSG;
	}
	if (n == 0)
		return -EBADMSG;
	int r = vec_reserve(&meta->paths, META_PATHS_MAX);
	if (r < 0)
		return r;
	char **slot = &meta->paths.items[meta->paths.n];
	*slot = strdup(path);
	if (!*slot)
		return -ENOMEM;
	meta->paths.n++;
	return 0;
}

static bool source_is_plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
		      c == '-'))
			return false;
	}
	return n > 0 && n < META_SOURCE_MAX;
}

bool meta_source_is_valid(const char *source)
{
	return source && source_is_plain(source, strnlen(source, META_SOURCE_MAX));
}

/* In the order of the enum, and each once. */
static bool part_comes_later(const struct meta *meta, size_t i)
{
	for (; i < STORE_N_PARTS; i++) {
		if (meta->parts[i].present)
			return false;
	}
	return true;
}

static int read_part(struct line *line, struct meta *meta)
{
	size_t i;
	uint64_t rank, builder;
	struct meta_part part = {.present = true};
	struct word check, source;
	if (!take_part(line, &i) || !part_comes_later(meta, i) ||
	    !take_number(line, 10, UINT32_MAX, &rank) ||
	    !take_number(line, 10, UINT32_MAX, &builder) ||
	    !take_number(line, 10, UINT64_MAX, &part.size) || !take_word(line, &check) ||
	    check.n != 16 || !word_to_number(check, 16, UINT64_MAX, &part.check) ||
	    !take_word(line, &source) || !source_is_plain(source.text, source.n))
		return -EBADMSG;
	part.rank = (uint32_t)rank;
	part.builder = (uint32_t)builder;
	memcpy(part.source, source.text, source.n);
	meta->parts[i] = part;
	return 0;
}

static bool failure_comes_later(const struct meta *meta, size_t i)
{
	for (; i < STORE_N_PARTS; i++) {
		if (meta->failures[i].reason != MW_REASON_NONE)
			return false;
	}
	return true;
}

static enum mw_reason word_to_reason(struct word word)
{
	for (int i = MW_REASON_NONE + 1; i < MW_N_REASONS; i++) {
		if (word_is(word, mw_reason_name(i)))
			return i;
	}
	return MW_REASON_NONE;
}

static int read_failure(struct line *line, struct meta *meta)
{
	size_t i;
	uint64_t builder, when;
	struct word reason;
	if (!take_part(line, &i) || !failure_comes_later(meta, i) || !take_word(line, &reason) ||
	    word_to_reason(reason) == MW_REASON_NONE ||
	    !take_number(line, 10, UINT32_MAX, &builder) ||
	    !take_number(line, 10, INT64_MAX, &when))
		return -EBADMSG;
	meta->failures[i] = (struct meta_failure){.reason = word_to_reason(reason),
						  .builder = (uint32_t)builder,
						  .when = (int64_t)when};
	return 0;
}

static int read_piece(struct line *line, struct meta *meta)
{
	uint64_t address, start;
	if (!take_number(line, 16, UINT64_MAX, &address) ||
	    !take_number(line, 16, UINT64_MAX, &start))
		return -EBADMSG;
	if (meta->pieces.n && meta->pieces.items[meta->pieces.n - 1].address >= address)
		return -EBADMSG;
	int r = meta_add_piece(meta, address, start);
	return r == -ENOMEM || r == 0 ? r : -EBADMSG;
}

static int read_version(struct line *line, struct meta *meta)
{
	uint64_t version;
	return take_number(line, 10, UINT32_MAX, &version) && version == 2 ? 0 : -EBADMSG;
}

static int read_end(struct line *line, struct meta *meta)
{
	return 0;
}

/* The kinds of line in their order. */
static const struct kind {
	const char *keyword;
	int (*read)(struct line *line, struct meta *meta);
	bool many; /* any number of them, also none; otherwise exactly one */
} kinds[] = {
	{"mapwright-meta", read_version, false},
	{"id", read_id, false},
	{"elf", read_elf, false},
	{"size", read_size, false},
	{"content", read_content, true},
	{"segment", read_segment, true},
	{"path", read_path, true},
	{"part", read_part, true},
	{"failure", read_failure, true},
	{"piece", read_piece, true},
	{"end", read_end, false},
};

/*
 * Reads one line; *kind is the first kind that may come, and afterwards the first that may come
 * next.
 */
static int read_line(struct line *line, size_t *kind, struct meta *meta)
{
	struct word keyword = first_word(line);
	for (; *kind < ARRAY_SIZE(kinds); ++*kind) {
		const struct kind *k = &kinds[*kind];
		if (!word_is(keyword, k->keyword)) {
			if (!k->many)
				return -EBADMSG;
			continue;
		}
		int r = k->read(line, meta);
		if (r == 0 && line->at != line->end)
			r = -EBADMSG;
		if (!k->many)
			++*kind;
		return r;
	}
	return -EBADMSG;
}

static int read_lines(const char *text, size_t size, struct meta *meta, struct mw_error *e)
{
	size_t kind = 0, number = 1;
	const char *end = text + size;
	for (const char *at = text; at < end; number++) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		if (!feed)
			return error_at(e, -EBADMSG, (uint64_t)(at - text), "line %zu is cut",
					number);
		struct line line = {at, feed};
		int r = read_line(&line, &kind, meta);
		if (r == -ENOMEM)
			return error_set(e, r, "no memory for meta");
		if (r < 0)
			return error_at(e, r, (uint64_t)(at - text), "line %zu is not valid",
					number);
		at = feed + 1;
	}
	if (kind != ARRAY_SIZE(kinds))
		return error_at(e, -EBADMSG, size, "meta ends too early");
	return 0;
}

int meta_parse(const char *text, size_t size, struct meta *ret, struct mw_error *e)
{
	*ret = (struct meta){};
	if (size > META_TEXT_MAX)
		return error_set(e, -EBADMSG, "meta is too large");
	int r = read_lines(text, size, ret, e);
	if (r < 0)
		meta_deinit(ret);
	return r;
}

/* ---- asking ---------------------------------------------------------------------------------- */

#define EXECUTABLE 0x1

static bool in_file_range(const struct store_segment *s, uint64_t offset)
{
	return offset >= s->offset && offset - s->offset < s->file_size;
}

bool meta_offset_to_address(const struct meta *meta, uint64_t offset, uint64_t *ret)
{
	bool found = false;
	vec_foreach(s, &meta->segments) {
		if (!in_file_range(s, offset) || (found && !(s->flags & EXECUTABLE)))
			continue;
		*ret = s->vaddr + (offset - s->offset);
		found = true;
		if (s->flags & EXECUTABLE)
			break;
	}
	return found;
}

bool meta_address_to_offset(const struct meta *meta, uint64_t address, uint64_t *ret)
{
	vec_foreach(s, &meta->segments) {
		if (address < s->vaddr || address - s->vaddr >= s->file_size)
			continue;
		*ret = s->offset + (address - s->vaddr);
		return true;
	}
	return false;
}

bool meta_offset_is_code(const struct meta *meta, uint64_t offset)
{
	vec_foreach(s, &meta->segments) {
		if (s->flags & EXECUTABLE && in_file_range(s, offset))
			return true;
	}
	return false;
}

uint64_t meta_piece_start(const struct meta *meta, uint64_t address)
{
	size_t low = 0, high = meta->pieces.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (meta->pieces.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < meta->pieces.n && meta->pieces.items[low].address == address;
	return found ? meta->pieces.items[low].start : address;
}
