/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/dwarf_builder.h"

#include <stdarg.h>
#include <string.h>

#define LINE_BASE   (-5)
#define LINE_RANGE  14
#define OPCODE_BASE 13

struct dwarf_builder dwarf_builder_init(uint8_t version, uint8_t offset_size, bool is32, bool is_big)
{
	struct dwarf_builder b = {.elf = elf_builder_init(), .version = version,
				  .offset_size = offset_size};
	b.elf.is32 = is32;
	b.elf.is_big = is_big;
	elf_builder_text(&b.elf, DWARF_TEXT_START, DWARF_TEXT_SIZE);
	return b;
}

void dwarf_builder_deinit(struct dwarf_builder *b)
{
	buffer_deinit(&b->info);
	buffer_deinit(&b->types);
	buffer_deinit(&b->abbrev);
	buffer_deinit(&b->line);
	buffer_deinit(&b->str);
	buffer_deinit(&b->line_str);
	buffer_deinit(&b->ranges);
	buffer_deinit(&b->addr);
	buffer_deinit(&b->str_offsets);
	elf_builder_deinit(&b->elf);
}

static void add_section(struct dwarf_builder *b, const char *name, const struct buffer *contents)
{
	if (contents->n)
		elf_builder_section(&b->elf, (struct builder_section){.name = name,
								      .type = SHT_PROGBITS,
								      .data = contents->data,
								      .size = contents->n});
}

void dwarf_builder_finish(struct dwarf_builder *b, struct buffer *ret)
{
	dwarf_uleb(&b->abbrev, 0);
	add_section(b, ".debug_info", &b->info);
	add_section(b, ".debug_types", &b->types);
	add_section(b, ".debug_abbrev", &b->abbrev);
	add_section(b, ".debug_line", &b->line);
	add_section(b, ".debug_str", &b->str);
	add_section(b, ".debug_line_str", &b->line_str);
	add_section(b, b->version >= 5 ? ".debug_rnglists" : ".debug_ranges", &b->ranges);
	add_section(b, ".debug_addr", &b->addr);
	add_section(b, ".debug_str_offsets", &b->str_offsets);
	elf_builder_finish(&b->elf, ret);
}

int dwarf_builder_fd(struct dwarf_builder *b)
{
	struct buffer file = {};
	dwarf_builder_finish(b, &file);
	int fd = memory_file(file.data, file.n);
	buffer_deinit(&file);
	dwarf_builder_deinit(b);
	return fd;
}

/* ---- values ---------------------------------------------------------------------------------- */

void dwarf_uleb(struct buffer *out, uint64_t v)
{
	buffer_uleb(out, v);
}

void dwarf_sleb(struct buffer *out, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		buffer_u8(out, (uint8_t)(v | 0x80));
	buffer_u8(out, (uint8_t)(v & 0x7f));
}

void dwarf_text(struct buffer *out, const char *text)
{
	buffer_bytes(out, text, strlen(text) + 1);
}

void dwarf_u8(struct buffer *out, uint8_t v)
{
	buffer_u8(out, v);
}

void dwarf_u16(const struct dwarf_builder *b, struct buffer *out, uint16_t v)
{
	elf_builder_u16(&b->elf, out, v);
}

void dwarf_u32(const struct dwarf_builder *b, struct buffer *out, uint32_t v)
{
	elf_builder_u32(&b->elf, out, v);
}

void dwarf_u64(const struct dwarf_builder *b, struct buffer *out, uint64_t v)
{
	elf_builder_u64(&b->elf, out, v);
}

void dwarf_address(const struct dwarf_builder *b, struct buffer *out, uint64_t v)
{
	elf_builder_word(&b->elf, out, v);
}

void dwarf_offset(const struct dwarf_builder *b, struct buffer *out, uint64_t v)
{
	if (b->offset_size == 8)
		dwarf_u64(b, out, v);
	else
		dwarf_u32(b, out, (uint32_t)v);
}

uint64_t dwarf_string_in(struct buffer *section, const char *text)
{
	uint64_t offset = section->n;
	dwarf_text(section, text);
	return offset;
}

/* A length that is not known yet, and what it is in the end. */
static void begin_length(const struct dwarf_builder *b, struct buffer *out)
{
	if (b->offset_size == 8)
		dwarf_u32(b, out, UINT32_MAX);
	dwarf_offset(b, out, 0);
}

static void set_offset(const struct dwarf_builder *b, struct buffer *out, size_t at, uint64_t v)
{
	struct buffer value = {};
	dwarf_offset(b, &value, v);
	memcpy(out->data + at, value.data, value.n);
	buffer_deinit(&value);
}

static void end_length(const struct dwarf_builder *b, struct buffer *out, size_t start)
{
	size_t at = start + (b->offset_size == 8 ? 4 : 0);
	set_offset(b, out, at, out->n - at - b->offset_size);
}

/* ---- abbreviations and units ----------------------------------------------------------------- */

void dwarf_abbreviation(struct dwarf_builder *b, unsigned code, unsigned tag, int has_children, ...)
{
	va_list list;
	va_start(list, has_children);
	dwarf_uleb(&b->abbrev, code);
	dwarf_uleb(&b->abbrev, tag);
	dwarf_u8(&b->abbrev, (uint8_t)has_children);
	for (;;) {
		unsigned attribute = va_arg(list, unsigned);
		if (!attribute)
			break;
		unsigned form = va_arg(list, unsigned);
		dwarf_uleb(&b->abbrev, attribute);
		dwarf_uleb(&b->abbrev, form);
		if (form == DW_FORM_implicit_const)
			dwarf_sleb(&b->abbrev, va_arg(list, int));
	}
	dwarf_uleb(&b->abbrev, 0);
	dwarf_uleb(&b->abbrev, 0);
	va_end(list);
}

