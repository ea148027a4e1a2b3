/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/line.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "dwarf/constants.h"

#include <string.h>

#define HEADER_MAX  32
#define FORMATS_MAX 255
#define FILES_MAX   (1u << 24)

void dwarf_lines_deinit(struct dwarf_lines *lines)
{
	vec_deinit(&lines->directories);
	vec_deinit(&lines->files);
	vec_deinit(&lines->rows);
	vec_deinit(&lines->sequences);
	dwarf_window_deinit(&lines->window);
	dwarf_window_deinit(&lines->strings);
	dwarf_window_deinit(&lines->other_strings);
	*lines = (struct dwarf_lines){};
}

void dwarf_lines_clear(struct dwarf_lines *lines)
{
	lines->directories.n = lines->files.n = lines->rows.n = lines->sequences.n = 0;
}

/* ---- header ---------------------------------------------------------------------------------- */

struct header {
	struct dwarf_encoding encoding;
	uint64_t end;	  /* of the table, from its start */
	uint64_t program; /* where it begins */
	uint8_t minimum_instruction_length;
	uint8_t operations_per_instruction;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *operands; /* of the standard opcodes from 1 on: how many each has */
};

/* Before version 5: names until an empty one. */
static int read_old_tables(struct dwarf_lines *lines, struct cursor *c)
{
	int r = vec_push(&lines->directories, (struct dwarf_value){});
	while (r == 0) {
		const char *name = cursor_string(c);
		if (!name)
			return -EBADMSG;
		if (!*name)
			break;
		r = vec_push(&lines->directories,
			     (struct dwarf_value){.class = DWARF_CLASS_STRING, .string = name});
	}
	if (r == 0)
		r = vec_push(&lines->files, (struct dwarf_line_file){});
	while (r == 0) {
		const char *name = cursor_string(c);
		if (!name)
			return -EBADMSG;
		if (!*name)
			break;
		struct dwarf_line_file file = {
			.name = {.class = DWARF_CLASS_STRING, .string = name},
			.directory = cursor_uleb(c)};
		cursor_uleb(c); /* time */
		cursor_uleb(c); /* size */
		r = vec_push(&lines->files, file);
	}
	return r;
}

struct format {
	uint64_t content;
	uint16_t form;
};

static unsigned read_formats(struct cursor *c, struct format *formats)
{
	unsigned n = cursor_u8(c);
	for (unsigned i = 0; i < n; i++) {
		formats[i].content = cursor_uleb(c);
		uint64_t form = cursor_uleb(c);
		if (form > UINT16_MAX)
			c->failed = true;
		formats[i].form = (uint16_t)form;
	}
	return n;
}

static struct dwarf_line_file read_new_entry(struct cursor *c,
					     const struct dwarf_encoding *encoding,
					     const struct format *formats, unsigned n)
{
	struct dwarf_line_file file = {};
	for (unsigned i = 0; i < n; i++) {
		struct dwarf_value value = dwarf_form_read(c, encoding, formats[i].form, 0);
		if (formats[i].content == DW_LNCT_path)
			file.name = value;
		else if (formats[i].content == DW_LNCT_directory_index)
			file.directory = value.number;
	}
	return file;
}

/* A count that the bytes cannot hold is damage: an entry has a byte at least. */
static bool is_count(struct cursor *c, uint64_t n, unsigned n_formats)
{
	return cursor_ok(c) && (n == 0 || (n_formats && n <= cursor_left(c) && n <= FILES_MAX));
}

static int read_new_tables(struct dwarf_lines *lines, struct cursor *c,
			   const struct dwarf_encoding *encoding)
{
	struct format formats[FORMATS_MAX];
	unsigned n_formats = read_formats(c, formats);
	uint64_t n = cursor_uleb(c);
	if (!is_count(c, n, n_formats))
		return -EBADMSG;
	int r = 0;
	for (uint64_t i = 0; i < n && cursor_ok(c) && r == 0; i++) {
		struct dwarf_line_file entry = read_new_entry(c, encoding, formats, n_formats);
		r = vec_push(&lines->directories, entry.name);
	}
	n_formats = read_formats(c, formats);
	n = cursor_uleb(c);
	if (r == 0 && !is_count(c, n, n_formats))
		return -EBADMSG;
	for (uint64_t i = 0; i < n && cursor_ok(c) && r == 0; i++)
		r = vec_push(&lines->files, read_new_entry(c, encoding, formats, n_formats));
	return r;
}

