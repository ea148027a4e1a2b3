/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code of C libraries that nothing describes and that is known by its bytes, as debuggers know it:
 *
 *   - what signal handlers return to (musl, Go). The range begins one byte early: the handler's
 * return address, which is looked up one byte lower, is its first instruction.
 *   - the instructions behind glibc's clone3, which return in two threads. In the old one a return
 *     address is on the stack; the new one's stack is empty, and a zero there is its bottom.
 */
#ifndef UNWIND_KNOWN_CODE_H
#define UNWIND_KNOWN_CODE_H

#include "unwind/unwind_build.h"

/* Appends the ranges found in what the build's spans leave free. */
int known_code_find(const struct unwind_build *build, plain_list *ret);

#endif
