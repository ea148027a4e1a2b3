/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code without rules that keeps frame pointers: what V8 compiles ahead of time into node, and other
 * code that was made by no C compiler. It is known by the beginnings of its functions, push %rbp;
 * mov %rsp, %rbp, if a large piece is full of them; then it is walked by its frame pointers.
 * x86-64.
 *
 * In the first two instructions of a function and at its return the frame pointer is still, or
 * again, the caller's. There the stack pointer tells, so these bytes get rules of their own.
 */
#ifndef UNWIND_FRAMED_H
#define UNWIND_FRAMED_H

#include "unwind/unwind_build.h"

/* Appends the ranges found in what the build's spans leave free. */
int framed_find(const struct unwind_build *build, plain_list *ret);

#endif