void dwarf_unit_begin(struct dwarf_builder *b, uint8_t kind)
{
	uint8_t address_size = b->elf.is32 ? 4 : 8;
	b->unit = b->info.n;
	begin_length(b, &b->info);
	dwarf_u16(b, &b->info, b->version);
	if (b->version >= 5) {
		dwarf_u8(&b->info, kind);
		dwarf_u8(&b->info, address_size);
		dwarf_offset(b, &b->info, 0);
	} else {
		dwarf_offset(b, &b->info, 0);
		dwarf_u8(&b->info, address_size);
	}
}

void dwarf_unit_end(struct dwarf_builder *b)
{
	end_length(b, &b->info, b->unit);
}

uint32_t dwarf_here(const struct dwarf_builder *b)
{
	return (uint32_t)(b->info.n - b->unit);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_old_files(struct dwarf_builder *b)
{
	static const char *const names[] = {"a.c", "b.h"};
	dwarf_u8(&b->line, 0); /* no directories */
	for (int i = 0; i < 2; i++) {
		dwarf_text(&b->line, names[i]);
		for (int n = 0; n < 3; n++)
			dwarf_uleb(&b->line, 0);
	}
	dwarf_u8(&b->line, 0);
}

static void put_new_files(struct dwarf_builder *b)
{
	static const char *const names[] = {"a.c", "a.c", "b.h"};
	dwarf_u8(&b->line, 1);
	dwarf_uleb(&b->line, DW_LNCT_path);
	dwarf_uleb(&b->line, DW_FORM_string);
	dwarf_uleb(&b->line, 1);
	dwarf_text(&b->line, "/s");
	dwarf_u8(&b->line, 3);
	dwarf_uleb(&b->line, DW_LNCT_path);
	dwarf_uleb(&b->line, DW_FORM_string);
	dwarf_uleb(&b->line, DW_LNCT_directory_index);
	dwarf_uleb(&b->line, DW_FORM_udata);
	dwarf_uleb(&b->line, 5); /* MD5 */
	dwarf_uleb(&b->line, DW_FORM_data16);
	dwarf_uleb(&b->line, 3);
	for (int i = 0; i < 3; i++) {
		dwarf_text(&b->line, names[i]);
		dwarf_uleb(&b->line, 0);
		buffer_extend(&b->line, 16);
	}
}

static void reset_row(struct dwarf_builder *b)
{
	b->row_address = 0;
	b->row_line = 1;
}

void dwarf_lines_begin(struct dwarf_builder *b)
{
	static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	b->lines = b->line.n;
	begin_length(b, &b->line);
	dwarf_u16(b, &b->line, b->version);
	if (b->version >= 5) {
		dwarf_u8(&b->line, b->elf.is32 ? 4 : 8);
		dwarf_u8(&b->line, 0);
	}
	size_t header = b->line.n;
	dwarf_offset(b, &b->line, 0);
	dwarf_u8(&b->line, 1); /* length of an instruction */
	if (b->version >= 4)
		dwarf_u8(&b->line, 1);
	dwarf_u8(&b->line, 1);
	dwarf_u8(&b->line, (uint8_t)LINE_BASE);
	dwarf_u8(&b->line, LINE_RANGE);
	dwarf_u8(&b->line, OPCODE_BASE);
	buffer_bytes(&b->line, operands, sizeof operands);
	if (b->version >= 5)
		put_new_files(b);
	else
		put_old_files(b);
	set_offset(b, &b->line, header, b->line.n - header - b->offset_size);
	reset_row(b);
}

void dwarf_lines_set_address(struct dwarf_builder *b, uint64_t address)
{
	dwarf_u8(&b->line, 0);
	dwarf_uleb(&b->line, b->elf.is32 ? 5 : 9);
	dwarf_u8(&b->line, DW_LNE_set_address);
	dwarf_address(b, &b->line, address);
	b->row_address = address;
}

void dwarf_lines_row(struct dwarf_builder *b, uint64_t address, uint32_t line)
{
	int64_t by = (int64_t)line - b->row_line;
	uint64_t step = address - b->row_address;
	if (by < LINE_BASE || by >= LINE_BASE + LINE_RANGE) {
		dwarf_u8(&b->line, DW_LNS_advance_line);
		dwarf_sleb(&b->line, by);
		by = 0;
	}
	uint64_t opcode = (uint64_t)(by - LINE_BASE) + step * LINE_RANGE + OPCODE_BASE;
	if (opcode > UINT8_MAX) {
		dwarf_u8(&b->line, DW_LNS_advance_pc);
		dwarf_uleb(&b->line, step);
		opcode = (uint64_t)(by - LINE_BASE) + OPCODE_BASE;
	}
	dwarf_u8(&b->line, (uint8_t)opcode);
	b->row_address = address;
	b->row_line = line;
}

void dwarf_lines_file(struct dwarf_builder *b, uint32_t file)
{
	dwarf_u8(&b->line, DW_LNS_set_file);
	dwarf_uleb(&b->line, file);
}

void dwarf_lines_end_sequence(struct dwarf_builder *b, uint64_t address)
{
	dwarf_u8(&b->line, DW_LNS_advance_pc);
	dwarf_uleb(&b->line, address - b->row_address);
	dwarf_u8(&b->line, 0);
	dwarf_uleb(&b->line, 1);
	dwarf_u8(&b->line, DW_LNE_end_sequence);
	reset_row(b);
}

void dwarf_lines_end(struct dwarf_builder *b)
{
	end_length(b, &b->line, b->lines);
}
