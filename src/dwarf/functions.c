/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk over the entries of a unit. Entries that are not functions are passed over in a loop
 * that does as little as it can; they are nine of ten. What matters of the nesting is which
 * function, and which call in it, an entry is inside of: a stack of these, one for each level.
 */
#include "dwarf/functions.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "dwarf/constants.h"

/* Deeper nesting of calls is told as if it were at this depth; a compiler stops far before. */
#define CALL_DEPTH_MAX 256
#define DEPTH_MAX      (1u << 20)

#define NO_CALL UINT32_MAX

/* What an entry is inside of. */
struct level {
	uint32_t call;  /* NO_CALL: no function */
	uint32_t depth; /* of the calls */
	bool ends_function; /* when this level ends, a function does */
	bool is_local;      /* inside the entry of a function, with or without code */
};

/* A function whose entry is not at its end yet. One can be inside of another. */
struct open_function {
	uint32_t first_call;
	uint32_t first_range;
};

struct walk {
	const struct dwarf_file *file;
	struct dwarf_names *names;
	const struct dwarf_code *code;
	const struct dwarf_listener *listener;
	struct dwarf_summary *summary;

	struct dwarf_unit unit;
	struct dwarf_unit_facts facts;
	struct dwarf_lines lines;
	struct dwarf_abbreviations abbreviations;
	struct dwarf_view view;
	struct dwarf_current current;
	struct cursor c; /* over the unit */

	VEC(struct level) levels;
	VEC(struct open_function) open;
	VEC(struct dwarf_call) calls;
	VEC(struct dwarf_call_range) ranges;
	dwarf_range_list list;

	struct dwarf_range_reader range_reader;
	struct dwarf_window header, body, table, addresses;
};

static void walk_deinit(struct walk *w)
{
	dwarf_lines_deinit(&w->lines);
	dwarf_abbreviations_deinit(&w->abbreviations);
	vec_deinit(&w->levels);
	vec_deinit(&w->open);
	vec_deinit(&w->calls);
	vec_deinit(&w->ranges);
	vec_deinit(&w->list);
	dwarf_range_reader_deinit(&w->range_reader);
	dwarf_window_deinit(&w->header);
	dwarf_window_deinit(&w->body);
	dwarf_window_deinit(&w->table);
	dwarf_window_deinit(&w->addresses);
}

/* ---- one entry ------------------------------------------------------------------------------- */

struct entry {
	struct dwarf_name_clues clues;
	struct dwarf_value low_pc;
	struct dwarf_value high_pc;
	struct dwarf_value ranges;
	uint64_t call_file;
	uint64_t call_line;
	bool has_call_file;
};

static void read_entry(struct walk *w, const struct dwarf_abbreviation *abbreviation,
		       struct entry *ret)
{
	*ret = (struct entry){};
	const struct dwarf_attribute *a =
		w->abbreviations.attributes.items + abbreviation->attributes;
	for (unsigned i = 0; i < abbreviation->n_attributes; i++, a++) {
		struct dwarf_value value =
			dwarf_form_read(&w->c, &w->unit.encoding, a->form, a->implicit);
		switch (a->name) {
		case DW_AT_low_pc:
			ret->low_pc = value;
			break;
		case DW_AT_high_pc:
			ret->high_pc = value;
			break;
		case DW_AT_ranges:
			ret->ranges = value;
			break;
		case DW_AT_call_file:
			ret->call_file = value.number;
			ret->has_call_file = true;
			break;
		case DW_AT_call_line:
			ret->call_line = value.number;
			break;
		default:
			dwarf_name_clue(&ret->clues, a->name, &value);
		}
	}
}

static bool address_of(struct walk *w, const struct dwarf_value *value, uint64_t *ret)
{
	*ret = value->number;
	if (value->class == DWARF_CLASS_ADDRESS_INDEX)
		return dwarf_unit_address(w->file, &w->addresses, &w->unit, &w->facts,
					  value->number, ret);
	return value->class == DWARF_CLASS_ADDRESS;
}

static int add_range(struct walk *w, uint32_t call, uint64_t start, uint64_t end)
{
	uint64_t code_end;
	start += w->code->bias;
	end += w->code->bias;
	/* What the linker dropped has an address where no code is. */
	if (start >= end || !w->code->is_code(w->code->context, start, &code_end))
		return 0;
	return vec_push(&w->ranges, (struct dwarf_call_range){start, MIN(end, code_end), call});
}

/* Adds the ranges of an entry. */
static int add_ranges(struct walk *w, uint32_t call, const struct entry *entry)
{
	uint64_t low, high;
	if (entry->ranges.class) {
		w->list.n = 0;
		int r = dwarf_ranges_read(&w->range_reader, &w->unit, &w->facts, &entry->ranges,
					  &w->list);
		if (r == -ENOMEM)
			return r;
		r = 0;
		vec_foreach(range, &w->list) {
			if (r == 0)
				r = add_range(w, call, range->start, range->end);
		}
		return r;
	}
	if (!address_of(w, &entry->low_pc, &low) || !entry->high_pc.class)
		return 0;
	if (entry->high_pc.class == DWARF_CLASS_NUMBER)
		high = low + entry->high_pc.number;
	else if (!address_of(w, &entry->high_pc, &high))
		return 0;
	return add_range(w, call, low, high);
}

