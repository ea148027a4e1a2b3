/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the store has of one file, mapped: its functions, lines and inlined calls, and the segments that
 * make virtual addresses of offsets.
 *
 * Parts are mapped as they lie in the store and their descriptors closed. A part is replaced as a whole
 * and never written to, so a mapping stays good whatever happens to the entry.
 *
 * Two parts can name a function: names.gsym by the symbol table, lines.gsym by the debug information.
 * The symbol's name counts for the function itself (what a profile says, with or without lines); the
 * debug information's for calls that were inlined into it, and where there is no symbol.
 */
#ifndef SYMBOLS_SYMBOL_TABLE_H
#define SYMBOLS_SYMBOL_TABLE_H

#include "store/meta.h"
#include "symbols/gsym_decode.h"

struct store;

struct mapped_gsym {
	void *data; /* NULL: there is none */
	size_t size;
	struct gsym gsym;
	uint32_t *steps; /* owned; the gsym's */
};

struct symbol_table {
	struct mw_file_id id;
	struct meta meta;
	struct mapped_gsym names;
	struct mapped_gsym lines;
	enum mw_reason reason; /* why there is neither */
};

/* Fills a zeroed table. store may be NULL. What cannot be had has its reason in the table. */
void symbol_table_load(struct symbol_table *table, struct store *store, const struct mw_file_id *id);
/* Takes a zeroed one, too; leaves a zeroed one. */
void symbol_table_deinit(struct symbol_table *table);
/* Of a large one, pages are not held in our memory until the next look-up; the page cache has them. */
void symbol_table_rest(const struct symbol_table *table);

/*
 * The virtual address of an offset: 1; or 0 and the reason why nothing can be there. Without segments
 * (a file in no ELF form) there is no address.
 */
int symbol_table_address(const struct symbol_table *table, uint64_t offset, uint64_t *ret,
			 enum mw_reason *ret_reason);
/* The reason why an address has no name although the file has some. */
enum mw_reason symbol_table_reason(const struct symbol_table *table);

/* The function at an address, by the symbols. 1: found; 0: ret->reason says why not. */
int symbol_table_name(const struct symbol_table *table, uint64_t address, struct mw_location *ret);
/* The same from an entry that was found in names or lines. */
void symbol_table_describe(const struct symbol_table *table, const struct gsym_entry *entry,
			   uint64_t address, struct mw_location *ret);
/*
 * The function and what is inlined into it at an address that lies in an entry of lines. `decoded` is
 * that entry decoded; NULL: it is searched. `name` is what symbol_table_name() found, or has none.
 * Innermost first, up to max; returns how many there are.
 */
size_t symbol_table_chain(const struct symbol_table *table, const struct gsym_entry *entry,
			  const struct gsym_decoded *decoded, uint64_t address,
			  const struct mw_location *name, struct mw_location *ret, size_t max);

#endif
