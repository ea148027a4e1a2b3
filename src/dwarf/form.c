/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/form.h"

#include "base/cleanup.h"
#include "dwarf/constants.h"

/* The encodings that there are; several forms share one. */
enum encoded {
	ENCODED_UNKNOWN,
	ENCODED_0, /* nothing: the value is in the abbreviation */
	ENCODED_1,
	ENCODED_2,
	ENCODED_3,
	ENCODED_4,
	ENCODED_8,
	ENCODED_16,
	ENCODED_ADDRESS,
	ENCODED_OFFSET,
	ENCODED_REF_ADDR, /* an offset, but in DWARF 2 of the size of an address */
	ENCODED_ULEB,
	ENCODED_SLEB,
	ENCODED_STRING,
	ENCODED_BLOCK1,
	ENCODED_BLOCK2,
	ENCODED_BLOCK4,
	ENCODED_BLOCK,
	ENCODED_INDIRECT,
};

struct form {
	uint8_t encoded;
	uint8_t class;
};

#define FORM(name, how, what) [DW_FORM_##name] = {ENCODED_##how, DWARF_CLASS_##what}

static const struct form forms[] = {
	FORM(addr, ADDRESS, ADDRESS),
	FORM(block1, BLOCK1, BLOCK),
	FORM(block2, BLOCK2, BLOCK),
	FORM(block4, BLOCK4, BLOCK),
	FORM(block, BLOCK, BLOCK),
	FORM(exprloc, BLOCK, BLOCK),
	FORM(data1, 1, NUMBER),
	FORM(data2, 2, NUMBER),
	FORM(data4, 4, NUMBER),
	FORM(data8, 8, NUMBER),
	FORM(data16, 16, BLOCK),
	FORM(sdata, SLEB, NUMBER),
	FORM(udata, ULEB, NUMBER),
	FORM(implicit_const, 0, NUMBER),
	FORM(flag, 1, NUMBER),
	FORM(flag_present, 0, NUMBER),
	FORM(string, STRING, STRING),
	FORM(strp, OFFSET, STRING_AT),
	FORM(line_strp, OFFSET, LINE_STRING_AT),
	FORM(strp_sup, OFFSET, OTHER_STRING_AT),
	FORM(strx, ULEB, STRING_INDEX),
	FORM(strx1, 1, STRING_INDEX),
	FORM(strx2, 2, STRING_INDEX),
	FORM(strx3, 3, STRING_INDEX),
	FORM(strx4, 4, STRING_INDEX),
	FORM(ref1, 1, REFERENCE),
	FORM(ref2, 2, REFERENCE),
	FORM(ref4, 4, REFERENCE),
	FORM(ref8, 8, REFERENCE),
	FORM(ref_udata, ULEB, REFERENCE),
	FORM(ref_addr, REF_ADDR, REFERENCE_AT),
	FORM(ref_sig8, 8, SIGNATURE),
	FORM(ref_sup4, 4, OTHER_REFERENCE),
	FORM(ref_sup8, 8, OTHER_REFERENCE),
	FORM(sec_offset, OFFSET, OFFSET),
	FORM(loclistx, ULEB, LIST_INDEX),
	FORM(rnglistx, ULEB, LIST_INDEX),
	FORM(addrx, ULEB, ADDRESS_INDEX),
	FORM(addrx1, 1, ADDRESS_INDEX),
	FORM(addrx2, 2, ADDRESS_INDEX),
	FORM(addrx3, 3, ADDRESS_INDEX),
	FORM(addrx4, 4, ADDRESS_INDEX),
	FORM(indirect, INDIRECT, NONE),
};

static struct form find_form(uint16_t form)
{
	if (form < ARRAY_SIZE(forms))
		return forms[form];
	switch (form) {
	case DW_FORM_GNU_addr_index:
		return (struct form){ENCODED_ULEB, DWARF_CLASS_ADDRESS_INDEX};
	case DW_FORM_GNU_str_index:
		return (struct form){ENCODED_ULEB, DWARF_CLASS_STRING_INDEX};
	case DW_FORM_GNU_ref_alt:
		return (struct form){ENCODED_OFFSET, DWARF_CLASS_OTHER_REFERENCE};
	case DW_FORM_GNU_strp_alt:
		return (struct form){ENCODED_OFFSET, DWARF_CLASS_OTHER_STRING_AT};
	default:
		return (struct form){};
	}
}

static uint32_t read_u24(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 3);
	if (!p)
		return 0;
	bool is_big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != c->swap;
	return is_big ? (uint32_t)(p[0] << 16 | p[1] << 8 | p[2])
		      : (uint32_t)(p[2] << 16 | p[1] << 8 | p[0]);
}

