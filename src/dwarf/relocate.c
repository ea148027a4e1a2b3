/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/relocate.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

/* The largest table of relocations or symbols that is read. */
#define TABLE_MAX (UINT64_C(1) << 30)

enum action {
	ACTION_NONE,
	ACTION_SET, /* symbol + addend */
	ACTION_ADD, /* what is there + symbol + addend */
	ACTION_SUBTRACT,
};

/* What to do for a type of relocation: on how many bytes (0: the low six bits of one). */
struct rule {
	uint16_t machine;
	uint16_t type;
	uint8_t action;
	uint8_t size;
};

static const struct rule rules[] = {
	{EM_X86_64, 1, ACTION_SET, 8},
	{EM_X86_64, 10, ACTION_SET, 4},
	{EM_X86_64, 11, ACTION_SET, 4},
	{EM_386, 1, ACTION_SET, 4},
	{EM_AARCH64, 257, ACTION_SET, 8},
	{EM_AARCH64, 258, ACTION_SET, 4},
	{EM_ARM, 2, ACTION_SET, 4},
	{EM_PPC64, 1, ACTION_SET, 4},
	{EM_PPC64, 38, ACTION_SET, 8},
	{EM_PPC, 1, ACTION_SET, 4},
	{EM_S390, 4, ACTION_SET, 4},
	{EM_S390, 22, ACTION_SET, 8},
	{EM_MIPS, 2, ACTION_SET, 4},
	{EM_MIPS, 18, ACTION_SET, 8},
	{EM_SPARCV9, 3, ACTION_SET, 4},
	{EM_SPARCV9, 23, ACTION_SET, 4},
	{EM_SPARCV9, 32, ACTION_SET, 8},
	{EM_SPARCV9, 54, ACTION_SET, 8},
	{EM_BPF, 2, ACTION_SET, 8},
	{EM_BPF, 3, ACTION_SET, 4},
	{EM_RISCV, 1, ACTION_SET, 4},
	{EM_RISCV, 2, ACTION_SET, 8},
	{EM_RISCV, 33, ACTION_ADD, 1},
	{EM_RISCV, 34, ACTION_ADD, 2},
	{EM_RISCV, 35, ACTION_ADD, 4},
	{EM_RISCV, 36, ACTION_ADD, 8},
	{EM_RISCV, 37, ACTION_SUBTRACT, 1},
	{EM_RISCV, 38, ACTION_SUBTRACT, 2},
	{EM_RISCV, 39, ACTION_SUBTRACT, 4},
	{EM_RISCV, 40, ACTION_SUBTRACT, 8},
	{EM_RISCV, 52, ACTION_SUBTRACT, 0},
	{EM_RISCV, 53, ACTION_SET, 0},
	{EM_RISCV, 54, ACTION_SET, 1},
	{EM_RISCV, 55, ACTION_SET, 2},
	{EM_RISCV, 56, ACTION_SET, 4},
	{EM_LOONGARCH, 1, ACTION_SET, 4},
	{EM_LOONGARCH, 2, ACTION_SET, 8},
	{EM_LOONGARCH, 47, ACTION_ADD, 1},
	{EM_LOONGARCH, 48, ACTION_ADD, 2},
	{EM_LOONGARCH, 50, ACTION_ADD, 4},
	{EM_LOONGARCH, 51, ACTION_ADD, 8},
	{EM_LOONGARCH, 52, ACTION_SUBTRACT, 1},
	{EM_LOONGARCH, 53, ACTION_SUBTRACT, 2},
	{EM_LOONGARCH, 55, ACTION_SUBTRACT, 4},
	{EM_LOONGARCH, 56, ACTION_SUBTRACT, 8},
};

struct relocation {
	uint64_t offset;
	uint32_t symbol;
	uint32_t type;
	int64_t addend;
	bool has_addend; /* else it is where the value will be */
};

static bool is_machine_known(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].machine == machine)
			return true;
	}
	return false;
}

static const struct rule *find_rule(uint16_t machine, uint32_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].machine == machine && rules[i].type == type)
			return &rules[i];
	}
	return NULL;
}

