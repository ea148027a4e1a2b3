/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/abbreviations.h"

#include "base/cleanup.h"
#include "dwarf/constants.h"

/* No compiler makes more; a table that has them is damaged. */
#define TABLE_MAX      (UINT64_C(16) << 20)
#define ATTRIBUTES_MAX 4096

void dwarf_abbreviations_deinit(struct dwarf_abbreviations *table)
{
	vec_deinit(&table->list);
	vec_deinit(&table->attributes);
	vec_deinit(&table->steps);
	*table = (struct dwarf_abbreviations){};
}

/* In these, if they are not local to a function, gcc puts no code. */
static bool is_type(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_array_type:
	case DW_TAG_class_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_structure_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return true;
	default:
		return false;
	}
}

static enum dwarf_entry_kind kind_of(uint16_t tag)
{
	if (tag == DW_TAG_subprogram)
		return DWARF_ENTRY_FUNCTION;
	if (tag == DW_TAG_inlined_subroutine)
		return DWARF_ENTRY_INLINED;
	return is_type(tag) ? DWARF_ENTRY_TYPE : DWARF_ENTRY_OTHER;
}

static int add_step(struct dwarf_abbreviations *table, struct dwarf_abbreviation *abbreviation,
		    uint16_t form)
{
	unsigned fixed = 0;
	enum dwarf_skip skip = dwarf_form_skip(&table->encoding, form, &fixed);
	if (skip == DWARF_SKIP_FIXED && abbreviation->n_steps) {
		struct dwarf_step *last = &table->steps.items[table->steps.n - 1];
		if (last->skip == DWARF_SKIP_FIXED && last->size + fixed <= UINT16_MAX) {
			last->size = (uint16_t)(last->size + fixed);
			return 0;
		}
	}
	abbreviation->n_steps++;
	return vec_push(&table->steps, (struct dwarf_step){(uint8_t)skip, (uint16_t)fixed});
}

static int read_attributes(struct dwarf_abbreviations *table,
			   struct dwarf_abbreviation *abbreviation, struct cursor *c)
{
	for (;;) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
		if (!cursor_ok(c) || form > UINT16_MAX)
			return -EBADMSG;
		if (!name && !form)
			return 0;
		if (abbreviation->n_attributes++ == ATTRIBUTES_MAX)
			return -EBADMSG;
		/* An attribute whose number has more bits is a vendor's, and passed over. */
		struct dwarf_attribute attribute = {name > UINT16_MAX ? 0 : (uint16_t)name,
						    (uint16_t)form, implicit};
		abbreviation->has_sibling = abbreviation->has_sibling || name == DW_AT_sibling;
		int r = vec_push(&table->attributes, attribute);
		if (r == 0)
			r = add_step(table, abbreviation, attribute.form);
		if (r < 0)
			return r;
	}
}

/* The last table of a section may lack its end. */
static int read_list(struct dwarf_abbreviations *table, struct cursor *c, bool is_last)
{
	table->is_dense = true;
	for (;;) {
		if (cursor_ok(c) && !cursor_left(c))
			return is_last ? 0 : -EBADMSG;
		struct dwarf_abbreviation abbreviation = {.code = cursor_uleb(c)};
		if (!abbreviation.code)
			return cursor_ok(c) ? 0 : -EBADMSG;
		uint64_t tag = cursor_uleb(c);
		abbreviation.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
		abbreviation.kind = (uint8_t)kind_of(abbreviation.tag);
		abbreviation.has_children = cursor_u8(c);
		abbreviation.attributes = (uint32_t)table->attributes.n;
		abbreviation.steps = (uint32_t)table->steps.n;
		int r = read_attributes(table, &abbreviation, c);
		if (r == 0)
			r = vec_push(&table->list, abbreviation);
		if (r < 0)
			return r;
		table->is_dense = table->is_dense && abbreviation.code == table->list.n;
	}
}

static int compare_codes(const void *a, const void *b)
{
	const struct dwarf_abbreviation *x = a, *y = b;
	return (x->code > y->code) - (x->code < y->code);
}

int dwarf_abbreviations_read(struct dwarf_abbreviations *table, const struct dwarf_file *file,
			     struct dwarf_window *window, uint64_t offset,
			     const struct dwarf_encoding *encoding)
{
	int r = -EBADMSG;
	/* How long a table is shows at its end only. */
	for (uint64_t size = 65536; r == -EBADMSG && size <= TABLE_MAX; size *= 16) {
		struct cursor c =
			dwarf_bytes_at_most(file, DWARF_ABBREV, window, offset, size);
		table->list.n = table->attributes.n = table->steps.n = 0;
		table->is_valid = false;
		table->offset = offset;
		table->encoding = *encoding;
		if (!cursor_left(&c))
			return -EBADMSG;
		bool is_all = cursor_left(&c) < size;
		r = read_list(table, &c, is_all);
		if (is_all)
			break;
	}
	if (r < 0)
		return r;
	if (!table->is_dense && table->list.n > 1)
		qsort(table->list.items, table->list.n, sizeof *table->list.items, compare_codes);
	table->is_valid = true;
	return 0;
}

const struct dwarf_abbreviation *
dwarf_abbreviations_search(const struct dwarf_abbreviations *table, uint64_t code)
{
	size_t low = 0, high = table->list.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->list.items[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < table->list.n && table->list.items[low].code == code;
	return found ? &table->list.items[low] : NULL;
}