/* A cursor over the whole table, and its header up to the tables of names. */
static int read_header(struct dwarf_lines *lines, const struct dwarf_file *file,
		       const struct dwarf_unit *unit, uint64_t offset, struct cursor *c,
		       struct header *h)
{
	*c = dwarf_bytes_at_most(file, DWARF_LINE, &lines->window, offset, HEADER_MAX);
	*h = (struct header){.encoding = unit->encoding};
	uint64_t length = dwarf_read_length(c, &h->encoding.offset_size);
	uint64_t start = cursor_offset(c);
	if (!cursor_ok(c) || length > file->sections[DWARF_LINE].size)
		return -EBADMSG;
	*c = dwarf_bytes_at_most(file, DWARF_LINE, &lines->window, offset, start + length);
	h->end = cursor_left(c);
	cursor_seek(c, start);
	uint16_t version = cursor_u16(c);
	if (version < 2 || version > 5)
		return -EBADMSG;
	lines->version = h->encoding.version = (uint8_t)version;
	if (version >= 5) {
		h->encoding.address_size = cursor_u8(c);
		cursor_u8(c); /* size of a segment selector */
	}
	uint64_t header_length = dwarf_read_offset(c, h->encoding.offset_size);
	h->program = cursor_offset(c);
	if (__builtin_add_overflow(h->program, header_length, &h->program) || h->program > h->end)
		return -EBADMSG;
	h->minimum_instruction_length = cursor_u8(c);
	h->operations_per_instruction = version >= 4 ? cursor_u8(c) : 1;
	cursor_u8(c); /* is_stmt */
	h->line_base = (int8_t)cursor_u8(c);
	h->line_range = cursor_u8(c);
	h->opcode_base = cursor_u8(c);
	h->operands = cursor_bytes(c, h->opcode_base ? h->opcode_base - 1u : 0);
	return cursor_ok(c) ? 0 : -EBADMSG;
}

/* ---- program --------------------------------------------------------------------------------- */

struct machine {
	struct dwarf_lines *lines;
	const struct header *h;
	const struct dwarf_code *code;
	struct cursor *c;
	uint64_t address;
	uint64_t operation; /* in a VLIW instruction */
	uint32_t file;
	uint32_t line;
	uint32_t discriminator;
	uint32_t first; /* row of this sequence */
};

static void begin_sequence(struct machine *m)
{
	m->address = m->operation = 0;
	m->file = m->line = 1;
	m->discriminator = 0;
	m->first = (uint32_t)m->lines->rows.n;
}

static inline void advance(struct machine *m, uint64_t operations)
{
	const struct header *h = m->h;
	if (h->operations_per_instruction <= 1) {
		m->address += operations * h->minimum_instruction_length;
		return;
	}
	uint64_t all = m->operation + operations;
	m->address += all / h->operations_per_instruction * h->minimum_instruction_length;
	m->operation = all % h->operations_per_instruction;
}

/* The last row of an address, and the first of those that say the same, is what counts. */
static inline int emit(struct machine *m)
{
	struct dwarf_lines *lines = m->lines;
	uint64_t address = m->address + m->code->bias;
	if (lines->rows.n > m->first) {
		struct dwarf_row *last = &lines->rows.items[lines->rows.n - 1];
		if (last->address == address) {
			last->file = m->file;
			last->line = m->line;
			last->discriminator = m->discriminator;
			return 0;
		}
		if (last->file == m->file && last->line == m->line &&
		    last->discriminator == m->discriminator && last->address < address)
			return 0;
		/* A sequence that goes back is wrong; what comes before is kept. */
		if (address < last->address)
			return 0;
	}
	if (lines->rows.n >= DWARF_ROWS_MAX)
		return -EBADMSG;
	return vec_push(&lines->rows,
			(struct dwarf_row){address, m->file, m->line, m->discriminator});
}

/* A discriminator is of one row. */
static inline int emit_and_reset(struct machine *m)
{
	int r = emit(m);
	m->discriminator = 0;
	return r;
}

static int end_sequence(struct machine *m)
{
	struct dwarf_lines *lines = m->lines;
	uint64_t end = m->address + m->code->bias, code_end;
	uint32_t n = (uint32_t)lines->rows.n;
	int r = 0;
	if (n > m->first) {
		uint64_t start = lines->rows.items[m->first].address;
		if (start < end && m->code->is_code(m->code->context, start, &code_end))
			r = vec_push(
				&lines->sequences,
				(struct dwarf_sequence){start, MIN(end, code_end), m->first, n});
		else
			lines->rows.n = m->first;
	}
	begin_sequence(m);
	return r;
}

