/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/elf_builder.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <string.h>
#include <sys/mman.h>

/* Out of memory in a test is the end of the test. */
static void must(bool ok)
{
	if (!ok)
		abort();
}

struct elf_builder elf_builder_init(void)
{
	struct elf_builder b = {.type = ET_DYN, .machine = EM_X86_64, .entry = 0x1000};
	elf_builder_section(&b, (struct builder_section){.name = "", .type = SHT_NULL});
	return b;
}

void elf_builder_deinit(struct elf_builder *b)
{
	vec_foreach(s, &b->sections)
		free(s->copy);
	vec_deinit(&b->sections);
	vec_deinit(&b->segments);
	vec_deinit(&b->symbols);
}

void elf_builder_u16(const struct elf_builder *b, struct buffer *out, uint16_t v)
{
	buffer_u16(out, b->is_big ? __builtin_bswap16(v) : v);
}

void elf_builder_u32(const struct elf_builder *b, struct buffer *out, uint32_t v)
{
	buffer_u32(out, b->is_big ? __builtin_bswap32(v) : v);
}

void elf_builder_u64(const struct elf_builder *b, struct buffer *out, uint64_t v)
{
	buffer_u64(out, b->is_big ? __builtin_bswap64(v) : v);
}

void elf_builder_word(const struct elf_builder *b, struct buffer *out, uint64_t v)
{
	if (b->is32)
		elf_builder_u32(b, out, (uint32_t)v);
	else
		elf_builder_u64(b, out, v);
}

uint32_t elf_builder_section(struct elf_builder *b, struct builder_section section)
{
	if (section.data && section.size) {
		section.copy = malloc(section.size);
		must(section.copy);
		memcpy(section.copy, section.data, section.size);
	}
	section.data = NULL;
	must(vec_push(&b->sections, section) == 0);
	return (uint32_t)b->sections.n - 1;
}

void elf_builder_segment(struct elf_builder *b, struct builder_segment segment)
{
	must(vec_push(&b->segments, segment) == 0);
}

uint32_t elf_builder_text(struct elf_builder *b, uint64_t address, uint64_t size)
{
	_cleanup_free_ uint8_t *zeros = calloc(1, size);
	uint32_t text = elf_builder_section(b, (struct builder_section){
						       .name = ".text",
						       .type = SHT_PROGBITS,
						       .flags = SHF_ALLOC | SHF_EXECINSTR,
						       .address = address,
						       .data = zeros,
						       .size = size,
						       .align = 16,
					       });
	elf_builder_segment(b, (struct builder_segment){
				       .type = PT_LOAD, .flags = PF_R | PF_X, .section = text});
	return text;
}

void elf_builder_symbol(struct elf_builder *b, struct builder_symbol symbol)
{
	must(vec_push(&b->symbols, symbol) == 0);
}

static void put_symbol(const struct elf_builder *b, struct buffer *out, uint32_t name,
		       const struct builder_symbol *s)
{
	uint8_t info = ELF64_ST_INFO(s->bind, s->type);
	elf_builder_u32(b, out, name);
	if (b->is32) {
		elf_builder_u32(b, out, (uint32_t)s->value);
		elf_builder_u32(b, out, (uint32_t)s->size);
	}
	buffer_u8(out, info);
	buffer_u8(out, 0);
	elf_builder_u16(b, out, s->section);
	if (!b->is32) {
		elf_builder_u64(b, out, s->value);
		elf_builder_u64(b, out, s->size);
	}
}

uint32_t elf_builder_symbols(struct elf_builder *b, const char *name, uint32_t type)
{
	struct buffer symbols = {}, strings = {};
	buffer_u8(&strings, 0);
	put_symbol(b, &symbols, 0, &(struct builder_symbol){});
	vec_foreach(s, &b->symbols) {
		put_symbol(b, &symbols, (uint32_t)strings.n, s);
		buffer_bytes(&strings, s->name, strlen(s->name) + 1);
	}
	b->symbols.n = 0;
	uint32_t link = elf_builder_section(b, (struct builder_section){.name = ".strtab",
									.type = SHT_STRTAB,
									.data = strings.data,
									.size = strings.n,
									.align = 1});
	uint32_t section = elf_builder_section(
		b, (struct builder_section){.name = name,
					    .type = type,
					    .data = symbols.data,
					    .size = symbols.n,
					    .align = 8,
					    .entry_size = b->is32 ? sizeof(Elf32_Sym)
								  : sizeof(Elf64_Sym),
					    .link = link});
	buffer_deinit(&symbols);
	buffer_deinit(&strings);
	return section;
}

void elf_builder_note(const struct elf_builder *b, struct buffer *out, const char *name,
		      uint32_t name_size, uint32_t type, const void *data, uint32_t size,
		      uint32_t align)
{
	elf_builder_u32(b, out, name_size);
	elf_builder_u32(b, out, size);
	elf_builder_u32(b, out, type);
	buffer_bytes(out, name, name_size);
	buffer_align(out, align);
	buffer_bytes(out, data, size);
	buffer_align(out, align);
}

