/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From (file id, file offset) to a name, by what the store has.
 *
 * Symbol tables are mapped from the store as they are, a few at a time; the one least recently used
 * goes first. A table in the store is replaced as a whole and never written to, so a mapping stays
 * good whatever happens to the entry.
 */
#ifndef SYMBOLS_SYMBOLIZER_H
#define SYMBOLS_SYMBOLIZER_H

#include "symbols/kernel.h"

struct store;
struct symbolizer;

struct symbol {
	const char *name;   /* as the file has it; NULL: see the reason. Valid until the next look-up */
	const char *module; /* kernel only: NULL for the kernel itself */
	uint64_t start;     /* first byte of the function, in the terms of the question */
	enum mw_reason reason;
};

/* Borrows the store and the kernel's symbols; either may be NULL. */
int symbolizer_new(struct store *store, const struct kernel_symbols *kernel,
		   struct symbolizer **ret);
void symbolizer_free(struct symbolizer *s);

/*
 * Why there are no names is kept like names are, until this is called: from another copy of the same
 * content there may be some by now.
 */
void symbolizer_forget_failures(struct symbolizer *s);

/* The store may have better names of this content by now. */
void symbolizer_forget(struct symbolizer *s, const struct mw_file_id *id);

/* The function at an offset of a file. Never fails: what cannot be told has its reason. */
struct symbol symbolizer_find(struct symbolizer *s, const struct mw_file_id *id, uint64_t offset);
struct symbol symbolizer_find_kernel(struct symbolizer *s, uint64_t address);

#endif
