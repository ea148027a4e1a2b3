/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of several names of one address is its name, and which are none at all. */
#ifndef SYMBOLS_SYMBOL_RANK_H
#define SYMBOLS_SYMBOL_RANK_H

#include <stdbool.h>
#include <stdint.h>

/* Ranks from here on are those of untyped labels. */
#define SYMBOL_RANK_LABEL 6
/* Of names that no symbol table has: worse than all. */
#define SYMBOL_RANK_PLT 200

/* The smaller, the better. type and bind are STT_* and STB_*. */
uint8_t symbol_rank(const char *name, uint8_t type, uint8_t bind);
/* Whether it is that of an IFUNC symbol. */
bool symbol_rank_is_resolver(uint8_t rank);
/* False for the labels that assemblers, linkers and plugins leave for themselves. */
bool symbol_name_counts(const char *name, uint8_t type);
/*
 * Of two names of one rank: fewer underscores in front first, then by the alphabet, so that the
 * same file gives the same names each time. Negative if a comes first. Only the first bytes of long
 * names are compared: a file can hold a million of them.
 */
int symbol_name_compare(const char *a, const char *b);

#endif
