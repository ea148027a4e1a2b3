/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a step of a walk (unwind_step.h) starts from and makes: a frame's registers, and how it went. */
#ifndef BPF_UNWIND_REGISTERS_H
#define BPF_UNWIND_REGISTERS_H

#include "unwind_table.h"

#define UNWIND_N_REGISTERS 32
#define UNWIND_SIGNALS_MAX 16 /* in one stack: handlers interrupt handlers */

#define UNWIND_RBP 6
#define UNWIND_RSP 7
#define UNWIND_X29 29
#define UNWIND_X30 30
#define UNWIND_SP  31

struct unwind_registers {
	__u64 ip;
	__u64 value[UNWIND_N_REGISTERS]; /* or, with the bit in `saved`, the address of the value */
	__u32 known;   /* bit i: value[i] means something */
	__u32 saved;
	__u16 exact;   /* ip is the next instruction, not a return address: the leaf, or what a signal
			* interrupted. Rules are looked up at ip, else at ip - 1 */
	__u16 signals; /* signal frames and switches of stacks so far */
};

enum unwind_result {
	UNWIND_ON = 0,	    /* the registers are the caller's */
	UNWIND_BOTTOM,	    /* the frame has no caller: the stack is whole */
	UNWIND_WITHOUT_RULE, /* no-table */
	UNWIND_CANNOT,	    /* no-table: a rule that cannot be expressed, or needs a register unknown */
	UNWIND_ASTRAY,	    /* broken-unwind: the caller would not lie above */
	UNWIND_UNREADABLE,  /* stack-unreadable */
	UNWIND_BY_FRAME_POINTER, /* the rule says so: take unwind_step_frame_pointer() */
};

#endif
