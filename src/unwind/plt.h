/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules for procedure linkage tables that the linker wrote none for (gold, old lld, mold, and the .plt.sec
 * of some): their code is so simple that it can be read. x86-64.
 *
 * The stubs jump through memory; the lazy ones push a number first and jump to the stub in front, which
 * pushes once more. So the depth of the stack at each instruction is known, if all of them are.
 */
#ifndef UNWIND_PLT_H
#define UNWIND_PLT_H

#include "unwind/unwind_build.h"

/* Appends ranges of addresses. A table with instructions that are not known gives what is before. */
int plt_find(struct elf *elf, plain_list *ret);

#endif