static int define_file(struct machine *m, struct cursor *c)
{
	const char *name = cursor_string(c);
	if (!name)
		return -EBADMSG;
	struct dwarf_line_file file = {.name = {.class = DWARF_CLASS_STRING, .string = name},
				       .directory = cursor_uleb(c)};
	return vec_push(&m->lines->files, file);
}

static int run_extended(struct machine *m)
{
	uint64_t length = cursor_uleb(m->c);
	const uint8_t *bytes = cursor_bytes(m->c, length);
	if (!bytes)
		return -EBADMSG;
	if (!length)
		return 0;
	struct cursor c = cursor_init(bytes, length, m->c->swap);
	switch (cursor_u8(&c)) {
	case DW_LNE_end_sequence:
		return end_sequence(m);
	case DW_LNE_set_address:
		m->address = dwarf_read_address(&c, (uint8_t)MIN(length - 1, UINT8_MAX));
		m->operation = 0;
		return cursor_ok(&c) ? 0 : -EBADMSG;
	case DW_LNE_define_file:
		return define_file(m, &c);
	case DW_LNE_set_discriminator:
		m->discriminator = (uint32_t)cursor_uleb(&c);
		return 0;
	default:
		return 0;
	}
}

static inline int run_special(struct machine *m, uint8_t opcode)
{
	const struct header *h = m->h;
	uint8_t adjusted = (uint8_t)(opcode - h->opcode_base);
	if (!h->line_range)
		return -EBADMSG;
	m->line += (uint32_t)(h->line_base + adjusted % h->line_range);
	advance(m, adjusted / h->line_range);
	return emit_and_reset(m);
}