uint32_t elf_builder_notes(struct elf_builder *b, const char *name, const struct buffer *notes,
			   uint64_t align)
{
	uint32_t section = elf_builder_section(b, (struct builder_section){.name = name,
									   .type = SHT_NOTE,
									   .flags = SHF_ALLOC,
									   .data = notes->data,
									   .size = notes->n,
									   .align = align});
	elf_builder_segment(b, (struct builder_segment){
				       .type = PT_NOTE, .section = section, .align = align});
	return section;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_header(const struct elf_builder *b, struct buffer *out, uint32_t names)
{
	bool sections = !b->no_section_headers, extended = b->extended_numbering;
	uint8_t ident[EI_NIDENT] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				    b->is32 ? ELFCLASS32 : ELFCLASS64,
				    b->is_big ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT};
	buffer_bytes(out, ident, sizeof ident);
	elf_builder_u16(b, out, b->type);
	elf_builder_u16(b, out, b->machine);
	elf_builder_u32(b, out, EV_CURRENT);
	elf_builder_word(b, out, b->entry);
	elf_builder_word(b, out, b->segments.n ? b->program_headers_at : 0);
	elf_builder_word(b, out, sections ? b->section_headers_at : 0);
	elf_builder_u32(b, out, b->flags);
	elf_builder_u16(b, out, b->is32 ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr));
	elf_builder_u16(b, out, b->is32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr));
	elf_builder_u16(b, out, extended ? PN_XNUM : (uint16_t)b->segments.n);
	elf_builder_u16(b, out, b->is32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr));
	elf_builder_u16(b, out, sections && !extended ? (uint16_t)b->sections.n : 0);
	elf_builder_u16(b, out, !sections ? 0 : extended ? SHN_XINDEX : (uint16_t)names);
}

static void put_segment(const struct elf_builder *b, struct buffer *out, struct builder_segment s)
{
	if (s.section) {
		const struct builder_section *section = &b->sections.items[s.section];
		s.offset = section->offset;
		s.vaddr = section->address;
		s.file_size = s.file_size ? s.file_size : section->size;
	}
	s.mem_size = s.mem_size ? s.mem_size : s.file_size;
	elf_builder_u32(b, out, s.type);
	if (!b->is32)
		elf_builder_u32(b, out, s.flags);
	elf_builder_word(b, out, s.offset);
	elf_builder_word(b, out, s.vaddr);
	elf_builder_word(b, out, s.vaddr);
	elf_builder_word(b, out, s.file_size);
	elf_builder_word(b, out, s.mem_size);
	if (b->is32)
		elf_builder_u32(b, out, s.flags);
	elf_builder_word(b, out, s.align);
}

static void put_section(const struct elf_builder *b, struct buffer *out,
			const struct builder_section *s, uint32_t name)
{
	elf_builder_u32(b, out, name);
	elf_builder_u32(b, out, s->type);
	elf_builder_word(b, out, s->flags);
	elf_builder_word(b, out, s->address);
	elf_builder_word(b, out, s->offset);
	elf_builder_word(b, out, s->size);
	elf_builder_u32(b, out, s->link);
	elf_builder_u32(b, out, s->info);
	elf_builder_word(b, out, s->align);
	elf_builder_word(b, out, s->entry_size);
}

/* The section of section names, whose own name is in it. */
static uint32_t add_names(struct elf_builder *b)
{
	struct buffer names = {};
	vec_foreach(s, &b->sections)
		buffer_bytes(&names, s->name, strlen(s->name) + 1);
	buffer_bytes(&names, ".shstrtab", 10);
	uint32_t section = elf_builder_section(b, (struct builder_section){.name = ".shstrtab",
									   .type = SHT_STRTAB,
									   .data = names.data,
									   .size = names.n,
									   .align = 1});
	buffer_deinit(&names);
	return section;
}

static void put_section_headers(struct elf_builder *b, struct buffer *out, uint32_t names)
{
	if (b->extended_numbering) {
		struct builder_section *zero = &b->sections.items[0];
		zero->size = b->sections.n;
		zero->link = names;
		zero->info = (uint32_t)b->segments.n;
	}
	uint32_t name = 0;
	vec_foreach(s, &b->sections) {
		put_section(b, out, s, name);
		name += (uint32_t)strlen(s->name) + 1;
	}
}

void elf_builder_finish(struct elf_builder *b, struct buffer *ret)
{
	uint32_t names = add_names(b);
	size_t header = b->is32 ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
	size_t program_header = b->is32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	uint64_t at = header + b->segments.n * program_header;
	b->program_headers_at = header;
	vec_foreach(s, &b->sections) {
		uint64_t align = s->align ? s->align : 1;
		at = (at + align - 1) / align * align;
		s->offset = s->type == SHT_NULL ? 0 : at;
		at += s->type == SHT_NOBITS ? 0 : s->size;
	}
	b->section_headers_at = (at + 7) & ~UINT64_C(7);

	put_header(b, ret, names);
	vec_foreach(segment, &b->segments)
		put_segment(b, ret, *segment);
	vec_foreach(s, &b->sections) {
		if (s->type == SHT_NULL || s->type == SHT_NOBITS)
			continue;
		buffer_extend(ret, s->offset - ret->n);
		buffer_bytes(ret, s->copy, s->size);
	}
	if (!b->no_section_headers) {
		buffer_extend(ret, b->section_headers_at - ret->n);
		put_section_headers(b, ret, names);
	}
	must(!ret->failed);
}

int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	must(fd >= 0 && io_write(fd, data, size) == 0);
	return fd;
}

int elf_builder_fd(struct elf_builder *b)
{
	struct buffer file = {};
	elf_builder_finish(b, &file);
	int fd = memory_file(file.data, file.n);
	buffer_deinit(&file);
	return fd;
}
