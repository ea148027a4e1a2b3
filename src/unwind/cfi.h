/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call frame information: .eh_frame and .debug_frame, as DWARF 2 to 5 and the LSB describe them.
 *
 * A section is a row of entries. A CIE has what many functions share; an FDE has one function's
 * range and a program that tells for each address in it where the caller's registers are. Entries
 * are read in their order; running an FDE's program gives the states, each with the range that it
 * holds for.
 *
 * All of it is foreign. What is damaged costs the entry it is in, and is counted. Work and memory
 * are linear in the size of the section: a CIE is read once, and is small or none.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "base/cursor.h"
#include "base/hash.h"
#include "base/vec.h"

/* x86-64 has 0 to 16 (16: the return address), aarch64 0 to 31 (31: sp). Others are not kept. */
#define CFI_N_REGISTERS 32

enum cfi_where {
	CFI_UNSPECIFIED = 0,
	CFI_SAME, /* as in this frame */
	CFI_UNDEFINED,
	CFI_OFFSET,	    /* in memory at CFA + value */
	CFI_VAL_OFFSET,	    /* it is CFA + value */
	CFI_REGISTER,	    /* in register number `value` */
	CFI_EXPRESSION,	    /* in memory where an expression says */
	CFI_VAL_EXPRESSION, /* it is what an expression says */
};

/* Bytes of the section. */
struct cfi_bytes {
	uint32_t offset;
	uint32_t size;
};

struct cfi_value {
	union {
		int64_t number;
		struct cfi_bytes expression;
	};
};

struct cfi_state {
	bool cfa_is_expression;
	bool is_signed;	       /* aarch64: the return address has an authentication code */
	uint64_t cfa_register; /* these two also while an expression holds: it can end */
	int64_t cfa_offset;
	struct cfi_bytes cfa_expression;
	uint8_t where[CFI_N_REGISTERS]; /* enum cfi_where */
	struct cfi_value value[CFI_N_REGISTERS];
};

struct cfi_cie {
	uint32_t offset;
	bool is_damaged;
	bool has_augmentation; /* "z": FDEs have a length of augmentation data */
	bool is_signal;	       /* "S": what is "called" from here was interrupted */
	uint8_t pointers;      /* how FDEs encode addresses: DW_EH_PE_* */
	uint8_t address_size;
	uint8_t segment_size;
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	struct cfi_bytes program;
	struct cfi_state state; /* after the program */
};

struct cfi_fde {
	uint32_t offset; /* of the entry: cfi_read() reads it again */
	uint32_t cie;	 /* number, until the next call of cfi_next() or cfi_read() */
	uint64_t begin;	 /* virtual addresses */
	uint64_t end;
	struct cfi_bytes program;
};

struct cfi {
	struct cursor bytes; /* the section; not owned */
	bool is_debug_frame;
	bool is64;
	bool stops_at_terminator; /* its size is not known: an entry of length 0 ends it */
	uint16_t machine;
	uint64_t address;   /* virtual, of the section's first byte */
	uint64_t text_base; /* for DW_EH_PE_textrel */
	uint64_t data_base; /* for DW_EH_PE_datarel */
	uint64_t n_damaged; /* entries that were left out */
	VEC(struct cfi_cie) cies;
	struct hash_index index; /* by offset */
};

/* For a cfi whose first members were set by the caller. */
void cfi_deinit(struct cfi *cfi);
/* The next FDE that covers something. 1, 0: there are no more, -ENOMEM. */
int cfi_next(struct cfi *cfi, struct cfi_fde *ret);
/* The FDE at an offset that cfi_next() gave. 1, or -EBADMSG, -ENOMEM. */
int cfi_read(struct cfi *cfi, uint32_t offset, struct cfi_fde *ret);

/*
 * Called for each range with one state, ascending and without gaps from fde->begin to fde->end.
 * state is NULL where the program is damaged. Negative ends the run and is returned by it.
 */
typedef int (*cfi_state_fn)(void *data, uint64_t begin, uint64_t end,
			    const struct cfi_state *state);
/* 0, -EBADMSG if the program is damaged from some place on, or what fn returned. */
int cfi_run(const struct cfi *cfi, const struct cfi_fde *fde, cfi_state_fn fn, void *data);

/*
 * One encoded pointer; `funcrel` is relative to `function`. Fails the cursor on what no pointer is.
 * An indirect one is the address of the pointer. `address` is that of the section's first byte.
 */
uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, bool is64, uint64_t address,
		     uint64_t text_base, uint64_t data_base, uint64_t function);

#endif