static int run_standard(struct machine *m, uint8_t opcode)
{
	const struct header *h = m->h;
	switch (opcode) {
	case DW_LNS_copy:
		return emit_and_reset(m);
	case DW_LNS_advance_pc:
		advance(m, cursor_uleb(m->c));
		return 0;
	case DW_LNS_advance_line:
		m->line += (uint32_t)cursor_sleb(m->c);
		return 0;
	case DW_LNS_set_file:
		m->file = (uint32_t)cursor_uleb(m->c);
		return 0;
	case DW_LNS_const_add_pc:
		if (!h->line_range)
			return -EBADMSG;
		advance(m, (uint8_t)(255 - h->opcode_base) / h->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		m->address += cursor_u16(m->c);
		m->operation = 0;
		return 0;
	default: /* column, flags of the statement, and what later versions may add */
		for (unsigned i = 0; i < h->operands[opcode - 1]; i++)
			dwarf_skip_value(m->c, &h->encoding, DWARF_SKIP_LEB);
		return 0;
	}
}

static int run(struct machine *m)
{
	begin_sequence(m);
	int r = 0;
	while (r == 0 && cursor_left(m->c)) {
		uint8_t opcode = cursor_u8(m->c);
		if (opcode >= m->h->opcode_base)
			r = run_special(m, opcode);
		else if (opcode == 0)
			r = run_extended(m);
		else
			r = run_standard(m, opcode);
	}
	/* A program that was cut in a sequence leaves rows without an end. */
	m->lines->rows.n = m->first;
	return r < 0 ? r : cursor_ok(m->c) ? 0 : -EBADMSG;
}

static int sort_sequences(struct dwarf_lines *lines)
{
	size_t n = lines->sequences.n;
	struct dwarf_sequence *all = lines->sequences.items;
	bool is_sorted = true;
	for (size_t i = 1; i < n && is_sorted; i++)
		is_sorted = all[i - 1].start <= all[i].start;
	if (is_sorted)
		return 0;
	_cleanup_free_ struct sort_item *order = malloc(n * sizeof *order);
	_cleanup_free_ struct dwarf_sequence *sorted = malloc(n * sizeof *sorted);
	if (!order || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct sort_item){all[i].start, i};
	int r = sort_items(order, n);
	for (size_t i = 0; i < n && r == 0; i++)
		sorted[i] = all[order[i].value];
	if (r == 0)
		memcpy(all, sorted, n * sizeof *sorted);
	return r;
}

/* Sequences that overlap make no sense; the first one goes on as far as it says. */
static void separate_sequences(struct dwarf_lines *lines)
{
	size_t kept = 0;
	uint64_t end = 0;
	vec_foreach(s, &lines->sequences) {
		struct dwarf_sequence sequence = *s;
		if (kept && sequence.start < end)
			sequence.start = end;
		if (sequence.start >= sequence.end)
			continue;
		end = sequence.end;
		lines->sequences.items[kept++] = sequence;
	}
	lines->sequences.n = kept;
}

int dwarf_lines_read(struct dwarf_lines *lines, const struct dwarf_file *file,
		     const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
		     const struct dwarf_code *code)
{
	struct cursor c;
	struct header h;
	dwarf_lines_clear(lines);
	int r = read_header(lines, file, unit, facts->statements, &c, &h);
	if (r == 0)
		r = h.encoding.version >= 5 ? read_new_tables(lines, &c, &h.encoding)
					    : read_old_tables(lines, &c);
	if (r < 0 || !cursor_seek(&c, h.program))
		return r < 0 ? r : -EBADMSG;
	struct machine m = {.lines = lines, .h = &h, .code = code, .c = &c};
	r = run(&m);
	if (r == -ENOMEM)
		return r;
	int sorted = sort_sequences(lines);
	separate_sequences(lines);
	return sorted < 0 ? sorted : r;
}

/* ---- look-up --------------------------------------------------------------------------------- */

size_t dwarf_lines_from(const struct dwarf_lines *lines, uint64_t address)
{
	size_t low = 0, high = lines->sequences.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (lines->sequences.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static const char *text_of(struct dwarf_lines *lines, const struct dwarf_file *file,
			   const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
			   const struct dwarf_value *value)
{
	uint64_t offset = value->number;
	switch (value->class) {
	case DWARF_CLASS_STRING:
		return value->string;
	case DWARF_CLASS_LINE_STRING_AT:
		return dwarf_string(file, DWARF_LINE_STR, &lines->strings, offset);
	case DWARF_CLASS_STRING_INDEX:
		if (!dwarf_unit_string_offset(file, &lines->strings, unit, facts, value->number,
					      &offset))
			return NULL;
		return dwarf_string(file, DWARF_STR, &lines->strings, offset);
	case DWARF_CLASS_STRING_AT:
		return dwarf_string(file, DWARF_STR, &lines->strings, offset);
	case DWARF_CLASS_OTHER_STRING_AT:
		return file->supplement ? dwarf_string(file->supplement, DWARF_STR,
						       &lines->other_strings, offset)
					: NULL;
	default:
		return NULL;
	}
}

static bool is_absolute(const char *path)
{
	bool has_drive = path[0] && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
	return path[0] == '/' || path[0] == '\\' || has_drive;
}

struct path {
	char *buf;
	size_t size;
	size_t n;
};

static void put(struct path *path, const char *text)
{
	if (!text || !*text)
		return;
	if (path->n && path->buf[path->n - 1] != '/' && path->n + 1 < path->size)
		path->buf[path->n++] = '/';
	size_t n = MIN(strlen(text), path->size - 1 - path->n);
	memcpy(path->buf + path->n, text, n);
	path->n += n;
	path->buf[path->n] = 0;
}

/* The directory of a file, with that of the compilation in front if it is relative to it. */
static void put_directory(struct path *path, struct dwarf_lines *lines,
			  const struct dwarf_file *file, const struct dwarf_unit *unit,
			  const struct dwarf_unit_facts *facts, uint64_t number)
{
	const struct dwarf_value none = {};
	const struct dwarf_value *value =
		number < lines->directories.n ? &lines->directories.items[number] : &none;
	/* The strings share a window: what was got is used before the next is. */
	const char *directory = text_of(lines, file, unit, facts, value);
	bool is_whole = directory && is_absolute(directory);
	if (!is_whole && (lines->version < 5 || number != 0))
		put(path, text_of(lines, file, unit, facts, &facts->directory));
	put(path, text_of(lines, file, unit, facts, value));
}

size_t dwarf_lines_path(struct dwarf_lines *lines, const struct dwarf_file *file,
			const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
			uint32_t number, char *buf, size_t size)
{
	struct path path = {.buf = buf, .size = size};
	if (number >= lines->files.n)
		return 0;
	const struct dwarf_line_file *entry = &lines->files.items[number];
	const char *name = text_of(lines, file, unit, facts, &entry->name);
	if (!name)
		return 0;
	if (!is_absolute(name))
		put_directory(&path, lines, file, unit, facts, entry->directory);
	put(&path, text_of(lines, file, unit, facts, &entry->name));
	return path.n;
}
