/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "elf/unpack.h"

#include <string.h>

/* Names of sections; C++ with one section per function has some megabytes. */
#define SECTION_NAMES_MAX (UINT64_C(64) << 20)
/* Entries of a dynamic segment that are looked at; real ones have some dozens. */
#define DYNAMIC_MAX 4096

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ELFDATA_HERE ELFDATA2LSB
#else
#define ELFDATA_HERE ELFDATA2MSB
#endif

uint16_t elf_u16(const struct elf *elf, const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return elf->swap ? __builtin_bswap16(v) : v;
}

uint32_t elf_u32(const struct elf *elf, const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return elf->swap ? __builtin_bswap32(v) : v;
}

uint64_t elf_u64(const struct elf *elf, const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return elf->swap ? __builtin_bswap64(v) : v;
}

/* An address, offset or size of the file's class. */
static uint64_t read_word(const struct elf *elf, struct cursor *c)
{
	return elf->is64 ? cursor_u64(c) : cursor_u32(c);
}

/* ---- opening --------------------------------------------------------------------------------- */

struct header_claims {
	uint64_t program_offset;
	uint16_t program_count;
	uint16_t program_entry_size;
};

static int check_ident(struct elf *elf, const uint8_t *ident, struct mw_error *e)
{
	if (memcmp(ident, ELFMAG, SELFMAG) != 0)
		return error_at(e, -EBADMSG, 0, "not an ELF file");
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return error_at(e, -EBADMSG, EI_CLASS, "unknown ELF class %u", ident[EI_CLASS]);
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return error_at(e, -EBADMSG, EI_DATA, "unknown ELF byte order %u", ident[EI_DATA]);
	elf->is64 = ident[EI_CLASS] == ELFCLASS64;
	elf->swap = ident[EI_DATA] != ELFDATA_HERE;
	return 0;
}

static int read_header(struct elf *elf, struct header_claims *ret, struct mw_error *e)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	int r = source_read(&elf->source, 0, bytes, EI_NIDENT);
	if (r == -EBADMSG)
		return error_set(e, r, "not an ELF file: it has only %llu bytes",
				 (unsigned long long)elf->source.size);
	if (r < 0)
		return error_errno(e, r, "cannot read the ELF header");
	r = check_ident(elf, bytes, e);
	if (r < 0)
		return r;
	size_t size = elf->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	r = source_read(&elf->source, 0, bytes, size);
	if (r < 0)
		return error_errno(e, r, "the ELF header is cut: the file has %llu bytes",
				   (unsigned long long)elf->source.size);

	struct cursor c = cursor_init(bytes, size, elf->swap);
	cursor_bytes(&c, EI_NIDENT);
	elf->type = cursor_u16(&c);
	elf->machine = cursor_u16(&c);
	cursor_u32(&c); /* version: always 1, and nothing depends on it */
	elf->entry = read_word(elf, &c);
	ret->program_offset = read_word(elf, &c);
	elf->section_offset = read_word(elf, &c);
	elf->flags = cursor_u32(&c);
	cursor_u16(&c); /* size of this header */
	ret->program_entry_size = cursor_u16(&c);
	ret->program_count = cursor_u16(&c);
	elf->section_entry_size = cursor_u16(&c);
	elf->section_count = cursor_u16(&c);
	elf->section_names_index = cursor_u16(&c);
	return 0;
}

static struct elf_program_header parse_program_header(const struct elf *elf, struct cursor *c)
{
	struct elf_program_header h = {.type = cursor_u32(c)};
	if (elf->is64)
		h.flags = cursor_u32(c);
	h.offset = read_word(elf, c);
	h.vaddr = read_word(elf, c);
	read_word(elf, c); /* physical address */
	h.file_size = read_word(elf, c);
	h.mem_size = read_word(elf, c);
	if (!elf->is64)
		h.flags = cursor_u32(c);
	h.align = read_word(elf, c);
	return h;
}

