/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/names.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "dwarf/constants.h"

#include <string.h>

/* References that are followed from one entry: more are a circle. */
#define HOPS_MAX 16
/* An entry that is read from another unit; its attributes are long only with strings inside. */
#define ENTRY_BYTES      1024
#define ENTRY_READ_AHEAD 4096
#define ENTRY_BYTES_MAX (UINT64_C(1) << 20)
#define UNITS_MAX       (1u << 24)

/*
 * Places and entries are keys of 64 bits: an offset below, what it is an offset in above. No
 * section that can be read has 2^56 bytes.
 */
#define KEY_SHIFT 56

enum place {
	PLACE_INLINE, /* number in inline_names */
	PLACE_STRINGS,
	PLACE_LINE_STRINGS,
	PLACE_OTHER_STRINGS,
	PLACE_OTHER_LINE_STRINGS,
	N_PLACES
};

void dwarf_names_init(struct dwarf_names *names, const struct dwarf_file *file)
{
	*names = (struct dwarf_names){.main.file = file, .other.file = file->supplement};
	/* Single entries lie anywhere. */
	names->main.entries.read_ahead = names->other.entries.read_ahead = ENTRY_READ_AHEAD;
	names->main.headers.read_ahead = names->other.headers.read_ahead = ENTRY_READ_AHEAD;
}

static void library_deinit(struct dwarf_library *library)
{
	vec_deinit(&library->units);
	for (size_t i = 0; i < DWARF_ABBREVIATIONS_KEPT; i++)
		dwarf_abbreviations_deinit(&library->abbreviations[i]);
	dwarf_window_deinit(&library->headers);
	dwarf_window_deinit(&library->tables);
	dwarf_window_deinit(&library->entries);
	dwarf_window_deinit(&library->offsets);
}

void dwarf_names_deinit(struct dwarf_names *names)
{
	library_deinit(&names->main);
	library_deinit(&names->other);
	map_deinit(&names->by_entry);
	map_deinit(&names->by_place);
	vec_deinit(&names->places);
	strings_deinit(&names->inline_names);
	*names = (struct dwarf_names){};
}

/* ---- units, to find the one that an entry is in ---------------------------------------------- */

static int list_units(struct dwarf_library *library, enum dwarf_section_kind section)
{
	uint64_t offset = 0;
	for (;;) {
		struct dwarf_unit unit;
		int r = dwarf_unit_read(library->file, &library->headers, section, offset, &unit);
		if (r < 0 && unit.end <= offset)
			return 0;
		offset = unit.end;
		if (r == 0 && library->units.n < UNITS_MAX)
			r = vec_push(&library->units, unit);
		if (r == -ENOMEM)
			return r;
	}
}

/* The list has .debug_info's units, then .debug_types'. */
static int list_all_units(struct dwarf_library *library)
{
	if (library->is_listed)
		return 0;
	library->is_listed = true;
	int r = list_units(library, DWARF_INFO);
	return r < 0 ? r : list_units(library, DWARF_TYPES);
}

static const struct dwarf_unit *find_unit(const struct dwarf_library *library, uint64_t offset)
{
	size_t low = 0, high = library->units.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct dwarf_unit *unit = &library->units.items[middle];
		if (unit->section == DWARF_INFO && unit->end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == library->units.n)
		return NULL;
	const struct dwarf_unit *unit = &library->units.items[low];
	return unit->section == DWARF_INFO && unit->entries <= offset ? unit : NULL;
}

static const struct dwarf_unit *find_type_unit(const struct dwarf_library *library,
					       uint64_t signature)
{
	vec_foreach(unit, &library->units) {
		bool is_type = unit->kind == DW_UT_type || unit->kind == DW_UT_split_type;
		if (is_type && unit->signature == signature)
			return unit;
	}
	return NULL;
}

static int table_of(struct dwarf_library *library, const struct dwarf_unit *unit,
		    const struct dwarf_abbreviations **ret)
{
	size_t place = hash_u64(unit->abbreviations) % DWARF_ABBREVIATIONS_KEPT;
	struct dwarf_abbreviations *table = &library->abbreviations[place];
	*ret = table;
	if (table->is_valid && table->offset == unit->abbreviations &&
	    table->encoding.address_size == unit->encoding.address_size &&
	    table->encoding.offset_size == unit->encoding.offset_size &&
	    (table->encoding.version <= 2) == (unit->encoding.version <= 2))
		return 0;
	return dwarf_abbreviations_read(table, library->file, &library->tables, unit->abbreviations,
					&unit->encoding);
}

/* ---- clues ----------------------------------------------------------------------------------- */

