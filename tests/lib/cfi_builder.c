/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/cfi_builder.h"

#include "base/cleanup.h"

#include <string.h>

static const uint8_t usual_program[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};
static const uint8_t usual_data[] = {DW_EH_PE_pcrel | DW_EH_PE_sdata4};

const struct builder_cie usual_cie = {
	.version = 1,
	.augmentation = "zR",
	.augmentation_data = usual_data,
	.augmentation_size = sizeof usual_data,
	.pointers = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	.code_align = 1,
	.data_align = -8,
	.return_register = 16,
	.program = usual_program,
	.program_size = sizeof usual_program,
};

static void put_sleb(struct buffer *out, int64_t v)
{
	for (;;) {
		uint8_t byte = v & 0x7f;
		v >>= 7;
		bool done = (v == 0 && !(byte & 0x40)) || (v == -1 && byte & 0x40);
		buffer_u8(out, done ? byte : byte | 0x80);
		if (done)
			return;
	}
}

/* The length is filled in when the entry is whole. */
static uint32_t begin_entry(struct cfi_builder *b)
{
	uint32_t at = (uint32_t)b->out.n;
	if (b->is_dwarf64) {
		buffer_u32(&b->out, UINT32_MAX);
		buffer_u64(&b->out, 0);
	} else {
		buffer_u32(&b->out, 0);
	}
	return at;
}

static void end_entry(struct cfi_builder *b, uint32_t at)
{
	while (b->out.n % 8)
		buffer_u8(&b->out, DW_CFA_nop);
	uint32_t start = at + (b->is_dwarf64 ? 12 : 4);
	uint64_t size = b->out.n - start;
	if (b->is_dwarf64)
		memcpy(b->out.data + at + 4, &size, 8);
	else
		memcpy(b->out.data + at, &size, 4);
}

static void put_id(struct cfi_builder *b, uint64_t id)
{
	if (b->is_dwarf64 && b->is_debug_frame)
		buffer_u64(&b->out, id);
	else
		buffer_u32(&b->out, (uint32_t)id);
}

uint32_t cfi_builder_cie(struct cfi_builder *b, const struct builder_cie *cie)
{
	uint32_t at = begin_entry(b);
	put_id(b, b->is_debug_frame ? UINT64_MAX : 0);
	buffer_u8(&b->out, cie->version);
	buffer_bytes(&b->out, cie->augmentation, strlen(cie->augmentation) + 1);
	if (strcmp(cie->augmentation, "eh") == 0)
		buffer_u64(&b->out, 0x1234);
	if (cie->version == 4) {
		buffer_u8(&b->out, 8);
		buffer_u8(&b->out, 0);
	}
	buffer_uleb(&b->out, (uint64_t)cie->code_align);
	put_sleb(&b->out, cie->data_align);
	buffer_u8(&b->out, cie->return_register);
	b->has_augmentation = cie->augmentation[0] == 'z';
	if (b->has_augmentation)
		buffer_uleb(&b->out, cie->augmentation_size);
	buffer_bytes(&b->out, cie->augmentation_data, cie->augmentation_size);
	buffer_bytes(&b->out, cie->program, cie->program_size);
	b->pointers = cie->pointers;
	end_entry(b, at);
	return at;
}

static void put_pointer(struct cfi_builder *b, uint64_t value, bool is_size)
{
	if (!is_size && (b->pointers & 0x70) == DW_EH_PE_pcrel)
		value -= b->address + b->out.n;
	switch (b->pointers & 0x0f) {
	case DW_EH_PE_uleb128:
		buffer_uleb(&b->out, value);
		break;
	case DW_EH_PE_sleb128:
		put_sleb(&b->out, (int64_t)value);
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		buffer_u16(&b->out, (uint16_t)value);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		buffer_u32(&b->out, (uint32_t)value);
		break;
	default:
		buffer_u64(&b->out, value);
	}
}

uint32_t cfi_builder_fde(struct cfi_builder *b, uint32_t cie, uint64_t begin, uint64_t size,
			 const uint8_t *program, size_t n)
{
	uint32_t at = begin_entry(b);
	put_id(b, b->is_debug_frame ? cie : b->out.n - cie);
	put_pointer(b, begin, false);
	put_pointer(b, size, true);
	if (b->has_augmentation)
		buffer_uleb(&b->out, 0);
	buffer_bytes(&b->out, program, n);
	end_entry(b, at);
	return at;
}

void cfi_builder_end(struct cfi_builder *b)
{
	buffer_u32(&b->out, 0);
}

uint32_t cfi_builder_section(struct cfi_builder *b, struct elf_builder *elf)
{
	uint32_t section = elf_builder_section(
		elf,
		(struct builder_section){.name = b->is_debug_frame ? ".debug_frame" : ".eh_frame",
					 .type = SHT_PROGBITS,
					 .flags = b->is_debug_frame ? 0 : SHF_ALLOC,
					 .address = b->is_debug_frame ? 0 : b->address,
					 .data = b->out.data,
					 .size = b->out.n,
					 .align = 8});
	if (!b->is_debug_frame)
		elf_builder_segment(elf, (struct builder_segment){.type = PT_LOAD,
								  .flags = PF_R,
								  .section = section});
	buffer_deinit(&b->out);
	b->out = (struct buffer){};
	return section;
}

int cfi_builder_program(struct cfi_builder *b, const void *text)
{
	struct elf_builder elf = elf_builder_init();
	elf.entry = 0;
	uint32_t section = elf_builder_text(&elf, TEXT_ADDRESS, TEXT_SIZE);
	if (text)
		memcpy(elf.sections.items[section].copy, text, TEXT_SIZE);
	cfi_builder_section(b, &elf);
	int fd = elf_builder_fd(&elf);
	elf_builder_deinit(&elf);
	return fd;
}