uint64_t dwarf_read_offset(struct cursor *c, uint8_t offset_size)
{
	return offset_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

uint64_t dwarf_read_address(struct cursor *c, uint8_t address_size)
{
	switch (address_size) {
	case 8:
		return cursor_u64(c);
	case 4:
		return cursor_u32(c);
	case 2:
		return cursor_u16(c);
	case 1:
		return cursor_u8(c);
	default:
		c->failed = true;
		return 0;
	}
}

uint64_t dwarf_read_length(struct cursor *c, uint8_t *ret_offset_size)
{
	uint64_t length = cursor_u32(c);
	*ret_offset_size = length == UINT32_MAX ? 8 : 4;
	if (length == UINT32_MAX)
		return cursor_u64(c);
	if (length >= 0xfffffff0)
		c->failed = true;
	return c->failed ? 0 : length;
}

/* Follows DW_FORM_indirect, which names the form in front of the value. */
static struct form settle(struct cursor *c, struct form form)
{
	for (unsigned i = 0; form.encoded == ENCODED_INDIRECT; i++) {
		uint64_t named = cursor_uleb(c);
		if (i == 4 || named > UINT16_MAX || named == DW_FORM_implicit_const)
			c->failed = true;
		form = c->failed ? (struct form){} : find_form((uint16_t)named);
	}
	return form;
}

struct dwarf_value dwarf_form_read(struct cursor *c, const struct dwarf_encoding *encoding,
				   uint16_t number, int64_t implicit)
{
	struct form form = settle(c, find_form(number));
	struct dwarf_value value = {.class = (enum dwarf_class)form.class};
	switch ((enum encoded)form.encoded) {
	case ENCODED_0:
		value.number = number == DW_FORM_implicit_const ? (uint64_t)implicit : 1;
		break;
	case ENCODED_1:
		value.number = cursor_u8(c);
		break;
	case ENCODED_2:
		value.number = cursor_u16(c);
		break;
	case ENCODED_3:
		value.number = read_u24(c);
		break;
	case ENCODED_4:
		value.number = cursor_u32(c);
		break;
	case ENCODED_8:
		value.number = cursor_u64(c);
		break;
	case ENCODED_16:
		cursor_bytes(c, 16);
		break;
	case ENCODED_ADDRESS:
		value.number = dwarf_read_address(c, encoding->address_size);
		break;
	case ENCODED_OFFSET:
		value.number = dwarf_read_offset(c, encoding->offset_size);
		break;
	case ENCODED_REF_ADDR:
		value.number = encoding->version <= 2
				       ? dwarf_read_address(c, encoding->address_size)
				       : dwarf_read_offset(c, encoding->offset_size);
		break;
	case ENCODED_ULEB:
		value.number = cursor_uleb(c);
		break;
	case ENCODED_SLEB:
		value.number = (uint64_t)cursor_sleb(c);
		break;
	case ENCODED_STRING:
		value.string = cursor_string(c);
		break;
	case ENCODED_BLOCK1:
		cursor_bytes(c, cursor_u8(c));
		break;
	case ENCODED_BLOCK2:
		cursor_bytes(c, cursor_u16(c));
		break;
	case ENCODED_BLOCK4:
		cursor_bytes(c, cursor_u32(c));
		break;
	case ENCODED_BLOCK:
		cursor_bytes(c, cursor_uleb(c));
		break;
	case ENCODED_UNKNOWN:
	case ENCODED_INDIRECT:
		c->failed = true;
	}
	if (c->failed)
		value = (struct dwarf_value){};
	return value;
}

enum dwarf_skip dwarf_form_skip(const struct dwarf_encoding *encoding, uint16_t form,
				unsigned *ret_fixed)
{
	static const uint8_t sizes[] = {[ENCODED_0] = 0, [ENCODED_1] = 1, [ENCODED_2] = 2,
					[ENCODED_3] = 3, [ENCODED_4] = 4, [ENCODED_8] = 8,
					[ENCODED_16] = 16};
	enum encoded encoded = (enum encoded)find_form(form).encoded;
	switch (encoded) {
	case ENCODED_ADDRESS:
		*ret_fixed = encoding->address_size;
		return DWARF_SKIP_FIXED;
	case ENCODED_OFFSET:
		*ret_fixed = encoding->offset_size;
		return DWARF_SKIP_FIXED;
	case ENCODED_REF_ADDR:
		*ret_fixed = encoding->version <= 2 ? encoding->address_size
						    : encoding->offset_size;
		return DWARF_SKIP_FIXED;
	case ENCODED_ULEB:
	case ENCODED_SLEB:
		return DWARF_SKIP_LEB;
	case ENCODED_STRING:
		return DWARF_SKIP_STRING;
	case ENCODED_BLOCK1:
		return DWARF_SKIP_BLOCK1;
	case ENCODED_BLOCK2:
		return DWARF_SKIP_BLOCK2;
	case ENCODED_BLOCK4:
		return DWARF_SKIP_BLOCK4;
	case ENCODED_BLOCK:
		return DWARF_SKIP_BLOCK;
	case ENCODED_INDIRECT:
		return DWARF_SKIP_INDIRECT;
	case ENCODED_UNKNOWN:
		return DWARF_SKIP_UNKNOWN;
	default:
		*ret_fixed = sizes[encoded];
		return DWARF_SKIP_FIXED;
	}
}

void dwarf_skip_value(struct cursor *c, const struct dwarf_encoding *encoding, enum dwarf_skip skip)
{
	switch (skip) {
	case DWARF_SKIP_LEB:
		while (cursor_u8(c) & 0x80) {
		}
		break;
	case DWARF_SKIP_STRING:
		cursor_string(c);
		break;
	case DWARF_SKIP_BLOCK1:
		cursor_bytes(c, cursor_u8(c));
		break;
	case DWARF_SKIP_BLOCK2:
		cursor_bytes(c, cursor_u16(c));
		break;
	case DWARF_SKIP_BLOCK4:
		cursor_bytes(c, cursor_u32(c));
		break;
	case DWARF_SKIP_BLOCK:
		cursor_bytes(c, cursor_uleb(c));
		break;
	case DWARF_SKIP_INDIRECT:
		dwarf_form_read(c, encoding, DW_FORM_indirect, 0);
		break;
	case DWARF_SKIP_FIXED:
	case DWARF_SKIP_UNKNOWN:
		c->failed = true;
	}
}
