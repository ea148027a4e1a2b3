/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/lines_builder.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "symbols/gsym_assemble.h"

#include <string.h>

/* Longer paths are cut; no system has them. */
#define PATH_SIZE 8192
/* A piece's size has 32 bits in GSYM. */
#define PIECE_MAX UINT32_MAX

/* One contiguous piece of a function of the debug information. */
struct candidate {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* number; 0: none */
	uint32_t unit;
	uint32_t info;
	uint32_t info_size;
};

/* What a symbol has beside its name. */
struct symbol_info {
	uint32_t info;
	uint32_t info_size;
};

struct builder {
	const struct lines_input *input;
	struct dwarf_names names;
	struct source_files files;
	struct gsym_info_writer info;
	VEC(struct candidate) candidates;
	struct symbol_info *symbol_infos; /* of each symbol; NULL: there are no symbols */

	/* The unit at hand. */
	uint32_t unit;
	VEC(uint32_t) file_numbers; /* of the unit's files, + 1; 0: not asked for yet */
	VEC(struct sort_item) covered; /* start and end of the pieces of its functions */

	/* The end. */
	struct owners owners;
	struct buffer strings;
	struct buffer file_table;
	uint32_t *name_offsets; /* of each number */
	struct map symbol_names; /* address of the bytes -> offset in strings */
	VEC(struct gsym_record) records;
	struct gsym_splits *splits;
};

static void builder_deinit(struct builder *b)
{
	dwarf_names_deinit(&b->names);
	source_files_deinit(&b->files);
	gsym_info_writer_deinit(&b->info);
	vec_deinit(&b->candidates);
	free(b->symbol_infos);
	vec_deinit(&b->file_numbers);
	vec_deinit(&b->covered);
	owners_deinit(&b->owners);
	buffer_deinit(&b->strings);
	buffer_deinit(&b->file_table);
	free(b->name_offsets);
	map_deinit(&b->symbol_names);
	vec_deinit(&b->records);
}

/* ---- files and lines ------------------------------------------------------------------------- */

static int new_file_number(struct builder *b, const struct dwarf_view *view, uint32_t file,
			   uint32_t *ret)
{
	char path[PATH_SIZE];
	size_t n = dwarf_lines_path(view->lines, view->file, view->unit, view->facts, file, path,
				    sizeof path);
	*ret = 0;
	return n ? source_files_add(&b->files, path, n, ret) : 0;
}

/* The number of a file of the unit in the whole file; 0 if there is none. */
static int file_number(struct builder *b, const struct dwarf_view *view, uint32_t file,
		       uint32_t *ret)
{
	*ret = 0;
	if (file >= view->lines->files.n)
		return 0;
	if (file >= b->file_numbers.n) {
		int r = vec_reserve(&b->file_numbers, view->lines->files.n);
		if (r < 0)
			return r;
		memset(b->file_numbers.items + b->file_numbers.n, 0,
		       (view->lines->files.n - b->file_numbers.n) * sizeof(uint32_t));
		b->file_numbers.n = view->lines->files.n;
	}
	if (!b->file_numbers.items[file]) {
		int r = new_file_number(b, view, file, ret);
		if (r < 0)
			return r;
		b->file_numbers.items[file] = *ret + 1;
	}
	*ret = b->file_numbers.items[file] - 1;
	return 0;
}

static int add_line(struct builder *b, uint64_t address, uint32_t file, uint32_t line)
{
	if (b->info.lines.n) {
		const struct gsym_line *last = &b->info.lines.items[b->info.lines.n - 1];
		if (last->file == file && last->line == line)
			return 0;
	}
	return vec_push(&b->info.lines, (struct gsym_line){address, file, line});
}

