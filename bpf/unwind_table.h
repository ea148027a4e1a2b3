/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The unwinding table of one file, as it lies in the store (part `unwind`), in memory and in the
 * map of the kernel side: byte for byte the same, so that loading it is one copy.
 *
 *	block 0            struct unwind_header
 *	first_row          rows: {file offset, number of a rule}, ascending
 *	first_index[0]     the first offset of each row block
 *	first_index[1]     the first offset of each block of first_index[0]; and so on: the last level
 *	                   is one block
 *	first_rule         rules: each distinct one once
 *
 * Everything is in blocks of 512 bytes, which are the elements of the kernel's array: a look-up
 * there costs a call for each block that it touches, so the rows are the leaves of a tree whose
 * nodes have 128 keys. A million rows are three blocks and 20 comparisons away, and the rule one
 * block more; a plain binary search would touch sixteen.
 *
 * A row holds from its offset to that of the next row. Offsets are those of the file, not virtual
 * addresses: that is what a sampled frame has. What no function covers is a row, too, with
 * UNWIND_NO_RULE, and so is rule 0; the first row is at offset 0. The last block of rows is filled
 * with rows, those of the index with keys, at UNWIND_PADDING, which no offset reaches. Code behind
 * 4 GiB of a file has no rows.
 *
 * A rule says how the registers of the caller are found from those of a frame: unwind_step.h takes
 * it. The words are DWARF's. The CFA, the frame's base, is what the stack pointer of the caller is
 * after the call returned. Registers have DWARF's numbers of the machine.
 *
 * The bytes are made from a file of somebody else by a child that may be anybody's by then: they
 * are checked when opened (src/unwind/unwind_table.h), and no value of a rule may do harm in a
 * walk.
 */
#ifndef BPF_UNWIND_TABLE_H
#define BPF_UNWIND_TABLE_H

#include <linux/types.h>

#define UNWIND_MAGIC   0x444e49574e55574dULL /* "MWUNWIND" in this machine's order */
#define UNWIND_VERSION 1

#define UNWIND_BLOCK_SIZE	512
#define UNWIND_ROWS_PER_BLOCK	64
#define UNWIND_KEYS_PER_BLOCK	128
#define UNWIND_RULES_PER_BLOCK	16
#define UNWIND_LEVELS		4 /* of the index: 64 * 128^4 rows, more than offsets have room for */
#define UNWIND_ROWS_MAX		(1U << 24)
#define UNWIND_RULES_MAX	(1U << 20)
#define UNWIND_PADDING		0xffffffffU

/* Where the rules of a table come from: bits of unwind_header.sources. */
#define UNWIND_FROM_EH_FRAME	0x1
#define UNWIND_FROM_DEBUG_FRAME 0x2
#define UNWIND_FROM_STUBS	0x4 /* the code of the PLT, .init and their like, read as instructions */
#define UNWIND_FROM_KNOWN_CODE	0x8 /* code of C libraries that is known by its bytes */
#define UNWIND_FROM_ENTRY	0x10 /* the code that the kernel starts */
#define UNWIND_FROM_FRAMES	0x20 /* code that keeps frame pointers, known by its functions' beginnings */
#define UNWIND_FROM_GO		0x40 /* Go's table of functions */

/* ELF's numbers; <elf.h> is not for BPF programs. */
#define UNWIND_MACHINE_X86_64	62
#define UNWIND_MACHINE_AARCH64	183

struct unwind_header {
	__u64 magic;
	__u64 check;    /* of all bytes behind this member (src/unwind/unwind_table.c) */
	__u32 version;
	__u16 machine;  /* EM_*: UNWIND_MACHINE_* */
	__u16 n_levels; /* of the index, 1 to UNWIND_LEVELS */
	__u32 n_blocks; /* with this one */
	__u32 n_rows;   /* without those that fill the last block; at least 1 */
	__u32 n_rules;
	__u32 first_row;  /* always 1 */
	__u32 first_rule;
	__u32 first_index[UNWIND_LEVELS];
	/* What of the file became rules, for people and tests. */
	__u32 n_functions;   /* FDEs used */
	__u32 n_unsupported; /* rows whose rules could not be expressed */
	__u32 n_damaged;     /* CIEs and FDEs that were left out */
	__u32 sources;	     /* UNWIND_FROM_* */
	__u8 unused[UNWIND_BLOCK_SIZE - 80];
};

struct unwind_row {
	__u32 offset;
	__u32 rule;
};

enum unwind_kind {
	UNWIND_NO_RULE = 0,   /* no function is known there */
	UNWIND_RULE,          /* a frame: the rest of struct unwind_rule holds */
	UNWIND_SIGNAL,        /* the kernel's signal frame: all registers are in memory */
	UNWIND_END,           /* the bottom of the stack: nobody called this */
	UNWIND_UNSUPPORTED,   /* the file has a rule that cannot be expressed here */
	UNWIND_FRAME_POINTER, /* the code keeps frame pointers; the rest does not hold */
};