static int add_call(struct walk *w, uint32_t parent, const struct entry *entry)
{
	struct dwarf_call call = {
		.parent = parent,
		.file = (uint32_t)entry->call_file,
		.line = (uint32_t)MIN(entry->call_line, UINT32_MAX),
		.has_file = entry->has_call_file && entry->call_file < UINT32_MAX,
	};
	int r = dwarf_names_resolve(w->names, &w->current, &entry->clues, &call.name);
	return r < 0 ? r : vec_push(&w->calls, call);
}

/* ---- functions ------------------------------------------------------------------------------- */

static const struct open_function *innermost(const struct walk *w)
{
	return &w->open.items[w->open.n - 1];
}

/* A function with code begins; the numbers of its calls count from 0. */
static int begin_function(struct walk *w, const struct entry *entry, bool *ret_is_one)
{
	struct open_function function = {(uint32_t)w->calls.n, (uint32_t)w->ranges.n};
	*ret_is_one = false;
	if (!entry->ranges.class && !entry->low_pc.class)
		return 0;
	int r = add_ranges(w, 0, entry);
	if (r < 0 || w->ranges.n == function.first_range)
		return r;
	*ret_is_one = true;
	r = add_call(w, 0, entry);
	return r < 0 ? r : vec_push(&w->open, function);
}

static int end_function(struct walk *w)
{
	struct open_function open = *innermost(w);
	struct dwarf_function function = {
		.calls = w->calls.items + open.first_call,
		.n_calls = w->calls.n - open.first_call,
		.ranges = w->ranges.items + open.first_range,
		.n_ranges = w->ranges.n - open.first_range,
	};
	int r = w->listener->function(w->listener->context, &w->view, &function);
	w->calls.n = open.first_call;
	w->ranges.n = open.first_range;
	w->open.n--;
	return r;
}

static int visit_function(struct walk *w, const struct dwarf_abbreviation *abbreviation,
			  struct level *inside)
{
	struct entry entry;
	bool is_one = false;
	read_entry(w, abbreviation, &entry);
	int r = cursor_ok(&w->c) ? begin_function(w, &entry, &is_one) : 0;
	*inside = (struct level){.call = is_one ? 0 : NO_CALL, .ends_function = is_one,
				 .is_local = true};
	return r;
}

