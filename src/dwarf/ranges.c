/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/ranges.h"

#include "dwarf/constants.h"

/* What of a list is read at once, and the most of it. */
#define FIRST_BYTES 4096
#define LIST_MAX    (UINT64_C(64) << 20)

void dwarf_range_reader_deinit(struct dwarf_range_reader *reader)
{
	dwarf_window_deinit(&reader->lists);
	dwarf_window_deinit(&reader->addresses);
}

/* One list that is being read. */
struct list {
	struct dwarf_range_reader *reader;
	const struct dwarf_unit *unit;
	const struct dwarf_unit_facts *facts;
	uint64_t base;
	dwarf_range_list *ret;
};

static int add(struct list *list, uint64_t start, uint64_t end)
{
	if (start >= end)
		return 0;
	return vec_push(list->ret, (struct dwarf_range){start, end});
}

/* Pairs of addresses, relative to the base; (0, 0) ends, (all ones, x) makes x the base. */
static int read_old(struct list *list, struct cursor *c)
{
	uint8_t size = list->unit->encoding.address_size;
	uint64_t ones = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
	for (;;) {
		uint64_t start = dwarf_read_address(c, size), end = dwarf_read_address(c, size);
		if (!cursor_ok(c))
			return -EBADMSG;
		if (!start && !end)
			return 0;
		if (start == ones) {
			list->base = end;
			continue;
		}
		int r = add(list, (start + list->base) & ones, (end + list->base) & ones);
		if (r < 0)
			return r;
	}
}

/* An address of .debug_addr; one that is not there makes the range empty. */
static uint64_t indexed(struct list *list, uint64_t index)
{
	uint64_t address = 0;
	dwarf_unit_address(list->reader->file, &list->reader->addresses, list->unit, list->facts,
			   index, &address);
	return address;
}

static int read_entry(struct list *list, struct cursor *c, uint8_t kind)
{
	uint8_t size = list->unit->encoding.address_size;
	uint64_t a, b;
	switch (kind) {
	case DW_RLE_base_addressx:
		list->base = indexed(list, cursor_uleb(c));
		return 0;
	case DW_RLE_startx_endx:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		return cursor_ok(c) ? add(list, indexed(list, a), indexed(list, b)) : -EBADMSG;
	case DW_RLE_startx_length:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		a = cursor_ok(c) ? indexed(list, a) : 0;
		return cursor_ok(c) ? add(list, a, a + b) : -EBADMSG;
	case DW_RLE_offset_pair:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		return cursor_ok(c) ? add(list, a + list->base, b + list->base) : -EBADMSG;
	case DW_RLE_base_address:
		list->base = dwarf_read_address(c, size);
		return 0;
	case DW_RLE_start_end:
		a = dwarf_read_address(c, size);
		b = dwarf_read_address(c, size);
		return cursor_ok(c) ? add(list, a, b) : -EBADMSG;
	case DW_RLE_start_length:
		a = dwarf_read_address(c, size);
		b = cursor_uleb(c);
		return cursor_ok(c) ? add(list, a, a + b) : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static int read_new(struct list *list, struct cursor *c)
{
	for (;;) {
		uint8_t kind = cursor_u8(c);
		if (!cursor_ok(c))
			return -EBADMSG;
		if (kind == DW_RLE_end_of_list)
			return 0;
		int r = read_entry(list, c, kind);
		if (r < 0 || !cursor_ok(c))
			return r < 0 ? r : -EBADMSG;
	}
}

/* Where the list with a number begins: the table of offsets says it, from its own start. */
static bool find_list(struct list *list, enum dwarf_section_kind kind, uint64_t index,
		      uint64_t *ret)
{
	uint8_t size = list->unit->encoding.offset_size;
	uint64_t base = list->facts->range_lists_base, at;
	if (__builtin_mul_overflow(index, size, &at) || __builtin_add_overflow(at, base, &at))
		return false;
	struct cursor c = dwarf_bytes(list->reader->file, kind, &list->reader->lists, at, size);
	uint64_t offset = dwarf_read_offset(&c, size);
	return cursor_ok(&c) && !__builtin_add_overflow(offset, base, ret);
}

int dwarf_ranges_read(struct dwarf_range_reader *reader, const struct dwarf_unit *unit,
		      const struct dwarf_unit_facts *facts, const struct dwarf_value *value,
		      dwarf_range_list *ret)
{
	bool is_old = unit->encoding.version < 5;
	enum dwarf_section_kind kind = is_old ? DWARF_RANGES : DWARF_RNGLISTS;
	struct list list = {.reader = reader, .unit = unit, .facts = facts, .ret = ret};
	uint64_t offset = value->number;
	size_t before = ret->n;
	if (value->class == DWARF_CLASS_LIST_INDEX &&
	    !find_list(&list, kind, value->number, &offset))
		return -EBADMSG;
	for (uint64_t size = FIRST_BYTES;; size *= 16) {
		struct cursor c =
			dwarf_bytes_at_most(reader->file, kind, &reader->lists, offset, size);
		size_t n = cursor_left(&c);
		list.base = facts->low_pc;
		ret->n = before;
		int r = is_old ? read_old(&list, &c) : read_new(&list, &c);
		/* It was cut by the size that was asked for: once more, with more. */
		if (r != -EBADMSG || n < size || size > LIST_MAX)
			return r;
	}
}