static size_t section_header_size(const struct elf *elf)
{
	return elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static struct elf_section parse_section(const struct elf *elf, struct cursor *c)
{
	struct elf_section s = {.name = cursor_u32(c), .type = cursor_u32(c)};
	s.flags = read_word(elf, c);
	s.address = read_word(elf, c);
	s.offset = read_word(elf, c);
	s.size = read_word(elf, c);
	s.link = cursor_u32(c);
	s.info = cursor_u32(c);
	s.align = read_word(elf, c);
	s.entry_size = read_word(elf, c);
	return s;
}

/* Section 0 describes nothing; it keeps the numbers that do not fit the header's 16 bits. */
static int read_section_zero(const struct elf *elf, struct elf_section *ret)
{
	uint8_t bytes[sizeof(Elf64_Shdr)];
	size_t size = section_header_size(elf);
	if (!elf->section_offset || elf->section_entry_size != size)
		return -ENODATA;
	int r = source_read(&elf->source, elf->section_offset, bytes, size);
	if (r < 0)
		return r;
	struct cursor c = cursor_init(bytes, size, elf->swap);
	*ret = parse_section(elf, &c);
	return 0;
}

static uint64_t count_program_headers(const struct elf *elf, const struct header_claims *claims)
{
	struct elf_section zero;
	if (claims->program_count != PN_XNUM || read_section_zero(elf, &zero) < 0)
		return claims->program_count;
	return zero.info;
}

/* Reads the program headers that are there: a table that is cut is used as far as it is whole. */
static int read_program_headers(struct elf *elf, const struct header_claims *claims,
				struct mw_error *e)
{
	size_t size = elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint64_t n = count_program_headers(elf, claims);
	if (n == 0 || claims->program_offset == 0)
		return 0;
	if (claims->program_entry_size != size)
		return error_set(e, -EBADMSG, "program headers of %u bytes instead of %zu",
				 claims->program_entry_size, size);
	if (n > ELF_MAX_PROGRAM_HEADERS)
		return error_set(e, -EBADMSG, "%llu program headers", (unsigned long long)n);
	uint64_t whole = claims->program_offset < elf->source.size
				 ? (elf->source.size - claims->program_offset) / size
				 : 0;
	if (whole < n) {
		elf->is_truncated = true;
		n = whole;
	}
	_cleanup_free_ uint8_t *bytes = NULL;
	int r = n ? source_read_new(&elf->source, claims->program_offset, n * size, SIZE_MAX, &bytes)
		  : 0;
	if (r < 0)
		return error_errno(e, r, "cannot read the program headers");
	if (vec_reserve(&elf->program_headers, n) < 0)
		return error_set(e, -ENOMEM, "out of memory");
	struct cursor c = cursor_init(bytes, n * size, elf->swap);
	for (uint64_t i = 0; i < n; i++)
		elf->program_headers.items[elf->program_headers.n++] = parse_program_header(elf, &c);
	return 0;
}

/* Do the headers speak of bytes that the file does not have? */
static bool is_truncated(const struct elf *elf)
{
	vec_foreach(h, &elf->program_headers) {
		if (h->file_size && !source_has(&elf->source, h->offset, h->file_size))
			return true;
	}
	return !source_has(&elf->source, elf->section_offset,
			   (uint64_t)elf->section_count * elf->section_entry_size);
}

static int open_source(struct elf *elf, struct source source, struct mw_error *e)
{
	*elf = (struct elf){.source = source, .sections_state = 1};
	struct header_claims claims = {};
	int r = read_header(elf, &claims, e);
	if (r == 0)
		r = read_program_headers(elf, &claims, e);
	if (r < 0) {
		elf_deinit(elf);
		return r;
	}
	elf->is_truncated = elf->is_truncated || is_truncated(elf);
	return 0;
}

int elf_open(struct elf *elf, int fd, struct mw_error *e)
{
	struct source source;
	*elf = (struct elf){};
	int r = source_of_fd(fd, &source, e);
	return r < 0 ? r : open_source(elf, source, e);
}

int elf_open_memory(struct elf *elf, const void *data, uint64_t size, struct mw_error *e)
{
	return open_source(elf, source_of_memory(data, size), e);
}

void elf_deinit(struct elf *elf)
{
	vec_deinit(&elf->program_headers);
	vec_deinit(&elf->sections);
	free(elf->section_names);
	*elf = (struct elf){};
}

/* ---- segments -------------------------------------------------------------------------------- */

int elf_offset_to_address(const struct elf *elf, uint64_t offset, uint64_t *ret,
			  uint32_t *ret_flags)
{
	const struct elf_program_header *found = NULL;
	vec_foreach(h, &elf->program_headers) {
		if (h->type != PT_LOAD || offset < h->offset || offset - h->offset >= h->file_size)
			continue;
		if (!found || (!(found->flags & PF_X) && h->flags & PF_X))
			found = h;
	}
	if (!found)
		return 0;
	*ret = found->vaddr + (offset - found->offset);
	if (ret_flags)
		*ret_flags = found->flags;
	return 1;
}

int elf_address_to_offset(const struct elf *elf, uint64_t address, uint64_t *ret)
{
	vec_foreach(h, &elf->program_headers) {
		if (h->type != PT_LOAD || address < h->vaddr || address - h->vaddr >= h->file_size)
			continue;
		*ret = h->offset + (address - h->vaddr);
		return 1;
	}
	return 0;
}

int elf_dynamic(const struct elf *elf, const int64_t *tags, size_t n, uint64_t *ret,
		struct mw_error *e)
{
	memset(ret, 0, n * sizeof *ret);
	const struct elf_program_header *dynamic = NULL;
	vec_foreach(h, &elf->program_headers) {
		if (h->type == PT_DYNAMIC && !dynamic)
			dynamic = h;
	}
	if (!dynamic || dynamic->offset >= elf->source.size)
		return error_set(e, -ENODATA, "no dynamic segment");
	size_t entry = elf->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	uint64_t size = MIN(dynamic->file_size, elf->source.size - dynamic->offset);
	size = MIN(size, DYNAMIC_MAX * entry);
	_cleanup_free_ uint8_t *bytes = NULL;
	int r = source_read_new(&elf->source, dynamic->offset, size, SIZE_MAX, &bytes);
	if (r < 0)
		return error_errno(e, r, "cannot read the dynamic segment");

	struct cursor c = cursor_init(bytes, size, elf->swap);
	int found = 0;
	while (cursor_left(&c) >= entry) {
		int64_t tag = elf->is64 ? (int64_t)cursor_u64(&c) : (int32_t)cursor_u32(&c);
		uint64_t value = read_word(elf, &c);
		if (tag == DT_NULL)
			break;
		for (size_t i = 0; i < n; i++) {
			if (tags[i] == tag && !ret[i]) {
				ret[i] = value;
				found += value != 0;
			}
		}
	}
	return found;
}

/* ---- sections -------------------------------------------------------------------------------- */

/* Without names the sections are still found by their type, so only want of memory is an error. */
static int load_section_names(struct elf *elf, const struct elf_section *zero)
{
	uint32_t index = elf->section_names_index == SHN_XINDEX ? zero->link
								: elf->section_names_index;
	if (index == SHN_UNDEF || index >= elf->sections.n)
		return 0;
	const struct elf_section *names = &elf->sections.items[index];
	if (names->type == SHT_NOBITS)
		return 0;
	uint8_t *bytes;
	int r = source_read_new(&elf->source, names->offset, names->size, SECTION_NAMES_MAX, &bytes);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	elf->section_names = (char *)bytes;
	elf->section_names_size = names->size;
	return 0;
}

/* The count is believed only after it was held against the file's size. */
static int load_sections(struct elf *elf, struct mw_error *e)
{
	if (!elf->section_offset)
		return error_set(e, -ENODATA, "no section headers");
	size_t size = section_header_size(elf);
	if (elf->section_entry_size != size)
		return error_set(e, -EBADMSG, "section headers of %u bytes instead of %zu",
				 elf->section_entry_size, size);
	struct elf_section zero;
	int r = read_section_zero(elf, &zero);
	if (r < 0)
		return error_at(e, r, elf->section_offset,
				"the section headers lie behind the end of the file (%llu bytes)",
				(unsigned long long)elf->source.size);
	uint64_t n = elf->section_count ? elf->section_count : zero.size;
	if (n == 0)
		return error_set(e, -ENODATA, "no section headers");
	if (n > ELF_MAX_SECTIONS)
		return error_at(e, -EBADMSG, elf->section_offset, "%llu sections",
				(unsigned long long)n);
	_cleanup_free_ uint8_t *bytes = NULL;
	r = source_read_new(&elf->source, elf->section_offset, n * size, SIZE_MAX, &bytes);
	if (r == -ENOMEM || vec_reserve(&elf->sections, n) < 0)
		return error_set(e, -ENOMEM, "out of memory");
	if (r < 0)
		return error_at(e, r, elf->section_offset,
				"the table of %llu sections is cut off by the end of the file"
				" (%llu bytes)",
				(unsigned long long)n, (unsigned long long)elf->source.size);
	struct cursor c = cursor_init(bytes, n * size, elf->swap);
	for (uint64_t i = 0; i < n; i++)
		elf->sections.items[elf->sections.n++] = parse_section(elf, &c);
	r = load_section_names(elf, &zero);
	return r < 0 ? error_set(e, r, "out of memory") : 0;
}

int elf_load_sections(struct elf *elf, struct mw_error *e)
{
	if (elf->sections_state == 1)
		elf->sections_state = load_sections(elf, &elf->sections_error);
	if (elf->sections_state < 0 && e)
		*e = elf->sections_error;
	return elf->sections_state;
}

const char *elf_section_name(const struct elf *elf, const struct elf_section *section)
{
	if (!elf->section_names || section->name >= elf->section_names_size)
		return "";
	return elf->section_names + section->name;
}

const struct elf_section *elf_find_section(struct elf *elf, const char *name)
{
	if (elf_load_sections(elf, NULL) < 0)
		return NULL;
	vec_foreach(s, &elf->sections) {
		if (strcmp(elf_section_name(elf, s), name) == 0)
			return s;
	}
	return NULL;
}

const struct elf_section *elf_find_section_of_type(struct elf *elf, uint32_t type)
{
	if (elf_load_sections(elf, NULL) < 0)
		return NULL;
	vec_foreach(s, &elf->sections) {
		if (s->type == type)
			return s;
	}
	return NULL;
}

/* ---- contents of sections -------------------------------------------------------------------- */

struct packing {
	uint32_t type; /* ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, 0: not packed */
	size_t header;
	uint64_t size; /* unpacked */
};

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* How the section is packed, from its flags and first bytes; a header that is cut gives type 0. */
static struct packing read_packing(const struct elf *elf, const struct elf_section *section,
				   const uint8_t *bytes)
{
	struct packing p = {};
	struct cursor c = cursor_init(bytes, section->size, elf->swap);
	if (section->flags & SHF_COMPRESSED) {
		p.type = cursor_u32(&c);
		if (elf->is64)
			cursor_u32(&c); /* reserved */
		p.size = read_word(elf, &c);
		read_word(elf, &c); /* alignment */
		p.header = cursor_offset(&c);
	} else if (section->size >= 12 && memcmp(bytes, "ZLIB", 4) == 0 &&
		   strncmp(elf_section_name(elf, section), ".zdebug", 7) == 0) {
		uint64_t size;
		memcpy(&size, bytes + 4, sizeof size); /* big endian in every file */
		p = (struct packing){.type = ELFCOMPRESS_ZLIB, .header = 12,
				     .size = ELFDATA_HERE == ELFDATA2LSB ? __builtin_bswap64(size)
									 : size};
	}
	if (!cursor_ok(&c))
		p.type = 0;
	return p;
}

static int unpack(const struct packing *packing, const uint8_t *bytes, uint64_t n, uint8_t **ret)
{
	bytes += packing->header;
	n -= packing->header;
	switch (packing->type) {
	case ELFCOMPRESS_ZLIB:
		return unpack_zlib(bytes, n, packing->size, ret);
	case ELFCOMPRESS_ZSTD:
		return unpack_zstd(bytes, n, packing->size, ret);
	default:
		return -EBADMSG;
	}
}

static int section_error(struct mw_error *e, int r, const struct elf *elf,
			 const struct elf_section *section)
{
	const char *name = elf_section_name(elf, section);
	return error_at(e, r, section->offset, "section %.64s of %llu bytes: %s", name,
			(unsigned long long)section->size,
			r == -EFBIG     ? "too large"
			: r == -ENODATA ? "it has no bytes in this file"
			: r == -ENOMEM  ? "out of memory"
			: source_has(&elf->source, section->offset, section->size)
				? "damaged contents"
				: "it ends behind the end of the file");
}

int elf_section_data(struct elf *elf, const struct elf_section *section, uint64_t limit,
		     uint8_t **ret, uint64_t *ret_size, struct mw_error *e)
{
	*ret = NULL;
	*ret_size = 0;
	if (section->type == SHT_NOBITS)
		return section_error(e, -ENODATA, elf, section);
	if (section->size == 0)
		return 0;
	_cleanup_free_ uint8_t *bytes = NULL;
	int r = source_read_new(&elf->source, section->offset, section->size, limit, &bytes);
	if (r < 0)
		return section_error(e, r, elf, section);
	struct packing packing = read_packing(elf, section, bytes);
	if (!packing.type && !(section->flags & SHF_COMPRESSED)) {
		*ret = take_ptr(bytes);
		*ret_size = section->size;
		return 0;
	}
	r = packing.size > limit ? -EFBIG : unpack(&packing, bytes, section->size, ret);
	if (r < 0)
		return section_error(e, r, elf, section);
	*ret_size = packing.size;
	return 0;
}
