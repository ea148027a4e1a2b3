/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "unwind/dwarf.h"

#include <string.h>

#define EH_FRAME_HEADER_MAX 32 /* version, three encodings, the pointer to .eh_frame */

void frame_section_deinit(struct frame_section *section)
{
	cfi_deinit(&section->cfi);
	free(section->data);
	*section = (struct frame_section){};
}

/* Takes the bytes. */
static void set_bytes(struct frame_section *section, const struct elf *elf, uint8_t *data,
		      uint64_t size, uint64_t address)
{
	static const int64_t tags[] = {DT_PLTGOT};
	*section = (struct frame_section){.data = data};
	struct cfi *cfi = &section->cfi;
	cfi->bytes = cursor_init(data, size, elf->swap);
	cfi->is64 = elf->is64;
	cfi->machine = elf->machine;
	cfi->address = address;
	elf_dynamic(elf, tags, 1, &cfi->data_base, NULL);
	vec_foreach(h, &elf->program_headers)
	{
		if (h->type == PT_LOAD && h->flags & PF_X && !cfi->text_base)
			cfi->text_base = h->vaddr;
	}
}

static int open_by_name(struct frame_section *section, struct elf *elf, const char *name,
			struct mw_error *e)
{
	const struct elf_section *s = elf_find_section(elf, name);
	uint8_t *data;
	uint64_t size;
	if (!s || s->type == SHT_NOBITS || !s->size)
		return error_set(e, -ENODATA, "no section %s", name);
	int r = elf_section_data(elf, s, EH_FRAME_MAX, &data, &size, e);
	if (r == 0)
		set_bytes(section, elf, data, size, s->address);
	return r;
}

/*
 *	u8 version (1), encoding of the pointer, of the count, of the table
 *	pointer to .eh_frame; the rest is a table for searching
 */
static int read_header(const struct elf *elf, const struct elf_program_header *h, uint64_t *ret)
{
	uint8_t bytes[EH_FRAME_HEADER_MAX];
	size_t size = (size_t)MIN(h->file_size, sizeof bytes);
	int r = source_read(&elf->source, h->offset, bytes, size);
	if (r < 0)
		return r;
	struct cursor c = cursor_init(bytes, size, elf->swap);
	uint8_t version = cursor_u8(&c), encoding = cursor_u8(&c);
	cursor_u16(&c);
	*ret = cfi_pointer(&c, encoding, elf->is64, h->vaddr, 0, h->vaddr, 0);
	return cursor_ok(&c) && version == 1 && encoding != DW_EH_PE_omit &&
			       !(encoding & DW_EH_PE_indirect)
		       ? 0
		       : -EBADMSG;
}

/* The bytes from an address to the end of the segment that loads it. */
static int open_at(struct frame_section *section, struct elf *elf, uint64_t address,
		   struct mw_error *e)
{
	vec_foreach(h, &elf->program_headers)
	{
		if (h->type != PT_LOAD || address < h->vaddr || address - h->vaddr >= h->file_size)
			continue;
		uint64_t into = address - h->vaddr, offset;
		if (__builtin_add_overflow(h->offset, into, &offset) || offset >= elf->source.size)
			break;
		uint64_t size = MIN(h->file_size - into, elf->source.size - offset);
		uint8_t *data;
		int r = source_read_new(&elf->source, offset, size, EH_FRAME_MAX, &data);
		if (r < 0)
			return error_errno(e, r, "cannot read .eh_frame");
		set_bytes(section, elf, data, size, address);
		section->cfi.stops_at_terminator = true;
		return 0;
	}
	return error_set(e, -EBADMSG, ".eh_frame lies in no segment");
}

static int open_by_header(struct frame_section *section, struct elf *elf, struct mw_error *e)
{
	vec_foreach(h, &elf->program_headers)
	{
		uint64_t address;
		if (h->type != PT_GNU_EH_FRAME)
			continue;
		int r = read_header(elf, h, &address);
		if (r < 0)
			return error_at(e, r, h->offset, ".eh_frame_hdr is damaged");
		return open_at(section, elf, address, e);
	}
	return error_set(e, -ENODATA, "no .eh_frame");
}

int frame_section_open_eh(struct frame_section *section, struct elf *elf, struct mw_error *e)
{
	int r = open_by_name(section, elf, ".eh_frame", e);
	if (r == 0 || r == -ENOMEM)
		return r;
	int by_header = open_by_header(section, elf, r == -ENODATA ? e : NULL);
	return by_header == 0 || by_header == -ENOMEM || r == -ENODATA ? by_header : r;
}

int frame_section_open_debug(struct frame_section *section, struct elf *elf, struct mw_error *e)
{
	int r = open_by_name(section, elf, ".debug_frame", e);
	if (r == -ENODATA)
		r = open_by_name(section, elf, ".zdebug_frame", e);
	if (r == 0)
		section->cfi.is_debug_frame = true;
	return r;
}
