/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The function symbols of one ELF file, collected from the best of its tables; and the choice among
 * them: which one name does each address have?
 *
 * Counted are functions, resolvers of IFUNC symbols and untyped labels, inside executable sections
 * (or segments, if there are no sections). Not counted are undefined and absolute symbols, data,
 * thread-local storage, sections, files, and the labels that assemblers and linkers leave for
 * themselves ($x, .L1, annobin).
 *
 * The choice, address by address:
 *   - a symbol with a size covers just that; what no symbol covers has no name;
 *   - a symbol without size reaches to the next symbol, to the end of the function that encloses
 *     it, or to the end of its section, whatever comes first. An untyped label without size inside
 *     a function is no function of its own;
 *   - of symbols that start together: global before weak before local; functions before resolvers
 *     before labels; __GI_* only if nothing else is there; then those with a size (Go's runtime.text
 *     is a label of no size at its first function); then the shorter one, whose rest the longer one
 *     has;
 *   - of symbols that start at different places, the later one is inside the earlier one, which goes
 *     on behind it. So each entry is one contiguous piece, and a later piece knows where its
 *     function really starts.
 */
#ifndef SYMBOLS_SYMBOL_LIST_H
#define SYMBOLS_SYMBOL_LIST_H

#include "elf/elf.h"
#include "symbols/gsym_write.h"

/* The largest table of symbols, or of strings, that is read. */
#define SYMBOL_TABLE_MAX (UINT64_C(256) << 20)

/* Where names came from: the higher, the better. The numbers are the ranks of the store. */
enum symbol_source {
	SYMBOL_SOURCE_NONE = 0,
	SYMBOL_SOURCE_DYNAMIC,   /* the dynamic segment, for lack of section headers */
	SYMBOL_SOURCE_DYNSYM,    /* .dynsym */
	SYMBOL_SOURCE_DEBUGDATA, /* .gnu_debugdata and .dynsym */
	SYMBOL_SOURCE_SYMTAB,    /* .symtab */
};
/* As users read it (".symtab"); "none" for any other number. */
const char *symbol_source_name(uint32_t source);

struct symbol {
	uint64_t start;
	uint64_t end;     /* of what it covers; without size: of what it may reach to at most */
	const char *name; /* in a table of the list */
	uint8_t rank;     /* smaller is better */
	bool has_size;
};

struct symbol_list {
	VEC(struct symbol) symbols;
	VEC(uint8_t *) tables; /* string tables, owned */
	enum symbol_source source;
	struct mw_error damage; /* what could not be used beside the symbols; code 0: nothing */
};

typedef VEC(struct gsym_function) function_list;

/*
 * Fills a zeroed list. -ENODATA if the file has no function symbols; another -errno if it has none
 * that could be read.
 */
int symbol_list_collect(struct symbol_list *list, struct elf *elf, struct mw_error *e);
/* Disjoint, ascending pieces, whose names belong to the list. *ret is empty before. */
int symbol_list_choose(const struct symbol_list *list, function_list *ret, struct mw_error *e);
void symbol_list_deinit(struct symbol_list *list);

#endif
