/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The numbers of DWARF, of the LSB (.eh_frame) and of GNU that call frame information consists of.
 */
#ifndef UNWIND_DWARF_H
#define UNWIND_DWARF_H

enum {
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc,
	DW_CFA_advance_loc1,
	DW_CFA_advance_loc2,
	DW_CFA_advance_loc4,
	DW_CFA_offset_extended,
	DW_CFA_restore_extended,
	DW_CFA_undefined,
	DW_CFA_same_value,
	DW_CFA_register,
	DW_CFA_remember_state,
	DW_CFA_restore_state,
	DW_CFA_def_cfa,
	DW_CFA_def_cfa_register,
	DW_CFA_def_cfa_offset,
	DW_CFA_def_cfa_expression,
	DW_CFA_expression,
	DW_CFA_offset_extended_sf,
	DW_CFA_def_cfa_sf,
	DW_CFA_def_cfa_offset_sf,
	DW_CFA_val_offset,
	DW_CFA_val_offset_sf,
	DW_CFA_val_expression,
	DW_CFA_MIPS_advance_loc8 = 0x1d,
	DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	DW_CFA_AARCH64_negate_ra_state = 0x2d,
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
	/* In the upper two bits, with an operand in the others. */
	DW_CFA_advance_loc = 0x40,
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
};

enum {
	DW_OP_addr = 0x03,
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s,
	DW_OP_const2u,
	DW_OP_const2s,
	DW_OP_const4u,
	DW_OP_const4s,
	DW_OP_const8u,
	DW_OP_const8s,
	DW_OP_constu,
	DW_OP_consts,
	DW_OP_dup = 0x12,
	DW_OP_drop,
	DW_OP_over,
	DW_OP_swap = 0x16,
	DW_OP_and = 0x1a,
	DW_OP_minus = 0x1c,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst,
	DW_OP_shl,
	DW_OP_ge = 0x2a,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
	DW_OP_bregx = 0x92,
	DW_OP_nop = 0x96,
};

enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128,
	DW_EH_PE_udata2,
	DW_EH_PE_udata4,
	DW_EH_PE_udata8,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2,
	DW_EH_PE_sdata4,
	DW_EH_PE_sdata8,
	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_textrel = 0x20,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_funcrel = 0x40,
	DW_EH_PE_aligned = 0x50,
	DW_EH_PE_indirect = 0x80,
	DW_EH_PE_omit = 0xff,
};

#endif
