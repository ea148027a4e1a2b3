/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bottom of the stack where no rule says it: the code at the file's entry, which the kernel
 * starts and nobody calls. The dynamic linker and small C libraries have no rules for it.
 */
#ifndef UNWIND_ENTRY_H
#define UNWIND_ENTRY_H

#include "unwind/unwind_build.h"

/*
 * Appends the range of the entry's code, as far as is certain: to the next function that has a rule
 * or a symbol, to an instruction that leaves for good, and not far anyway.
 */
int entry_find(const struct unwind_build *build, plain_list *ret);

#endif