void dwarf_name_clue(struct dwarf_name_clues *clues, uint16_t attribute,
		     const struct dwarf_value *value)
{
	switch (attribute) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		clues->linkage_name = *value;
		break;
	case DW_AT_name:
		clues->name = *value;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
	case DW_AT_signature:
		clues->origin = *value;
		break;
	}
}

/* The entry at the cursor. False if it is none, or damaged. */
static bool read_clues(struct cursor *c, const struct dwarf_abbreviations *abbreviations,
		       const struct dwarf_encoding *encoding, struct dwarf_name_clues *ret)
{
	*ret = (struct dwarf_name_clues){};
	const struct dwarf_abbreviation *abbreviation =
		dwarf_abbreviations_find(abbreviations, cursor_uleb(c));
	if (!cursor_ok(c) || !abbreviation)
		return false;
	const struct dwarf_attribute *a =
		abbreviations->attributes.items + abbreviation->attributes;
	for (unsigned i = 0; i < abbreviation->n_attributes; i++, a++) {
		struct dwarf_value value = dwarf_form_read(c, encoding, a->form, a->implicit);
		dwarf_name_clue(ret, a->name, &value);
	}
	return cursor_ok(c);
}

/* ---- strings --------------------------------------------------------------------------------- */

static int number_of_place(struct dwarf_names *names, enum place place, uint64_t offset,
			   uint32_t *ret)
{
	uint64_t key = (uint64_t)place << KEY_SHIFT | offset;
	*ret = map_find(&names->by_place, key);
	if (*ret != MAP_NONE)
		return 0;
	*ret = (uint32_t)names->places.n + 1;
	int r = vec_push(&names->places, key);
	return r < 0 ? r : map_add(&names->by_place, key, *ret);
}

static int number_of_inline(struct dwarf_names *names, const char *text, uint32_t *ret)
{
	uint32_t number;
	*ret = 0;
	if (!*text)
		return 0;
	int r = strings_add(&names->inline_names, text, strlen(text), &number);
	return r < 0 ? r : number_of_place(names, PLACE_INLINE, number, ret);
}

/* What reading an entry's values needs to know: where it is. */
struct home {
	struct dwarf_library *library;
	const struct dwarf_unit *unit;
	const struct dwarf_unit_facts *facts; /* NULL: not read yet */
};

/* The bases of a unit of which just one entry was read. */
static int read_home_facts(struct home *home, struct dwarf_unit_facts *ret)
{
	const struct dwarf_abbreviations *abbreviations;
	int r = table_of(home->library, home->unit, &abbreviations);
	if (r < 0)
		return r;
	struct dwarf_window window = {};
	uint64_t size = MIN(home->unit->end - home->unit->offset, 65536);
	struct cursor c = dwarf_bytes(home->library->file, home->unit->section, &window,
				      home->unit->offset, size);
	r = dwarf_unit_read_facts(home->library->file, home->unit, abbreviations, &c, ret);
	ret->directory = (struct dwarf_value){};
	dwarf_window_deinit(&window);
	return r;
}

static int number_of_indexed(struct dwarf_names *names, struct home *home, uint64_t index,
			     uint32_t *ret)
{
	struct dwarf_unit_facts facts;
	uint64_t offset;
	*ret = 0;
	if (!home->facts) {
		int r = read_home_facts(home, &facts);
		if (r < 0)
			return r == -ENOMEM ? r : 0;
		home->facts = &facts;
	}
	if (!dwarf_unit_string_offset(home->library->file, &home->library->offsets, home->unit,
				      home->facts, index, &offset))
		offset = UINT64_MAX;
	if (home->facts == &facts)
		home->facts = NULL;
	if (offset >= home->library->file->sections[DWARF_STR].size)
		return 0;
	return number_of_place(names,
			       home->library == &names->main ? PLACE_STRINGS : PLACE_OTHER_STRINGS,
			       offset, ret);
}

