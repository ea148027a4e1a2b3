/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules for small pieces of code that nobody wrote rules for, and that are so simple that they can
 * be read. x86-64.
 *
 *   - procedure linkage tables of linkers that write none (gold, old lld, mold): the stubs jump
 * through memory; the lazy ones push a number first and jump to the stub in front, which pushes
 * once more
 *   - .init and .fini
 *   - what calls the destructors of a program or library: crtbegin.o's __do_global_dtors_aux
 *
 * The depth of the stack at each instruction is known, if all of them are.
 */
#ifndef UNWIND_STUBS_H
#define UNWIND_STUBS_H

#include "unwind/unwind_build.h"

/*
 * Appends ranges of addresses. A section with instructions that are not known gives what is before.
 */
int stubs_find(const struct unwind_build *build, plain_list *ret);
/* The callers of destructors, in what the build's spans leave free. */
int stubs_find_destructors(const struct unwind_build *build, plain_list *ret);

#endif
