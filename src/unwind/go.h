/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules for Go's code, which has no call frame information: from the table that Go's own runtime
 * walks stacks by (.gopclntab, Go 1.16 and later), which tells for each instruction how much is on
 * the stack. x86-64.
 *
 *	header	magic, quantum, size of a pointer; count of functions; offsets of the parts
 *	functab	for each function its start and the offset of its description
 *	pctab	strings of (change of value, change of pc) pairs; the string `pcsp` has the depth
 *
 * The runtime marks the functions that nobody calls, which are the bottom, and those that write to
 * the stack pointer, as the switch to the stack of the runtime does: there no depth holds.
 */
#ifndef UNWIND_GO_H
#define UNWIND_GO_H

#include "unwind/unwind_build.h"

/* Appends ranges of addresses; none if the file is not Go's, or its table is damaged. */
int go_find(const struct unwind_build *build, plain_list *ret);

#endif
