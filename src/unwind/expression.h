/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * DWARF expressions of call frame information, as far as they can be said in a closed form.
 *
 * A rule in a table is fixed in shape, an expression is a program. But real files have few of them,
 * for a handful of purposes (a realigned stack, the PLT, signal frames, hand-written code that
 * keeps the old stack pointer on the stack), and carried out with symbols instead of numbers they
 * come down to one of the terms here. What does not is EXPRESSION_OTHER; the survey in
 * docs/BENCHMARKS.md tells how rare that is.
 */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include "base/cursor.h"

#include <stdint.h>

enum expression_kind {
	EXPRESSION_OTHER = 0,
	EXPRESSION_CONSTANT, /* offset */
	EXPRESSION_CFA,	     /* CFA + offset; only where the CFA was given */
	EXPRESSION_REGISTER, /* register + offset */
	EXPRESSION_MEMORY,   /* *(register + offset) + offset2 */
	EXPRESSION_PLT,	     /* register + offset + ((ip & 15) >= offset2 ? 8 : 0) */
	/* On the way to EXPRESSION_PLT. */
	EXPRESSION_IP_LOW, /* ip & 15 */
	EXPRESSION_IP_GE,  /* (ip & 15) >= offset */
	EXPRESSION_IP_8,   /* that, times 8 */
};

struct expression {
	enum expression_kind kind;
	uint64_t reg;
	int64_t offset;
	int64_t offset2;
};

/*
 * What the bytes compute. With has_cfa the stack begins with the CFA (rules of registers), else it
 * is empty (the rule of the CFA). ip_register: DWARF's number of the instruction pointer, 0 for
 * none.
 */
struct expression expression_of(struct cursor bytes, bool has_cfa, bool is64, uint64_t ip_register);

#endif