static const struct dwarf_piece *find_piece(const struct dwarf_file *file, uint32_t number)
{
	vec_foreach(piece, &file->pieces) {
		if (piece->number == number)
			return piece;
	}
	return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where a section is: code by its place in the file, debug sections by that in the joined one. */
static uint64_t section_base(const struct dwarf_file *file, uint32_t number)
{
	const struct dwarf_piece *piece = find_piece(file, number);
	if (piece)
		return piece->base;
	if (number >= file->elf->sections.n)
		return 0;
	const struct elf_section *section = &file->elf->sections.items[number];
	return section->flags & SHF_ALLOC ? section->offset : 0;
}

/* 0: it cannot be told, as for a symbol of another file. */
static bool symbol_value(const struct dwarf_file *file, const uint8_t *symbols, uint64_t size,
			 uint32_t number, uint64_t *ret)
{
	const struct elf *elf = file->elf;
	uint64_t entry = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (number == 0) {
		*ret = 0;
		return true;
	}
	if (number >= size / entry)
		return false;
	const uint8_t *p = symbols + number * entry;
	uint16_t section = elf_u16(elf, p + (elf->is64 ? 6 : 14));
	uint64_t value = elf->is64 ? elf_u64(elf, p + 8) : elf_u32(elf, p + 4);
	if (section == SHN_UNDEF)
		return false;
	*ret = section < SHN_LORESERVE ? value + section_base(file, section) : value;
	return true;
}

static uint64_t read_value(const struct elf *elf, const uint8_t *p, uint8_t size)
{
	switch (size) {
	case 2:
		return elf_u16(elf, p);
	case 4:
		return elf_u32(elf, p);
	case 8:
		return elf_u64(elf, p);
	default:
		return *p;
	}
}

static void write_value(const struct elf *elf, uint8_t *p, uint8_t size, uint64_t value)
{
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;
	switch (size) {
	case 0:
		*p = (uint8_t)((*p & 0xc0) | (value & 0x3f));
		break;
	case 1:
		*p = (uint8_t)value;
		break;
	case 2:
		v16 = elf->swap ? __builtin_bswap16(v16) : v16;
		memcpy(p, &v16, sizeof v16);
		break;
	case 4:
		v32 = elf->swap ? __builtin_bswap32(v32) : v32;
		memcpy(p, &v32, sizeof v32);
		break;
	default:
		value = elf->swap ? __builtin_bswap64(value) : value;
		memcpy(p, &value, sizeof value);
	}
}

static void apply(const struct elf *elf, uint8_t *p, const struct rule *rule,
		  const struct relocation *relocation, uint64_t symbol)
{
	uint64_t there = read_value(elf, p, rule->size);
	uint64_t value = symbol + (relocation->has_addend ? (uint64_t)relocation->addend : there);
	switch (rule->action) {
	case ACTION_ADD:
		value = there + symbol + (uint64_t)relocation->addend;
		break;
	case ACTION_SUBTRACT:
		value = there - symbol - (uint64_t)relocation->addend;
		break;
	}
	write_value(elf, p, rule->size, value);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct relocation parse(const struct elf *elf, struct cursor *c, bool has_addend)
{
	struct relocation r = {.has_addend = has_addend};
	if (!elf->is64) {
		r.offset = cursor_u32(c);
		uint32_t info = cursor_u32(c);
		r.symbol = info >> 8;
		r.type = info & 0xff;
		r.addend = has_addend ? (int32_t)cursor_u32(c) : 0;
		return r;
	}
	r.offset = cursor_u64(c);
	uint64_t info = cursor_u64(c);
	r.symbol = (uint32_t)(info >> 32);
	r.type = (uint32_t)info;
	/* 64-bit MIPS: the symbol, then four bytes, of which the last is the (first) type. */
	bool is_little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != elf->swap;
	if (elf->machine == EM_MIPS && is_little) {
		r.symbol = (uint32_t)info;
		r.type = (uint32_t)(info >> 56);
	} else if (elf->machine == EM_MIPS || elf->machine == EM_SPARCV9) {
		r.type = info & 0xff;
	}
	r.addend = has_addend ? (int64_t)cursor_u64(c) : 0;
	return r;
}

/* The piece's own bytes inside the joined section. */
static uint64_t piece_end(const struct dwarf_file *file, const struct dwarf_piece *piece)
{
	uint64_t end = file->sections[piece->kind].size;
	vec_foreach(other, &file->pieces) {
		if (other->kind == piece->kind && other->base > piece->base)
			end = MIN(end, other->base);
	}
	return end;
}

static void apply_table(struct dwarf_file *file, const struct dwarf_piece *piece, struct cursor *c,
			bool has_addend, const uint8_t *symbols, uint64_t symbols_size)
{
	uint8_t *start = file->sections[piece->kind].data + piece->base;
	uint64_t size = piece_end(file, piece) - piece->base;
	size_t entry = (file->elf->is64 ? 8 : 4) * (has_addend ? 3 : 2);
	while (cursor_left(c) >= entry) {
		struct relocation relocation = parse(file->elf, c, has_addend);
		const struct rule *rule = find_rule(file->elf->machine, relocation.type);
		uint64_t symbol;
		uint64_t n = rule && rule->size ? rule->size : 1;
		if (rule && relocation.offset < size && size - relocation.offset >= n &&
		    symbol_value(file, symbols, symbols_size, relocation.symbol, &symbol))
			apply(file->elf, start + relocation.offset, rule, &relocation, symbol);
	}
}

static int apply_section(struct dwarf_file *file, const struct elf_section *section)
{
	const struct dwarf_piece *piece = find_piece(file, section->info);
	struct elf *elf = file->elf;
	if (!piece || section->link >= elf->sections.n)
		return 0;
	_cleanup_free_ uint8_t *table = NULL, *symbols = NULL;
	uint64_t size = 0, symbols_size = 0;
	int r = elf_section_data(elf, section, TABLE_MAX, &table, &size, NULL);
	if (r == 0)
		r = elf_section_data(elf, &elf->sections.items[section->link], TABLE_MAX, &symbols,
				     &symbols_size, NULL);
	if (r < 0)
		return r;
	struct cursor c = cursor_init(table, size, elf->swap);
	apply_table(file, piece, &c, section->type == SHT_RELA, symbols, symbols_size);
	return 0;
}

int dwarf_relocate(struct dwarf_file *file, struct mw_error *e)
{
	bool any = false;
	vec_foreach(section, &file->elf->sections) {
		if (section->type != SHT_RELA && section->type != SHT_REL)
			continue;
		any = any || find_piece(file, section->info);
		int r = apply_section(file, section);
		if (r == -ENOMEM)
			return error_set(e, r, "out of memory for relocations");
		if (r < 0 && !file->damage.code)
			error_set(&file->damage, r, "relocations of debug information are damaged");
	}
	if (any && !is_machine_known(file->elf->machine))
		return error_set(
			e, -EOPNOTSUPP,
			"a relocatable object of machine %u, whose relocations are not known",
			file->elf->machine);
	return 0;
}