enum unwind_cfa {
	UNWIND_CFA_REGISTER = 0, /* register + cfa_offset */
	UNWIND_CFA_MEMORY,       /* *(register + cfa_offset) + cfa_offset2: a realigned stack */
	UNWIND_CFA_PLT,          /* register + cfa_offset + ((ip & 15) >= cfa_offset2 ? 8 : 0) */
};

enum unwind_return {
	UNWIND_RETURN_MEMORY = 0, /* *(base + return_at * 8) */
	UNWIND_RETURN_REGISTER,   /* in return_register; only of a frame that called nobody */
};

#define UNWIND_RULE_SIGNED	0x1 /* aarch64: the return address carries an authentication code */
#define UNWIND_RULE_INTERRUPTED 0x2 /* the caller did not call but was interrupted: its ip is exact */
#define UNWIND_RULE_SWITCHES	0x4 /* the caller is on another stack */

/* The registers whose values live through calls and that rules are kept for, in order of saved[]. */
#define UNWIND_N_SAVED		6
#define UNWIND_SAVED_X86_64	{6, 3, 12, 13, 14, 15}       /* rbp, rbx, r12 to r15 */
#define UNWIND_SAVED_AARCH64	{29, 19, 20, 21, 22, 23}     /* x29, x19 to x23 */
#define UNWIND_SAME		0x7fff /* in saved[]: the caller's value is the frame's */
#define UNWIND_UNDEFINED	0x7ffe /* in saved[]: nobody knows */

/*
 * Places in memory are multiples of 8 from a base: the CFA, or, where base_mask has the bit, the
 * value of base_register in this frame (what gcc writes where it realigns the stack).
 * UNWIND_SIGNAL has cfa_offset alone: where the registers lie, from the stack pointer on.
 */
struct unwind_rule {
	__u8 kind;	   /* enum unwind_kind */
	__u8 cfa;	   /* enum unwind_cfa */
	__u8 cfa_register;
	__u8 flags;	   /* UNWIND_RULE_* */
	__s32 cfa_offset;
	__s32 cfa_offset2;
	__u8 return_in;	   /* enum unwind_return */
	__u8 return_register;
	__s16 return_at;
	__u8 base_register;
	__u8 base_mask;	   /* bit i: saved[i]; bit UNWIND_N_SAVED: the return address */
	__s16 saved[UNWIND_N_SAVED];
	__u16 unused;	   /* 0: rules are compared as bytes */
};

struct unwind_row_block {
	struct unwind_row rows[UNWIND_ROWS_PER_BLOCK];
};

struct unwind_index_block {
	__u32 keys[UNWIND_KEYS_PER_BLOCK];
};

struct unwind_rule_block {
	struct unwind_rule rules[UNWIND_RULES_PER_BLOCK];
};

_Static_assert(sizeof(struct unwind_header) == UNWIND_BLOCK_SIZE, "the header is one block");
_Static_assert(sizeof(struct unwind_row_block) == UNWIND_BLOCK_SIZE, "rows fill a block");
_Static_assert(sizeof(struct unwind_index_block) == UNWIND_BLOCK_SIZE, "keys fill a block");
_Static_assert(sizeof(struct unwind_rule_block) == UNWIND_BLOCK_SIZE, "rules fill a block");

/*
 * step if the key is not above offset, else 0: without a branch, since the verifier follows each
 * way of each comparison, and all of them through all of the next ones.
 */
static inline __attribute__((always_inline)) __u32 unwind_search_step(__u32 key, __u32 offset,
								      __u32 step)
{
	__u64 is_above = ((__u64)offset - key) >> 63;
	__asm__ volatile("" : "+r"(is_above));
	return step & ((__u32)is_above - 1);
}

/* Which of the keys is the last that is not above offset; 0 if all are above. */
static inline __attribute__((always_inline)) __u32
unwind_search_index(const struct unwind_index_block *block, __u32 offset)
{
	__u32 at = 0;
#pragma GCC unroll 8
	for (__u32 step = UNWIND_KEYS_PER_BLOCK / 2; step; step /= 2) {
		at += unwind_search_step(block->keys[(at + step) & (UNWIND_KEYS_PER_BLOCK - 1)], offset,
					 step);
	}
	return at & (UNWIND_KEYS_PER_BLOCK - 1);
}

static inline __attribute__((always_inline)) __u32
unwind_search_rows(const struct unwind_row_block *block, __u32 offset)
{
	__u32 at = 0;
#pragma GCC unroll 8
	for (__u32 step = UNWIND_ROWS_PER_BLOCK / 2; step; step /= 2) {
		at += unwind_search_step(block->rows[(at + step) & (UNWIND_ROWS_PER_BLOCK - 1)].offset,
					 offset, step);
	}
	return at & (UNWIND_ROWS_PER_BLOCK - 1);
}

#endif
