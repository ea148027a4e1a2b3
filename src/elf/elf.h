/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One view over an untrusted ELF file: 32 and 64 bit, both byte orders, any machine.
 *
 * What is opened is the header and the program headers; that alone makes a file usable, and is all
 * that a mapped file needs. Sections are read when somebody asks for them for the first time. If
 * they are missing or damaged, that is their reader's error and the rest goes on working: a file
 * that was cut is used as far as it is whole.
 *
 * All conversions between file offsets and virtual addresses go by the segments' size in the file.
 * The size in memory counts .bss, which lies over file offsets that belong to others.
 */
#ifndef ELF_ELF_H
#define ELF_ELF_H

#include "base/vec.h"
#include "elf/source.h"

#include <elf.h>

/* Tables larger than these are refused as a whole: no linker makes them. */
#define ELF_MAX_PROGRAM_HEADERS 100000
#define ELF_MAX_SECTIONS        200000

/* A program header in this machine's order, whatever the class of the file. */
struct elf_program_header {
	uint32_t type;
	uint32_t flags; /* PF_X, ... */
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_size;
	uint64_t mem_size;
	uint64_t align;
};

struct elf_section {
	uint32_t name; /* offset in the table of section names */
	uint32_t type;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	uint64_t entry_size;
	uint64_t align;
	uint32_t link;
	uint32_t info;
};

struct elf {
	struct source source;
	bool is64;
	bool swap;         /* the file has the other byte order than this machine */
	bool is_truncated; /* a segment, a program header or the section table ends behind the end */
	uint16_t type;     /* ET_EXEC, ... */
	uint16_t machine;
	uint32_t flags;
	uint64_t entry;

	VEC(struct elf_program_header) program_headers; /* those that are there, in their order */

	/* Filled by elf_load_sections(). */
	int sections_state; /* 1 not loaded yet, 0 loaded, or the -errno of loading */
	struct mw_error sections_error;
	VEC(struct elf_section) sections;
	char *section_names; /* ends in NUL; NULL if there are none */
	uint64_t section_names_size;

	/* The header's claims about the sections. */
	uint64_t section_offset;
	uint16_t section_count;
	uint16_t section_entry_size;
	uint16_t section_names_index;
};

/* -EBADMSG if it is no ELF file or nothing of it is usable. Keeps the descriptor, does not own it. */
int elf_open(struct elf *elf, int fd, struct mw_error *e);
/* The same over memory that outlives the view. */
int elf_open_memory(struct elf *elf, const void *data, uint64_t size, struct mw_error *e);
/* Takes a zeroed view, too. */
void elf_deinit(struct elf *elf);

/*
 * The virtual address of a byte of the file, from the segment that is loaded from there; where
 * several are, an executable one. Returns 1 and the segment's flags (PF_X tells code), or 0 if no
 * segment loads it. ret_flags may be NULL.
 */
int elf_offset_to_address(const struct elf *elf, uint64_t offset, uint64_t *ret,
			  uint32_t *ret_flags);
/* The byte of the file that is loaded at an address. 1, or 0 if there is none (.bss too). */
int elf_address_to_offset(const struct elf *elf, uint64_t address, uint64_t *ret);

/* Loads the section table once; later calls give the first one's result. -ENODATA: it has none. */
int elf_load_sections(struct elf *elf, struct mw_error *e);
/* "" where the file has no valid name for it. */
const char *elf_section_name(const struct elf *elf, const struct elf_section *section);
/* The first section with a name, or of a type; NULL if there is none (or no sections at all). */
const struct elf_section *elf_find_section(struct elf *elf, const char *name);
const struct elf_section *elf_find_section_of_type(struct elf *elf, uint32_t type);

/*
 * The section's contents, unpacked if they are compressed (zlib, zstd, and the older .zdebug form),
 * in new memory that the caller frees. *ret is NULL if the size is 0. -EFBIG if they have more than
 * limit bytes, packed or unpacked; -ENODATA if the file has no bytes for it (SHT_NOBITS).
 */
int elf_section_data(struct elf *elf, const struct elf_section *section, uint64_t limit,
		     uint8_t **ret, uint64_t *ret_size, struct mw_error *e);

/*
 * The dynamic segment's entries by tag. Values that are addresses are addresses. Returns how many of
 * the tags were found; ret[i] is 0 for those that were not. -ENODATA if the file has none.
 */
int elf_dynamic(const struct elf *elf, const int64_t *tags, size_t n, uint64_t *ret,
		struct mw_error *e);

/* Values of the file's class and byte order in bytes that were read from it. */
uint16_t elf_u16(const struct elf *elf, const void *p);
uint32_t elf_u32(const struct elf *elf, const void *p);
uint64_t elf_u64(const struct elf *elf, const void *p);

#endif