/* The number of the last row that begins at or before an address, or the sequence's first. */
static uint32_t row_at(const struct dwarf_lines *lines, const struct dwarf_sequence *sequence,
		       uint64_t address)
{
	uint32_t low = sequence->first, high = sequence->last;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (lines->rows.items[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int add_sequence(struct builder *b, const struct dwarf_view *view,
			const struct dwarf_sequence *sequence, uint64_t start, uint64_t end)
{
	const struct dwarf_lines *lines = view->lines;
	for (uint32_t i = row_at(lines, sequence, start); i < sequence->last; i++) {
		const struct dwarf_row *row = &lines->rows.items[i];
		uint32_t file;
		if (row->address >= end)
			break;
		int r = file_number(b, view, row->file, &file);
		if (r == 0)
			r = source_files_add_variant(&b->files, file, row->discriminator, &file);
		if (r == 0)
			r = add_line(b, MAX(row->address, start), file, row->line);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Fills in the lines of [start, end). Where no sequence is, nothing is known: file 0, line 0. */
static int add_lines(struct builder *b, const struct dwarf_view *view, uint64_t start, uint64_t end)
{
	const struct dwarf_lines *lines = view->lines;
	uint64_t at = start;
	b->info.lines.n = 0;
	for (size_t i = dwarf_lines_from(lines, start); i < lines->sequences.n && at < end; i++) {
		const struct dwarf_sequence *s = &lines->sequences.items[i];
		int r = 0;
		if (s->start >= end)
			break;
		if (s->start > at && b->info.lines.n)
			r = add_line(b, at, 0, 0);
		if (r == 0)
			r = add_sequence(b, view, s, MAX(at, s->start), MIN(end, s->end));
		if (r < 0)
			return r;
		at = MIN(end, s->end);
	}
	return at < end && b->info.lines.n ? add_line(b, at, 0, 0) : 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static int take_calls(struct builder *b, const struct dwarf_view *view,
		      const struct dwarf_function *function)
{
	int r = vec_reserve(&b->info.calls, function->n_calls);
	for (size_t i = 0; i < function->n_calls && r == 0; i++) {
		const struct dwarf_call *call = &function->calls[i];
		struct gsym_call taken = {call->parent, call->name, 0, call->line};
		if (call->has_file)
			r = file_number(b, view, call->file, &taken.file);
		b->info.calls.items[b->info.calls.n++] = taken;
	}
	if (r == 0)
		r = vec_reserve(&b->info.owners.ranges, function->n_ranges);
	for (size_t i = 0; i < function->n_ranges && r == 0; i++) {
		const struct dwarf_call_range *range = &function->ranges[i];
		if (range->call)
			b->info.owners.ranges.items[b->info.owners.ranges.n++] =
				(struct owner_range){range->start, range->end, range->call,
						     range->call};
	}
	return r;
}

static int add_piece(struct builder *b, const struct dwarf_view *view, uint32_t name,
		     uint64_t start, uint64_t end)
{
	size_t before = b->info.out.n;
	int r = add_lines(b, view, start, end);
	if (r == 0)
		r = gsym_info_write(&b->info, start, end);
	if (r == 0 && b->info.out.n > MIN(b->input->limit, UINT32_MAX))
		r = -EFBIG;
	if (r == 0)
		r = vec_push(&b->covered, (struct sort_item){start, end});
	if (r < 0)
		return r;
	return vec_push(&b->candidates,
			(struct candidate){.start = start,
					   .end = end,
					   .name = name,
					   .unit = b->unit,
					   .info = (uint32_t)before,
					   .info_size = (uint32_t)(b->info.out.n - before)});
}

static int on_function(void *context, const struct dwarf_view *view,
		       const struct dwarf_function *function)
{
	struct builder *b = context;
	gsym_info_begin(&b->info);
	int r = take_calls(b, view, function);
	if (r == 0)
		r = gsym_info_decide(&b->info);
	for (size_t i = 0; i < function->n_ranges && r == 0; i++) {
		const struct dwarf_call_range *range = &function->ranges[i];
		if (range->call == 0)
			r = add_piece(b, view, function->calls[0].name, range->start,
				      MIN(range->end, range->start + PIECE_MAX));
	}
	return r;
}

static int on_unit(void *context, const struct dwarf_view *view)
{
	struct builder *b = context;
	b->unit++;
	b->file_numbers.n = b->covered.n = 0;
	return 0;
}

/* ---- lines of symbols that no function covers ------------------------------------------------ */

/* The first symbol that ends behind an address. */
static size_t symbol_from(const struct builder *b, uint64_t address)
{
	size_t low = 0, high = b->input->n_symbols;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (b->input->symbols[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True if the unit's functions cover a range without a gap; *at is where the last search was. */
static bool is_covered(const struct builder *b, uint64_t start, uint64_t end, size_t *at)
{
	const struct sort_item *covered = b->covered.items;
	while (*at < b->covered.n && covered[*at].value <= start)
		++*at;
	for (size_t i = *at; i < b->covered.n && covered[i].key <= start && start < end; i++)
		start = MAX(start, covered[i].value);
	return start >= end;
}

static int add_symbol_lines(struct builder *b, const struct dwarf_view *view, size_t number)
{
	const struct gsym_function *symbol = &b->input->symbols[number];
	struct symbol_info *info = &b->symbol_infos[number];
	size_t before = b->info.out.n;
	gsym_info_begin(&b->info);
	int r = add_lines(b, view, symbol->start, symbol->end);
	if (r == 0)
		r = gsym_info_write(&b->info, symbol->start, symbol->end);
	if (r == 0 && b->info.out.n > MIN(b->input->limit, UINT32_MAX))
		r = -EFBIG;
	if (r == 0)
		*info = (struct symbol_info){(uint32_t)before, (uint32_t)(b->info.out.n - before)};
	return r;
}

static int on_unit_end(void *context, const struct dwarf_view *view)
{
	struct builder *b = context;
	size_t next = 0, at = 0;
	int r = b->input->n_symbols ? sort_items(b->covered.items, b->covered.n) : 0;
	vec_foreach(s, &view->lines->sequences) {
		for (size_t i = MAX(next, symbol_from(b, s->start));
		     i < b->input->n_symbols && b->input->symbols[i].start < s->end && r == 0;
		     i++) {
			const struct gsym_function *symbol = &b->input->symbols[i];
			next = i + 1;
			if (b->symbol_infos[i].info_size ||
			    is_covered(b, symbol->start, symbol->end, &at))
				continue;
			r = add_symbol_lines(b, view, i);
		}
	}
	return r;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* The offset in the strings of a symbol's name. */
static int symbol_name(struct builder *b, const char *name, uint32_t *ret)
{
	uint64_t key = (uintptr_t)name;
	*ret = map_find(&b->symbol_names, key);
	if (*ret != MAP_NONE)
		return 0;
	size_t size = strlen(name) + 1;
	if (b->strings.n + size > MIN(b->input->limit, UINT32_MAX))
		return -EFBIG;
	*ret = (uint32_t)b->strings.n;
	buffer_bytes(&b->strings, name, size);
	return b->strings.failed ? -ENOMEM : map_add(&b->symbol_names, key, *ret);
}

/* A function without a name of its own has the symbol's, if there is one where it starts. */
static int candidate_name(struct builder *b, const struct candidate *candidate, uint32_t *ret)
{
	*ret = b->name_offsets[candidate->name];
	if (*ret)
		return 0;
	size_t i = symbol_from(b, candidate->start);
	if (i == b->input->n_symbols || b->input->symbols[i].start > candidate->start)
		return 0;
	return symbol_name(b, b->input->symbols[i].name, ret);
}

static int collect_owners(struct builder *b)
{
	int r = vec_reserve(&b->owners.ranges, b->candidates.n);
	for (size_t i = 0; i < b->candidates.n && r == 0; i++) {
		const struct candidate *c = &b->candidates.items[i];
		uint32_t name;
		r = candidate_name(b, c, &name);
		if (r == 0 && name)
			b->owners.ranges.items[b->owners.ranges.n++] = (struct owner_range){
				c->start, c->end, (uint64_t)~c->unit << 32 | i, (uint32_t)i};
	}
	return r < 0 ? r : owners_decide(&b->owners);
}

/* Lines and calls of a part of what they were written for. */
static int cut_info(struct builder *b, uint64_t whole_start, const struct symbol_info *whole,
		    uint64_t start, uint64_t end, struct symbol_info *ret)
{
	*ret = (struct symbol_info){};
	if (!whole->info_size)
		return 0;
	int r = gsym_info_read(&b->info, whole_start, b->info.out.data + whole->info,
			       whole->info_size);
	if (r < 0)
		return r;
	/* The row that begins before the part is its first. */
	size_t first = 0, n = 0;
	struct gsym_line *lines = b->info.lines.items;
	while (first + 1 < b->info.lines.n && lines[first + 1].address <= start)
		first++;
	for (size_t i = first; i < b->info.lines.n && lines[i].address < end; i++) {
		lines[n] = lines[i];
		lines[n].address = MAX(lines[n].address, start);
		n++;
	}
	b->info.lines.n = n;
	size_t before = b->info.out.n;
	r = gsym_info_write(&b->info, start, end);
	*ret = (struct symbol_info){(uint32_t)before, (uint32_t)(b->info.out.n - before)};
	return r;
}

static int add_record(struct builder *b, uint64_t start, uint64_t end, uint64_t function_start,
		      uint32_t name, const struct symbol_info *info)
{
	int r = 0;
	if (start != function_start)
		r = vec_push(&b->splits->list, (struct gsym_split){start, function_start});
	if (r < 0)
		return r;
	return vec_push(&b->records, (struct gsym_record){.start = start,
							  .size = (uint32_t)(end - start),
							  .name = name,
							  .info = info->info,
							  .info_size = info->info_size});
}

static int add_function(struct builder *b, const struct owned_piece *piece)
{
	struct candidate c = b->candidates.items[piece->owner];
	struct symbol_info whole = {c.info, c.info_size}, info = whole;
	uint32_t name;
	int r = candidate_name(b, &c, &name);
	if (r == 0 && (piece->start != c.start || piece->end != c.end))
		r = cut_info(b, c.start, &whole, piece->start, piece->end, &info);
	return r < 0 ? r : add_record(b, piece->start, piece->end, c.start, name, &info);
}

/* Symbols in a gap between functions; *at is the first that may be there. */
static int add_symbols(struct builder *b, uint64_t start, uint64_t end, size_t *at)
{
	while (*at < b->input->n_symbols && b->input->symbols[*at].end <= start)
		++*at;
	for (size_t i = *at; i < b->input->n_symbols; i++) {
		const struct gsym_function *symbol = &b->input->symbols[i];
		if (symbol->start >= end)
			break;
		uint64_t from = MAX(start, symbol->start), to = MIN(end, symbol->end);
		struct symbol_info whole = b->symbol_infos[i], info = whole;
		uint32_t name;
		int r = symbol_name(b, symbol->name, &name);
		if (r == 0 && (from != symbol->start || to != symbol->end))
			r = cut_info(b, symbol->start, &whole, from, to, &info);
		if (r == 0)
			r = add_record(b, from, to, symbol->function_start, name, &info);
		if (r < 0)
			return r;
	}
	return 0;
}

static int choose(struct builder *b)
{
	uint64_t done = 0;
	size_t symbol = 0;
	int r = collect_owners(b);
	for (size_t i = 0; i < b->owners.pieces.n && r == 0; i++) {
		const struct owned_piece *piece = &b->owners.pieces.items[i];
		r = add_symbols(b, done, piece->start, &symbol);
		if (r == 0)
			r = add_function(b, piece);
		done = piece->end;
	}
	return r < 0 ? r : add_symbols(b, done, UINT64_MAX, &symbol);
}

/* The numbers of names become offsets. */
static void settle_names(struct builder *b)
{
	vec_foreach(place, &b->info.name_places) {
		uint32_t number;
		memcpy(&number, b->info.out.data + *place, sizeof number);
		memcpy(b->info.out.data + *place, &b->name_offsets[number], sizeof number);
	}
}

/* What could not be read for want of memory, or from the disk, must not look like the whole. */
static int failure_of(const struct lines_input *input)
{
	if (input->file->failed)
		return input->file->failed;
	return input->file->supplement ? input->file->supplement->failed : 0;
}

static int read_all(struct builder *b, struct lines_output *ret, struct mw_error *e)
{
	const struct lines_input *input = b->input;
	const struct dwarf_listener listener = {b, on_unit, on_function, on_unit_end};
	if (input->n_symbols) {
		b->symbol_infos = calloc(input->n_symbols, sizeof *b->symbol_infos);
		if (!b->symbol_infos)
			return -ENOMEM;
	}
	dwarf_names_init(&b->names, input->file);
	int r = dwarf_functions_read(input->file, &b->names, &input->code, &listener, &ret->summary,
				     e);
	ret->misses_other = b->names.misses_other;
	if (r == 0 || r == -EBADMSG)
		r = failure_of(input) < 0 ? failure_of(input) : r;
	if (r == 0 && !b->info.out.n && !b->candidates.n) {
		if (ret->summary.damage.code && e)
			*e = ret->summary.damage;
		return ret->summary.damage.code ? ret->summary.damage.code : -ENODATA;
	}
	return r;
}

/* Behind the GSYM, where its other readers do not look. */
static int append_discriminators(struct builder *b, int out_fd, struct lines_output *ret,
				 struct mw_error *e)
{
	struct buffer out = {};
	source_files_write_discriminators(&b->files, &out);
	int r = out.failed ? -ENOMEM : io_write(out_fd, out.data, out.n);
	ret->size += out.n;
	buffer_deinit(&out);
	return r < 0 ? error_errno(e, r, "cannot write the discriminators") : 0;
}

static int finish(struct builder *b, int out_fd, struct lines_output *ret, struct mw_error *e)
{
	uint64_t limit = b->input->limit;
	int r = dwarf_names_write(&b->names, limit, &b->strings, &b->name_offsets);
	if (r == 0)
		r = failure_of(b->input);
	if (r == 0)
		r = source_files_write(&b->files, limit, &b->strings, &b->file_table);
	if (r == 0)
		r = choose(b);
	if (r == 0 && !b->records.n)
		r = -ENODATA;
	if (r < 0)
		return r;
	settle_names(b);
	struct gsym_parts parts = {b->records.items, b->records.n,     &b->file_table,
				   &b->strings,	     &b->info.out, b->input->id};
	ret->n_functions = b->records.n;
	r = gsym_assemble(&parts, limit, out_fd, &ret->size, e);
	return r < 0 ? r : append_discriminators(b, out_fd, ret, e);
}

int lines_build(const struct lines_input *input, int out_fd, struct lines_output *ret,
		struct mw_error *e)
{
	*ret = (struct lines_output){};
	struct builder b = {.input = input, .splits = &ret->splits};
	if (e)
		e->code = 0;
	int r = read_all(&b, ret, e);
	if (r == 0)
		r = finish(&b, out_fd, ret, e);
	builder_deinit(&b);
	if (r == -ENODATA)
		return error_set(e, r, "no functions and no lines in the debug information");
	if (r == -EFBIG)
		return error_set(e, r, "lines and calls need more than %llu bytes",
				 (unsigned long long)input->limit);
	if (r == -ENOMEM)
		return error_set(e, r, "out of memory for lines and calls");
	if (r < 0 && e && e->code != r)
		return error_errno(e, r, "cannot read the debug information");
	return r;
}
