/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ELF files made in memory, right ones and wrong ones: 32 and 64 bit, both byte orders. Everything
 * that a header says can be overridden after elf_builder_finish(), in the bytes.
 *
 *	struct elf_builder b = elf_builder_init();
 *	uint32_t text = elf_builder_text(&b, 0x1000, 0x100);
 *	elf_builder_symbol(&b, (struct builder_symbol){"f", 0x1000, 16, STT_FUNC, STB_GLOBAL, text});
 *	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
 *	int fd = elf_builder_fd(&b);
 *	elf_builder_deinit(&b);
 */
#ifndef TESTS_LIB_ELF_BUILDER_H
#define TESTS_LIB_ELF_BUILDER_H

#include "base/buffer.h"
#include "base/vec.h"

#include <elf.h>

struct builder_section {
	const char *name; /* outlives the builder */
	uint32_t type;
	uint64_t flags;
	uint64_t address;
	const void *data; /* copied when it is added */
	uint64_t size;
	uint64_t align;
	uint64_t entry_size;
	uint32_t link;
	uint32_t info;
	/* Filled by the builder. */
	uint8_t *copy;
	uint64_t offset;
};

struct builder_segment {
	uint32_t type;
	uint32_t flags;
	uint32_t section; /* covers this section; 0: offset, vaddr and file_size are given */
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_size; /* of a section's segment: 0 means the section's size */
	uint64_t mem_size;  /* 0: as file_size */
	uint64_t align;
};

struct builder_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint8_t type;
	uint8_t bind;
	uint16_t section;
};

struct elf_builder {
	bool is32;
	bool is_big;
	uint16_t type;
	uint16_t machine;
	uint32_t flags;
	uint64_t entry; /* 0x1000 */
	bool no_section_headers;
	bool extended_numbering; /* counts in section 0, as files with very many have them */
	VEC(struct builder_section) sections;
	VEC(struct builder_segment) segments;
	VEC(struct builder_symbol) symbols;
	/* Filled by elf_builder_finish(): where things are in the file. */
	uint64_t section_headers_at;
	uint64_t program_headers_at;
};

/* 64 bit, little endian, x86-64, ET_DYN. */
struct elf_builder elf_builder_init(void);
void elf_builder_deinit(struct elf_builder *b);

/* Values in the file's byte order; a word is 4 or 8 bytes. */
void elf_builder_u16(const struct elf_builder *b, struct buffer *out, uint16_t v);
void elf_builder_u32(const struct elf_builder *b, struct buffer *out, uint32_t v);
void elf_builder_u64(const struct elf_builder *b, struct buffer *out, uint64_t v);
void elf_builder_word(const struct elf_builder *b, struct buffer *out, uint64_t v);

/* Adds a section and gives its number. */
uint32_t elf_builder_section(struct elf_builder *b, struct builder_section section);
void elf_builder_segment(struct elf_builder *b, struct builder_segment segment);
/* An executable section of zeros with its PT_LOAD. */
uint32_t elf_builder_text(struct elf_builder *b, uint64_t address, uint64_t size);

/* Symbols are collected, then written with their strings as two sections. */
void elf_builder_symbol(struct elf_builder *b, struct builder_symbol symbol);
uint32_t elf_builder_symbols(struct elf_builder *b, const char *name, uint32_t type);

/* Appends a note, name and descriptor padded to align. name_size counts the NUL. */
void elf_builder_note(const struct elf_builder *b, struct buffer *out, const char *name,
		      uint32_t name_size, uint32_t type, const void *data, uint32_t size,
		      uint32_t align);
/* A note section with its PT_NOTE. */
uint32_t elf_builder_notes(struct elf_builder *b, const char *name, const struct buffer *notes,
			   uint64_t align);

/* The whole file; ret is empty before. */
void elf_builder_finish(struct elf_builder *b, struct buffer *ret);
/* The same as a file without a name. */
int elf_builder_fd(struct elf_builder *b);
/* Any bytes as a file without a name. */
int memory_file(const void *data, size_t size);

#endif
