/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/entry.h"

#include "base/cleanup.h"
#include "base/cursor.h"

#define ENTRY_MAX   256
#define SYMBOLS_MAX (UINT64_C(64) << 20)

/* Moves *end down to the lowest address above `from` at which a symbol of code begins. 0 or
 * -ENOMEM. */
static int end_at_symbol(struct elf *elf, uint32_t type, uint64_t from, uint64_t *end)
{
	const struct elf_section *section = elf_find_section_of_type(elf, type);
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t size;
	int r = section ? elf_section_data(elf, section, SYMBOLS_MAX, &data, &size, NULL)
			: -ENODATA;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	struct cursor c = cursor_init(data, size, elf->swap);
	while (cursor_left(&c) >= sizeof(Elf64_Sym)) {
		cursor_u32(&c); /* name */
		uint8_t kind = ELF64_ST_TYPE(cursor_u8(&c));
		cursor_u8(&c);
		uint16_t index = cursor_u16(&c);
		uint64_t value = cursor_u64(&c);
		cursor_u64(&c); /* size */
		if ((kind == STT_FUNC || kind == STT_GNU_IFUNC) && index != SHN_UNDEF &&
		    index != SHN_ABS && value > from && value < *end)
			*end = value;
	}
	return 0;
}

/* hlt, ud2, jmp *%register: behind it other code begins. */
static size_t length_to_leaving(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] == 0xf4)
			return i + 1;
		if (i + 1 < size && ((data[i] == 0x0f && data[i + 1] == 0x0b) ||
				     (data[i] == 0xff && (data[i + 1] & 0xf8) == 0xe0)))
			return i + 2;
	}
	return size;
}

/* Where the first range above an offset begins that has rules; the offset itself if it has one. */
static uint64_t next_rule(const struct unwind_build *build, uint64_t offset)
{
	const span_list *spans = &build->spans;
	size_t low = 0, high = spans->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (spans->items[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < spans->n ? MAX(spans->items[low].begin, offset) : UINT64_MAX;
}

int entry_find(const struct unwind_build *build, plain_list *ret)
{
	struct elf *elf = build->elf;
	uint8_t code[ENTRY_MAX];
	uint64_t entry = elf->entry, offset;
	if (!entry || !elf_address_to_offset(elf, entry, &offset) || offset >= elf->source.size)
		return 0;
	size_t size = (size_t)MIN(elf->source.size - offset, ENTRY_MAX);
	size = (size_t)MIN(size, next_rule(build, offset) - offset);
	if (source_read(&elf->source, offset, code, size) < 0)
		return 0;
	if (elf->machine == EM_X86_64)
		size = length_to_leaving(code, size);
	uint64_t end = entry + size;
	int r = end_at_symbol(elf, SHT_SYMTAB, entry, &end);
	if (r == 0)
		r = end_at_symbol(elf, SHT_DYNSYM, entry, &end);
	return r < 0 ? r : plain_add(ret, entry, end, (struct unwind_rule){.kind = UNWIND_END});
}
