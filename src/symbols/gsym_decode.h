/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a GSYM says of one function beside its name: source lines and inlined calls.
 *
 * Both are packed for size. A line table is a program that is run from its beginning, and an inlined
 * call's data are behind those of all calls before it. So a function is decoded once into what can be
 * searched, and kept by whoever asks often:
 *
 *	line rows     a mark for each GSYM_MARK_ROWS of them, from where the program is run on: a function
 *		      of a thousand rows takes 500 bytes instead of 16,000, and a look-up runs 32 rows
 *	inlined calls in the order of the table, callers before those in them; each knows where the ones
 *		      in it end, so that a search leaves out what does not cover the address
 *
 * The tables may be hostile: every read is bounded, and so is the work for one function.
 */
#ifndef SYMBOLS_GSYM_DECODE_H
#define SYMBOLS_GSYM_DECODE_H

#include "base/vec.h"
#include "symbols/gsym.h"

#define GSYM_MARK_ROWS	  32
#define GSYM_DEPTH_MAX	  256	     /* of inlined calls; deeper ones are left out */
#define GSYM_WORK_MAX	  (1u << 22) /* rows, or calls and their ranges, of one function */

#define GSYM_NO_CALL UINT32_MAX

/* The state of the line program before the row that is run next. */
struct gsym_mark {
	uint32_t address; /* of the row before, relative to the function; 0 at the beginning */
	uint32_t file;
	uint32_t line;
	uint32_t at; /* where the program goes on, in its bytes */
};

struct gsym_range {
	uint32_t start; /* relative to the function */
	uint32_t end;
};

struct gsym_inlining {
	uint32_t name;   /* string: the function that was inlined */
	uint32_t file;   /* where it is called */
	uint32_t line;
	uint32_t caller; /* the call it is in, GSYM_NO_CALL: the function itself */
	uint32_t end;    /* the next call that is not in this one */
	struct gsym_range range; /* its first one, which nearly always is the only one; may be empty */
	uint32_t first_range; /* others; they end where those of the next call start */
};

/* One function, decoded. A zeroed one is empty and may be used again and again. */
struct gsym_decoded {
	uint64_t start; /* of the function */
	const uint8_t *program; /* of its lines, in the GSYM's bytes; NULL: it has none */
	uint32_t program_size;
	int32_t least_step;  /* of a line in an opcode that moves address and line */
	uint32_t step_range;
	VEC(struct gsym_mark) marks;
	VEC(struct gsym_range) ranges;
	VEC(struct gsym_inlining) calls; /* and one behind the last, which ends its ranges */
};

struct gsym_row {
	uint64_t address;
	uint32_t file; /* number in the file table */
	uint32_t line;
};

void gsym_decoded_deinit(struct gsym_decoded *decoded);
/* Entry number i < gsym->n. 0 or -ENOMEM. What is damaged is as if it were not there. */
int gsym_decode(const struct gsym *gsym, uint32_t i, struct gsym_decoded *ret);
/* The row that covers an address inside the function. 1, or 0 if there is none. */
int gsym_decoded_row(const struct gsym_decoded *decoded, uint64_t address, struct gsym_row *ret);
/* The innermost inlined call at an address of the function, or GSYM_NO_CALL. */
uint32_t gsym_decoded_call(const struct gsym_decoded *decoded, uint64_t address);
/*
 * The same without decoding all of the function, for a single question: stops where the answer is.
 * Calls are given innermost first, up to max; returns how many there are. *ret_row has line 0 if there
 * is no row.
 */
size_t gsym_search(const struct gsym *gsym, const struct gsym_entry *entry, uint64_t address,
		   struct gsym_row *ret_row, struct gsym_inlining *ret, size_t max);
/* Bytes that it holds. */
size_t gsym_decoded_bytes(const struct gsym_decoded *decoded);

#endif
