/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The code that signal handlers return to, where nothing describes it (musl, Go): it is known by its
 * bytes, as debuggers know it, which no other code has.
 */
#ifndef UNWIND_SIGRETURN_H
#define UNWIND_SIGRETURN_H

#include "unwind/unwind_build.h"

/*
 * Appends the ranges found in what the build's spans leave free. Each begins one byte early: the
 * handler's return address, which is looked up one byte lower, is its first instruction.
 */
int sigreturn_find(const struct unwind_build *build, plain_list *ret);

#endif
