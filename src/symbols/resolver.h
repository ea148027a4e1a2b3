/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of struct mw_resolver (the public header says what it is for): what the commands need of
 * it beyond the public functions.
 *
 * Tables are found without a lock and stay until the resolver is closed: what is learned later of a
 * file (its lines, or any names at all) is another table, which takes the place of the first. So
 * strings that were handed out stay good. Functions that were decoded are in a cache of bounded size.
 */
#ifndef SYMBOLS_RESOLVER_H
#define SYMBOLS_RESOLVER_H

#include "base/sort.h"
#include "symbols/symbol_table.h"

/* A resolver over a store that is open already, borrowed; NULL: nothing is known of anything. */
int resolver_new(struct store *store, size_t cache_bytes, struct mw_resolver **ret);
/* The table of a file, valid until the resolver is closed; NULL if there is no memory for it. */
const struct symbol_table *resolver_table(struct mw_resolver *resolver, const struct mw_file_id *id);
/* Looks into the store again, at once, for what it did not have of a file. */
void resolver_refresh(struct mw_resolver *resolver, const struct mw_file_id *id);

/* How questions are meant. */
enum resolver_flags {
	RESOLVER_ADDRESSES = 0x1,   /* keys are addresses as the ELF file counts, not offsets of the file */
	/*
	 * The debug information's name of a function before the symbol's, which comes behind the chain:
	 * chain[n] is it (without a name if there is none).
	 */
	RESOLVER_DEBUG_NAMES = 0x2,
};

/*
 * Many questions about one file: items[i].key is what is asked, ascending; items[i].value comes back
 * with the answer. `chain` has n locations, or one without a name
 * (n is 0 then), and is valid during the call, which must not ask the resolver. What is inlined
 * deeper than 256 calls is left out. Stops when fn returns other than 0, and returns that; or -ENOMEM.
 */
typedef int (*resolver_answer_fn)(void *data, uint64_t value, const struct mw_location *chain,
				  size_t n);
int resolver_find_sorted(struct mw_resolver *resolver, const struct symbol_table *table,
			 unsigned flags, const struct sort_item *items, size_t n,
			 resolver_answer_fn fn, void *data);

#endif
