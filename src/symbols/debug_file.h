/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the files that are offered as debug files is one of a given file. */
#ifndef SYMBOLS_DEBUG_FILE_H
#define SYMBOLS_DEBUG_FILE_H

#include "elf/identity.h"
#include "symbols/symbol_list.h"

/*
 * What is to be added to the addresses of a debug file: prelinking moves a file, but not its debug
 * file. Modulo 2^64; 0 if they agree.
 */
uint64_t debug_file_bias(const struct elf *elf, const struct elf *debug);
/*
 * The symbols of the first of the debug files that belongs to the file and has any, or else the
 * file's own. Results as symbol_list_collect().
 */
int debug_file_symbols(struct symbol_list *list, struct elf *elf, const int *debug_fds,
		       size_t n_debug_fds, const struct elf_identity *identity, struct mw_error *e);

#endif
