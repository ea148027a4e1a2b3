/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The functions of a file's debug information, each with the calls that were inlined into it, unit
 * by unit. No tree of entries is held: one unit's bytes, its line table, and the function at hand
 * are all there is.
 */
#ifndef DWARF_FUNCTIONS_H
#define DWARF_FUNCTIONS_H

#include "dwarf/line.h"
#include "dwarf/names.h"

/* A function (number 0) or a call that was inlined into it. */
struct dwarf_call {
	uint32_t parent; /* lower than its own number */
	uint32_t name;
	uint32_t file; /* of the call, as the unit counts them */
	uint32_t line;
	bool has_file;
};

struct dwarf_call_range {
	uint64_t start;
	uint64_t end;
	uint32_t call;
};

struct dwarf_function {
	const struct dwarf_call *calls;
	size_t n_calls;
	const struct dwarf_call_range
		*ranges; /* in the order of the entries; the function's first */
	size_t n_ranges;
};

/* The unit that is being read, for those who are told of its functions. */
struct dwarf_view {
	const struct dwarf_file *file;
	const struct dwarf_unit *unit;
	const struct dwarf_unit_facts *facts;
	struct dwarf_lines *lines;
};

struct dwarf_listener {
	void *context;
	/* A unit begins: its lines are read. */
	int (*unit)(void *context, const struct dwarf_view *view);
	int (*function)(void *context, const struct dwarf_view *view,
			const struct dwarf_function *function);
	/* It ends; all its functions were told. */
	int (*unit_end)(void *context, const struct dwarf_view *view);
};

struct dwarf_summary {
	uint64_t n_units;     /* with code or lines */
	uint64_t n_skeletons; /* of these, those whose functions are in another file */
	uint64_t n_damaged;   /* units that were not read, or not to their end */
	struct mw_error damage; /* the first of them */
};

/*
 * Tells the listener about all units. 0, or what it returned if that was negative, or -ENOMEM. What
 * is damaged is left out, as small a part as can be, and counted.
 */
int dwarf_functions_read(const struct dwarf_file *file, struct dwarf_names *names,
			 const struct dwarf_code *code, const struct dwarf_listener *listener,
			 struct dwarf_summary *ret, struct mw_error *e);

#endif