static int visit_inlined(struct walk *w, const struct dwarf_abbreviation *abbreviation,
			 struct level *inside)
{
	struct entry entry;
	if (inside->call == NO_CALL) {
		dwarf_abbreviation_skip(&w->abbreviations, abbreviation, &w->c);
		return 0;
	}
	read_entry(w, abbreviation, &entry);
	if (!cursor_ok(&w->c) || inside->depth == CALL_DEPTH_MAX)
		return 0;
	uint32_t call = (uint32_t)w->calls.n - innermost(w)->first_call;
	int r = add_call(w, inside->call, &entry);
	if (r == 0)
		r = add_ranges(w, call, &entry);
	inside->call = call;
	inside->depth++;
	return r;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* The end of the children of an entry. */
static int leave(struct walk *w)
{
	bool ends_function = w->levels.items[--w->levels.n].ends_function;
	return ends_function ? end_function(w) : 0;
}

/*
 * Jumps behind a type's children. False: its entry does not say where that is. Not to be done
 * inside of functions: the methods of a local class have their code there.
 */
static bool jump_to_sibling(struct walk *w, const struct dwarf_abbreviation *abbreviation,
			    struct cursor at_attributes)
{
	const struct dwarf_attribute *a =
		w->abbreviations.attributes.items + abbreviation->attributes;
	for (unsigned i = 0; i < abbreviation->n_attributes; i++, a++) {
		struct dwarf_value value = dwarf_form_read(&at_attributes, &w->unit.encoding,
							   a->form, a->implicit);
		if (a->name != DW_AT_sibling)
			continue;
		/* Forward only: a circle would never end. */
		return value.class == DWARF_CLASS_REFERENCE &&
		       value.number > cursor_offset(&w->c) && cursor_seek(&w->c, value.number);
	}
	return false;
}

static int visit(struct walk *w, const struct dwarf_abbreviation *abbreviation)
{
	struct level inside = w->levels.items[w->levels.n - 1];
	inside.ends_function = false;
	int r = 0;
	if (abbreviation->kind == DWARF_ENTRY_FUNCTION) {
		r = visit_function(w, abbreviation, &inside);
	} else if (abbreviation->kind == DWARF_ENTRY_INLINED) {
		r = visit_inlined(w, abbreviation, &inside);
	} else {
		struct cursor at_attributes = w->c;
		dwarf_abbreviation_skip(&w->abbreviations, abbreviation, &w->c);
		if (abbreviation->kind == DWARF_ENTRY_TYPE && abbreviation->has_sibling &&
		    abbreviation->has_children && !inside.is_local &&
		    jump_to_sibling(w, abbreviation, at_attributes))
			return 0;
	}
	if (r < 0)
		return r;
	if (!abbreviation->has_children)
		return inside.ends_function ? end_function(w) : 0;
	return w->levels.n < DEPTH_MAX ? vec_push(&w->levels, inside) : -EBADMSG;
}

/* The entries behind the first one of the unit. */
static int walk_entries(struct walk *w)
{
	w->levels.n = w->open.n = 0;
	w->calls.n = w->ranges.n = 0;
	int r = vec_push(&w->levels, (struct level){.call = NO_CALL});
	while (r == 0 && w->levels.n && cursor_left(&w->c)) {
		uint64_t code = cursor_uleb(&w->c);
		if (!code) {
			r = leave(w);
			continue;
		}
		const struct dwarf_abbreviation *abbreviation =
			dwarf_abbreviations_find(&w->abbreviations, code);
		r = abbreviation ? visit(w, abbreviation) : -EBADMSG;
	}
	if (r == 0 && !cursor_ok(&w->c))
		r = -EBADMSG;
	/* What was read of functions that the damage cut is told all the same. */
	while (w->open.n && (r == 0 || r == -EBADMSG)) {
		int ended = end_function(w);
		r = ended < 0 ? ended : r;
	}
	return r;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool is_current_table(const struct dwarf_abbreviations *table, const struct dwarf_unit *unit)
{
	return table->is_valid && table->offset == unit->abbreviations &&
	       table->encoding.address_size == unit->encoding.address_size &&
	       table->encoding.offset_size == unit->encoding.offset_size &&
	       table->encoding.version == unit->encoding.version;
}

static int prepare_unit(struct walk *w)
{
	struct dwarf_unit *unit = &w->unit;
	w->c = dwarf_bytes(w->file, unit->section, &w->body, unit->offset,
			   unit->end - unit->offset);
	if (!cursor_ok(&w->c))
		return -EBADMSG;
	int r = is_current_table(&w->abbreviations, unit)
			? 0
			: dwarf_abbreviations_read(&w->abbreviations, w->file, &w->table,
						   unit->abbreviations, &unit->encoding);
	if (r == 0)
		r = dwarf_unit_read_facts(w->file, unit, &w->abbreviations, &w->c, &w->facts);
	w->current = (struct dwarf_current){unit, &w->facts, &w->abbreviations, w->c};
	w->view = (struct dwarf_view){w->file, unit, &w->facts, &w->lines};
	return r;
}

static int read_lines(struct walk *w)
{
	dwarf_lines_clear(&w->lines);
	return w->facts.has_statements
		       ? dwarf_lines_read(&w->lines, w->file, &w->unit, &w->facts, w->code)
		       : 0;
}

/* Damage of the line table costs lines, and damage of the entries what comes behind it. */
static int read_unit(struct walk *w)
{
	int r = prepare_unit(w);
	if (r < 0)
		return r;
	int lines = read_lines(w);
	if (lines == -ENOMEM)
		return lines;
	w->summary->n_units++;
	w->summary->n_skeletons += w->facts.is_skeleton;
	r = w->listener->unit(w->listener->context, &w->view);
	if (r == 0)
		r = walk_entries(w);
	if (r < 0 && r != -EBADMSG)
		return r;
	int ended = w->listener->unit_end(w->listener->context, &w->view);
	return ended < 0 ? ended : r < 0 ? r : lines;
}

static void note_damage(struct walk *w, uint64_t offset)
{
	if (!w->summary->n_damaged++)
		error_at(&w->summary->damage, -EBADMSG, offset,
			 "debug information of a unit is damaged");
}

/* Type units have no code. */
static bool is_of_interest(const struct dwarf_unit *unit)
{
	return unit->kind == DW_UT_compile || unit->kind == DW_UT_partial ||
	       unit->kind == DW_UT_skeleton;
}

static int read_units(struct walk *w)
{
	uint64_t offset = 0;
	for (;;) {
		int r = dwarf_unit_read(w->file, &w->header, DWARF_INFO, offset, &w->unit);
		if (r == -ENODATA)
			return 0;
		if (r == 0 && is_of_interest(&w->unit))
			r = read_unit(w);
		if (r == -EBADMSG)
			note_damage(w, offset);
		else if (r < 0)
			return r;
		if (w->unit.end <= offset)
			return 0;
		offset = w->unit.end;
	}
}

int dwarf_functions_read(const struct dwarf_file *file, struct dwarf_names *names,
			 const struct dwarf_code *code, const struct dwarf_listener *listener,
			 struct dwarf_summary *ret, struct mw_error *e)
{
	*ret = (struct dwarf_summary){};
	struct walk w = {.file = file, .names = names, .code = code, .listener = listener,
			 .summary = ret, .range_reader.file = file};
	int r = read_units(&w);
	walk_deinit(&w);
	return r == -ENOMEM ? error_set(e, r, "out of memory for debug information") : r;
}
