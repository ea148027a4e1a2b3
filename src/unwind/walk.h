/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A walk in user space by the tables that the kernel's walk uses, and by the same step
 * (bpf/unwind_step.h): over a stopped task, or over registers and a copy of its stack.
 *
 * The walk knows neither tasks nor files. Memory is read, and the code at an address is found, by
 * functions of the caller.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include "bpf/unwind_registers.h"
#include "unwind/unwind_table.h"

#include <stdbool.h>

enum walk_code_kind {
	WALK_NOWHERE = 0, /* no executable memory: the walk went astray */
	WALK_BY_TABLE,
	WALK_BY_FRAME_POINTER, /* code that is made at run time, or whose table is not there yet */
	WALK_WITHOUT_TABLE,    /* a file that has none */
};

/* What is at an address. */
struct walk_code {
	enum walk_code_kind kind;
	const struct unwind_table *table; /* WALK_BY_TABLE; must last until the walk returns */
	uint64_t offset;		  /* of the address in the file */
	uint32_t file;			  /* the caller's number */
};

struct walk_frame {
	uint64_t address;
	uint64_t offset; /* in the file */
	uint32_t file;
	uint8_t kind;	/* enum walk_code_kind */
	bool is_return; /* a return address: what ran lies before it (FRAME_RETURN) */
};

struct walk_task {
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	void *data;
	/* 8 bytes of its memory. 0, or negative if they cannot be read. */
	int (*read)(void *data, uint64_t address, uint64_t *ret);
	void (*find)(void *data, uint64_t address, struct walk_code *ret);
};

struct walk_result {
	size_t n;	       /* frames */
	bool is_whole;	       /* it reached the bottom of the stack */
	enum mw_reason reason; /* why not: no-table, broken-unwind, stack-unreadable, cut-depth */
};

/*
 * From the registers of the leaf (ip and the stack pointer known, `exact` set) to the bottom, leaf
 * first, at most max frames. The registers are spent. A caller that lies in no code is no frame.
 */
void walk_stack(const struct walk_task *task, struct unwind_registers *registers,
		struct walk_frame *frames, size_t max, struct walk_result *ret);

#endif
