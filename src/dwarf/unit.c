/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/unit.h"

#include "dwarf/constants.h"

#define HEADER_MAX 48

static bool is_address_size(uint8_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* What of the header follows the version, which moved things around. */
static void read_header_rest(struct cursor *c, struct dwarf_unit *unit)
{
	struct dwarf_encoding *encoding = &unit->encoding;
	unit->kind = unit->section == DWARF_TYPES ? DW_UT_type : DW_UT_compile;
	if (encoding->version >= 5) {
		unit->kind = cursor_u8(c);
		encoding->address_size = cursor_u8(c);
		unit->abbreviations = dwarf_read_offset(c, encoding->offset_size);
	} else {
		unit->abbreviations = dwarf_read_offset(c, encoding->offset_size);
		encoding->address_size = cursor_u8(c);
	}
	switch (unit->kind) {
	case DW_UT_type:
	case DW_UT_split_type:
		unit->signature = cursor_u64(c);
		unit->type = dwarf_read_offset(c, encoding->offset_size);
		break;
	case DW_UT_skeleton:
	case DW_UT_split_compile:
		cursor_u64(c); /* id */
		break;
	}
}

int dwarf_unit_read(const struct dwarf_file *file, struct dwarf_window *window,
		    enum dwarf_section_kind section, uint64_t offset, struct dwarf_unit *ret)
{
	*ret = (struct dwarf_unit){.section = section, .offset = offset};
	if (offset >= file->sections[section].size)
		return -ENODATA;
	struct cursor c = dwarf_bytes_at_most(file, section, window, offset, HEADER_MAX);
	uint64_t length = dwarf_read_length(&c, &ret->encoding.offset_size);
	uint64_t body = offset + cursor_offset(&c), end;
	if (!cursor_ok(&c) || __builtin_add_overflow(body, length, &end) ||
	    end > file->sections[section].size)
		return -EBADMSG;
	ret->end = end;
	uint16_t version = cursor_u16(&c);
	ret->encoding.version = (uint8_t)version;
	if (version < 2 || version > 5)
		return -EBADMSG;
	read_header_rest(&c, ret);
	ret->entries = offset + cursor_offset(&c);
	if (!cursor_ok(&c) || ret->entries > ret->end ||
	    !is_address_size(ret->encoding.address_size))
		return -EBADMSG;
	return 0;
}

static void take_fact(struct dwarf_unit_facts *facts, uint16_t name,
		      const struct dwarf_value *value, struct dwarf_value *low_pc)
{
	switch (name) {
	case DW_AT_stmt_list:
		facts->statements = value->number;
		facts->has_statements = value->class == DWARF_CLASS_OFFSET ||
					value->class == DWARF_CLASS_NUMBER;
		break;
	case DW_AT_low_pc:
		*low_pc = *value;
		break;
	case DW_AT_comp_dir:
		facts->directory = *value;
		break;
	case DW_AT_str_offsets_base:
		facts->string_offsets_base = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		facts->address_base = value->number;
		break;
	case DW_AT_rnglists_base:
		facts->range_lists_base = value->number;
		break;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
	case DW_AT_GNU_dwo_id:
		facts->is_skeleton = true;
		break;
	}
}

/* Without a base, the tables of a unit that is alone begin behind the section's header. */
static void set_default_bases(const struct dwarf_unit *unit, struct dwarf_unit_facts *facts)
{
	uint64_t header = unit->encoding.offset_size == 8 ? 16 : 8;
	if (unit->encoding.version < 5)
		return;
	facts->string_offsets_base = facts->address_base = header;
	facts->range_lists_base = header + 4;
}

int dwarf_unit_read_facts(const struct dwarf_file *file, const struct dwarf_unit *unit,
			  const struct dwarf_abbreviations *abbreviations, struct cursor *c,
			  struct dwarf_unit_facts *ret)
{
	*ret = (struct dwarf_unit_facts){.is_skeleton = unit->kind == DW_UT_skeleton};
	set_default_bases(unit, ret);
	cursor_seek(c, unit->entries - unit->offset);
	const struct dwarf_abbreviation *abbreviation =
		dwarf_abbreviations_find(abbreviations, cursor_uleb(c));
	if (!cursor_ok(c) || !abbreviation)
		return -EBADMSG;
	struct dwarf_value low_pc = {};
	const struct dwarf_attribute *a =
		abbreviations->attributes.items + abbreviation->attributes;
	for (unsigned i = 0; i < abbreviation->n_attributes; i++, a++) {
		struct dwarf_value value =
			dwarf_form_read(c, &unit->encoding, a->form, a->implicit);
		take_fact(ret, a->name, &value, &low_pc);
	}
	if (!cursor_ok(c))
		return -EBADMSG;
	struct dwarf_window window = {};
	if (low_pc.class == DWARF_CLASS_ADDRESS)
		ret->low_pc = low_pc.number;
	else if (low_pc.class == DWARF_CLASS_ADDRESS_INDEX)
		dwarf_unit_address(file, &window, unit, ret, low_pc.number, &ret->low_pc);
	dwarf_window_deinit(&window);
	return 0;
}

/* Where entry number `index` of a table of equal sizes is. */
static bool entry_offset(uint64_t base, uint64_t index, uint8_t size, uint64_t *ret)
{
	return !__builtin_mul_overflow(index, size, ret) &&
	       !__builtin_add_overflow(base, *ret, ret);
}

int dwarf_unit_address(const struct dwarf_file *file, struct dwarf_window *window,
		       const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
		       uint64_t index, uint64_t *ret)
{
	uint8_t size = unit->encoding.address_size;
	uint64_t offset;
	if (!entry_offset(facts->address_base, index, size, &offset))
		return 0;
	struct cursor c = dwarf_bytes(file, DWARF_ADDR, window, offset, size);
	*ret = dwarf_read_address(&c, size);
	return cursor_ok(&c);
}

int dwarf_unit_string_offset(const struct dwarf_file *file, struct dwarf_window *window,
			     const struct dwarf_unit *unit, const struct dwarf_unit_facts *facts,
			     uint64_t index, uint64_t *ret)
{
	uint8_t size = unit->encoding.offset_size;
	uint64_t offset;
	if (!entry_offset(facts->string_offsets_base, index, size, &offset))
		return 0;
	struct cursor c = dwarf_bytes(file, DWARF_STR_OFFSETS, window, offset, size);
	*ret = dwarf_read_offset(&c, size);
	return cursor_ok(&c);
}
