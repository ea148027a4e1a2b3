/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a GSYM has on one function beside its name: lines and inlined calls, as LLVM encodes them.
 *
 *	u32 type (1 lines, 2 calls), u32 size, that many bytes; ...; at the end type 0, size 0
 *
 *	lines: sleb smallest and largest difference of lines that fit in one byte with the address,
 *	       uleb first line; a program: 0 end, 1 uleb file, 2 uleb advance (gives a row),
 *	       3 sleb advance line, 4... both (gives a row)
 *	calls: uleb n, n times (uleb start from the parent's first, uleb size); u8 has children;
 *	       u32 name; uleb file and line of the call; children, and a 0 behind the last
 *
 * LLVM's reader wants each call's ranges to be inside of its parent's, and one child at most to
 *have an address. Compilers do not promise either; so the ranges are made anew: each address
 *belongs to the last call that claims it, and to all that this one is inside of.
 *
 * A name is written as its number, and where that is is noted: the strings are known at the end
 *only.
 */
#ifndef SYMBOLS_GSYM_INFO_H
#define SYMBOLS_GSYM_INFO_H

#include "base/buffer.h"
#include "symbols/owners.h"

#define GSYM_INFO_LINES 1
#define GSYM_INFO_CALLS 2

/* A row: from this address on. File 0 and line 0: nothing is known. */
struct gsym_line {
	uint64_t address;
	uint32_t file;
	uint32_t line;
};

/* A call that was inlined; number 0 is the function itself. */
struct gsym_call {
	uint32_t parent; /* lower than its own number */
	uint32_t name;
	uint32_t file; /* where it is called; 0: nobody knows */
	uint32_t line;
};

/* The ranges that a call still has, as a list in `links`. */
struct gsym_call_ranges {
	uint32_t round;	 /* of which the rest is */
	uint32_t first;	 /* link + 1; 0: none */
	uint32_t last;
	uint32_t n;
	bool has_children;
};

struct gsym_range_link {
	uint64_t start;
	uint64_t end;
	uint32_t next; /* link + 1; 0: it is the last */
};

/* A zeroed struct is valid; it is used for one function after the other. */
struct gsym_info_writer {
	struct buffer out;
	VEC(uint32_t) name_places; /* where in out there is a number of a name */

	/* The function at hand. */
	VEC(struct gsym_line) lines; /* ascending, from the start of the piece or later */
	VEC(struct gsym_call) calls; /* number 0 is the function */
	struct owners owners;	     /* the ranges of the calls from 1 on, in the order of calls */

	VEC(struct gsym_call_ranges) call_ranges;
	VEC(struct gsym_range_link) links;
	VEC(uint32_t) open;
	uint32_t round;
};

void gsym_info_writer_deinit(struct gsym_info_writer *w);
/* Empties the function at hand: no lines, no calls, no ranges. */
void gsym_info_begin(struct gsym_info_writer *w);
/* After all ranges are there: decides between the calls. 0 or -ENOMEM. */
int gsym_info_decide(struct gsym_info_writer *w);
/*
 * Appends lines and calls of a piece of the function, [start, end), to out; the lines are those of
 * the piece alone. 0 or -ENOMEM. Nothing is appended if there is nothing to say.
 */
int gsym_info_write(struct gsym_info_writer *w, uint64_t start, uint64_t end);

/*
 * Reads back what was written for a piece that starts at `start`: fills the function at hand.
 * -EBADMSG if it is not what gsym_info_write() writes.
 */
int gsym_info_read(struct gsym_info_writer *w, uint64_t start, const uint8_t *info, size_t size);

#endif