/* The number of the string that a value stands for; 0 if it is none. */
static int number_of_value(struct dwarf_names *names, struct home *home,
			   const struct dwarf_value *value, uint32_t *ret)
{
	bool is_main = home->library == &names->main;
	const struct dwarf_section *sections = home->library->file->sections;
	*ret = 0;
	switch (value->class) {
	case DWARF_CLASS_STRING:
		return number_of_inline(names, value->string, ret);
	case DWARF_CLASS_STRING_AT:
		if (value->number >= sections[DWARF_STR].size)
			return 0;
		return number_of_place(names, is_main ? PLACE_STRINGS : PLACE_OTHER_STRINGS,
				       value->number, ret);
	case DWARF_CLASS_LINE_STRING_AT:
		if (value->number >= sections[DWARF_LINE_STR].size)
			return 0;
		return number_of_place(names,
				       is_main ? PLACE_LINE_STRINGS : PLACE_OTHER_LINE_STRINGS,
				       value->number, ret);
	case DWARF_CLASS_OTHER_STRING_AT:
		if (!names->other.file)
			names->misses_other = true;
		if (!names->other.file ||
		    value->number >= names->other.file->sections[DWARF_STR].size)
			return 0;
		return number_of_place(names, PLACE_OTHER_STRINGS, value->number, ret);
	case DWARF_CLASS_STRING_INDEX:
		return number_of_indexed(names, home, value->number, ret);
	default:
		return 0;
	}
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Where a reference leads. False: nowhere. */
static bool locate(struct dwarf_names *names, const struct home *home,
		   const struct dwarf_value *reference, struct dwarf_library **ret_library,
		   uint64_t *ret_offset)
{
	const struct dwarf_unit *unit;
	*ret_library = home->library;
	switch (reference->class) {
	case DWARF_CLASS_REFERENCE:
		*ret_offset = home->unit->offset + reference->number;
		return reference->number < home->unit->end - home->unit->offset;
	case DWARF_CLASS_REFERENCE_AT:
		*ret_offset = reference->number;
		return reference->number < home->library->file->sections[DWARF_INFO].size;
	case DWARF_CLASS_OTHER_REFERENCE:
		*ret_library = &names->other;
		*ret_offset = reference->number;
		names->misses_other = names->misses_other || !names->other.file;
		return names->other.file &&
		       reference->number < names->other.file->sections[DWARF_INFO].size;
	case DWARF_CLASS_SIGNATURE:
		list_all_units(home->library);
		unit = find_type_unit(home->library, reference->number);
		/* Those of .debug_types hold no functions that anything else refers to. */
		if (!unit || unit->section != DWARF_INFO)
			return false;
		*ret_offset = unit->offset + unit->type;
		return true;
	default:
		return false;
	}
}

/* Reads an entry of any unit. 1, 0 if it is not there or damaged, or -ENOMEM. */
static int read_far_entry(struct dwarf_library *library, uint64_t offset, struct home *home,
			  struct dwarf_name_clues *ret)
{
	int r = list_all_units(library);
	if (r < 0)
		return r;
	const struct dwarf_unit *unit = find_unit(library, offset);
	const struct dwarf_abbreviations *abbreviations;
	if (!unit)
		return 0;
	r = table_of(library, unit, &abbreviations);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*home = (struct home){.library = library, .unit = unit};
	for (uint64_t size = ENTRY_BYTES;; size *= 16) {
		struct cursor c = dwarf_bytes(library->file, DWARF_INFO, &library->entries, offset,
					      MIN(size, unit->end - offset));
		if (read_clues(&c, abbreviations, &unit->encoding, ret))
			return 1;
		if (size >= unit->end - offset || size >= ENTRY_BYTES_MAX)
			return 0;
	}
}

static int read_entry(struct dwarf_names *names, const struct dwarf_current *current,
		      struct dwarf_library *library, uint64_t offset, struct home *home,
		      struct dwarf_name_clues *ret)
{
	const struct dwarf_unit *unit = current->unit;
	if (library != &names->main || unit->section != DWARF_INFO || offset < unit->entries ||
	    offset >= unit->end)
		return read_far_entry(library, offset, home, ret);
	*home = (struct home){.library = library, .unit = unit, .facts = current->facts};
	struct cursor c = current->bytes;
	cursor_seek(&c, offset - unit->offset);
	return read_clues(&c, current->abbreviations, &unit->encoding, ret);
}

/* A chain of references that is being followed. */
struct chain {
	uint64_t keys[HOPS_MAX]; /* of the entries on the way */
	unsigned n;
	uint32_t linkage_name;
	uint32_t name;
};

static int take_names(struct dwarf_names *names, struct chain *chain, struct home *home,
		      const struct dwarf_name_clues *clues)
{
	int r = number_of_value(names, home, &clues->linkage_name, &chain->linkage_name);
	if (r == 0 && !chain->linkage_name && !chain->name)
		r = number_of_value(names, home, &clues->name, &chain->name);
	return r;
}

/* The number of the name of an entry that was resolved before, or MAP_NONE. */
static uint32_t find_entry(struct dwarf_names *names, uint64_t key)
{
	struct map_place *recent =
		&names->recent[(key ^ key >> 10) & (DWARF_NAMES_RECENT - 1)];
	if (recent->key == key && key)
		return recent->value;
	uint32_t number = map_find(&names->by_entry, key);
	if (number != MAP_NONE)
		*recent = (struct map_place){key, number};
	return number;
}

/*
 * Goes from entry to entry until there is a linkage name. An entry that was met before has the
 * answer for all that lead to it, except that a plain name on the way would be nearer.
 */
static int follow(struct dwarf_names *names, const struct dwarf_current *current, struct home *home,
		  struct dwarf_name_clues *clues, struct chain *chain)
{
	for (;;) {
		struct dwarf_library *library;
		uint64_t offset;
		int r = take_names(names, chain, home, clues);
		if (r < 0 || chain->linkage_name)
			return r;
		if (chain->n == HOPS_MAX || !locate(names, home, &clues->origin, &library, &offset))
			return 0;
		uint64_t key = (uint64_t)(library == &names->other) << KEY_SHIFT | offset;
		uint32_t known = chain->name ? MAP_NONE : find_entry(names, key);
		if (known != MAP_NONE) {
			chain->linkage_name = known;
			return 0;
		}
		chain->keys[chain->n++] = key;
		r = read_entry(names, current, library, offset, home, clues);
		if (r <= 0)
			return r;
	}
}

int dwarf_names_resolve(struct dwarf_names *names, const struct dwarf_current *current,
			const struct dwarf_name_clues *clues, uint32_t *ret)
{
	struct home home = {&names->main, current->unit, current->facts};
	struct dwarf_name_clues at = *clues;
	struct chain chain = {};
	int r = follow(names, current, &home, &at, &chain);
	*ret = chain.linkage_name ? chain.linkage_name : chain.name;
	/* The first entry on the way is the one that others refer to, too. */
	if (r == 0 && chain.n && !clues->name.class && !clues->linkage_name.class &&
	    map_find(&names->by_entry, chain.keys[0]) == MAP_NONE)
		r = map_add(&names->by_entry, chain.keys[0], *ret);
	return r;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
	struct dwarf_names *names;
	struct buffer *out;
	uint64_t limit;
	struct dwarf_window window;
};

static const char *text_at(struct writer *w, uint64_t place)
{
	uint64_t offset = place & ((UINT64_C(1) << KEY_SHIFT) - 1);
	const struct dwarf_file *main = w->names->main.file, *other = w->names->other.file;
	switch ((enum place)(place >> KEY_SHIFT)) {
	case PLACE_INLINE:
		return strings_get(&w->names->inline_names, (uint32_t)offset);
	case PLACE_STRINGS:
		return dwarf_string(main, DWARF_STR, &w->window, offset);
	case PLACE_LINE_STRINGS:
		return dwarf_string(main, DWARF_LINE_STR, &w->window, offset);
	case PLACE_OTHER_STRINGS:
		return dwarf_string(other, DWARF_STR, &w->window, offset);
	case PLACE_OTHER_LINE_STRINGS:
		return dwarf_string(other, DWARF_LINE_STR, &w->window, offset);
	default:
		return NULL;
	}
}

static int write_name(struct writer *w, uint64_t place, uint32_t *ret_offset)
{
	const char *text = text_at(w, place);
	*ret_offset = 0;
	if (!text || !*text)
		return 0;
	size_t size = strlen(text) + 1;
	if (w->out->n + size > w->limit)
		return -EFBIG;
	*ret_offset = (uint32_t)w->out->n;
	buffer_bytes(w->out, text, size);
	return w->out->failed ? -ENOMEM : 0;
}

static int write_all(struct writer *w, uint32_t *offsets)
{
	size_t n = w->names->places.n;
	_cleanup_free_ struct sort_item *order = malloc((n + 1) * sizeof *order);
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct sort_item){w->names->places.items[i], i};
	int r = sort_items(order, n);
	for (size_t i = 0; i < n && r == 0; i++) {
		/* The window is of one file: another place may be in the other one. */
		if (i && order[i].key >> KEY_SHIFT != order[i - 1].key >> KEY_SHIFT)
			w->window.section = 0;
		r = write_name(w, order[i].key, &offsets[order[i].value + 1]);
	}
	return r;
}

int dwarf_names_write(struct dwarf_names *names, uint64_t limit, struct buffer *ret,
		      uint32_t **ret_offsets)
{
	struct writer w = {.names = names, .out = ret, .limit = MIN(limit, UINT32_MAX)};
	_cleanup_free_ uint32_t *offsets = calloc(names->places.n + 1, sizeof *offsets);
	if (!offsets)
		return -ENOMEM;
	buffer_u8(ret, 0);
	int r = ret->failed ? -ENOMEM : write_all(&w, offsets);
	dwarf_window_deinit(&w.window);
	if (r == 0)
		*ret_offsets = take_ptr(offsets);
	return r;
}
