/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names for the procedure linkage table, which has no symbols: each entry jumps through a slot of
 * the global offset table, and a relocation says whose address is put there.
 *
 *	1030: ff 25 e2 2f 00 00   jmp *0x4018(%rip)     4018 R_X86_64_JUMP_SLOT printf
 *
 * So the entries are read as the processor would, not counted: what does not jump through a slot
 * with a name has none, whatever linker made it (bfd, with and without IBT; gold, lld, mold; BOLT
 * leaves it as it was). x86-64, i386 and AArch64. What comes before the first entry of .plt is "<PLT
 * header>".
 *
 * Without section headers the table is found by the slots, which lead to it until they are bound.
 *
 * A slot that is filled by a resolver (IRELATIVE) has the name of the IFUNC symbol at the
 * resolver's address, where there is one.
 */
#ifndef SYMBOLS_PLT_H
#define SYMBOLS_PLT_H

#include "symbols/symbol_list.h"

/* Adds the entries that no symbol with a size covers to a list that is filled. 0 or -ENOMEM. */
int plt_add(struct symbol_list *list, struct elf *elf);

#endif
