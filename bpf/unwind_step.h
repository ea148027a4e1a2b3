/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * One step of a walk: from the registers of a frame to those of its caller, by a rule of
 * unwind_table.h. The same code runs in the kernel and in user space (src/unwind/walk.c), so that
 * both see the same stack.
 *
 * Who includes this defines before:
 *
 *	UNWIND_CONTEXT	a type, for whatever reading needs
 *	static int unwind_read(UNWIND_CONTEXT *context, __u64 address, __u64 *ret)
 *			8 bytes of the walked task's memory, 0 or negative
 *
 * Registers are not read from the stack until somebody wants them: a saved register is remembered
 * as the place where it lies. Most frames need only the stack pointer, so that a step is one read,
 * the return address. What is needed beyond rsp and rbp is rare but real: the dynamic linker's
 * resolver has its base in rbx while it calls C code.
 *
 * A wrong rule ends a walk, it cannot make it loop: the stack pointer rises with every step, but
 * for the leaf whose return address is in a register (then that register is used up) and for
 * signal frames and switches of stacks, which may lead anywhere: those are counted, and so does who
 * calls this with the frames.
 */
#ifndef BPF_UNWIND_STEP_H
#define BPF_UNWIND_STEP_H

#include "unwind_registers.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))

UNWIND_INLINE __u32 unwind_stack_pointer(__u16 machine)
{
	return machine == UNWIND_MACHINE_AARCH64 ? UNWIND_SP : UNWIND_RSP;
}

UNWIND_INLINE __u32 unwind_frame_pointer(__u16 machine)
{
	return machine == UNWIND_MACHINE_AARCH64 ? UNWIND_X29 : UNWIND_RBP;
}

/* The value of a register, read from where it was saved if need be. enum unwind_result. */
UNWIND_INLINE int unwind_value(UNWIND_CONTEXT *context, struct unwind_registers *r, __u32 number,
			       __u64 *ret)
{
	number &= UNWIND_N_REGISTERS - 1;
	__u32 bit = 1U << number;
	if (!(r->known & bit))
		return UNWIND_CANNOT;
	__u64 value = r->value[number];
	if (r->saved & bit) {
		if (unwind_read(context, value, &value) < 0)
			return UNWIND_UNREADABLE;
		r->value[number] = value;
		r->saved &= ~bit;
	}
	*ret = value;
	return UNWIND_ON;
}

UNWIND_INLINE __u16 unwind_saved_register(__u16 machine, __u32 i)
{
	if (machine == UNWIND_MACHINE_AARCH64)
		return i == 0 ? UNWIND_X29 : 18 + i;
	return i == 0 ? UNWIND_RBP : i == 1 ? 3 : 10 + i;
}

/* Of what a call leaves as it was; everything else is unknown in the caller. */
UNWIND_INLINE __u32 unwind_preserved(__u16 machine)
{
	return machine == UNWIND_MACHINE_AARCH64 ? 0x20f80000U : 0xf048U;
}

UNWIND_INLINE void unwind_set(struct unwind_registers *r, __u32 number, __u64 value)
{
	number &= UNWIND_N_REGISTERS - 1;
	r->value[number] = value;
	r->known |= 1U << number;
	r->saved &= ~(1U << number);
}

UNWIND_INLINE void unwind_set_saved(struct unwind_registers *r, __u32 number, __u64 address)
{
	number &= UNWIND_N_REGISTERS - 1;
	r->value[number] = address;
	r->known |= 1U << number;
	r->saved |= 1U << number;
}

UNWIND_INLINE int unwind_cfa(UNWIND_CONTEXT *context, const struct unwind_rule *rule,
			     struct unwind_registers *r, __u64 *ret)
{
	__u64 cfa = 0;
	int result = unwind_value(context, r, rule->cfa_register, &cfa);
	if (result != UNWIND_ON)
		return result;
	cfa += (__s64)rule->cfa_offset;
	if (rule->cfa == UNWIND_CFA_MEMORY) {
		if (unwind_read(context, cfa, &cfa) < 0)
			return UNWIND_UNREADABLE;
		cfa += (__s64)rule->cfa_offset2;
	} else if (rule->cfa == UNWIND_CFA_PLT) {
		if ((r->ip & 15) >= (__u32)rule->cfa_offset2)
			cfa += 8;
	}
	*ret = cfa;
	return UNWIND_ON;
}

/* The return address: of user space, without what aarch64's pointer authentication put into it. */
UNWIND_INLINE int unwind_return(UNWIND_CONTEXT *context, const struct unwind_rule *rule,
				struct unwind_registers *r, __u64 cfa, __u64 base, __u64 *ret)
{
	if (rule->return_in == UNWIND_RETURN_REGISTER) {
		int result = unwind_value(context, r, rule->return_register, ret);
		if (result != UNWIND_ON)
			return result;
	} else {
		__u64 from = rule->base_mask & 1U << UNWIND_N_SAVED ? base : cfa;
		if (unwind_read(context, from + (__s64)rule->return_at * 8, ret) < 0)
			return UNWIND_UNREADABLE;
	}
	if (rule->flags & UNWIND_RULE_SIGNED)
		*ret &= (1ULL << 48) - 1;
	return UNWIND_ON;
}

UNWIND_INLINE void unwind_restore(__u16 machine, const struct unwind_rule *rule,
				  struct unwind_registers *r, __u64 cfa, __u64 base)
{
	r->known &= unwind_preserved(machine);
#pragma GCC unroll 8
	for (__u32 i = 0; i < UNWIND_N_SAVED; i++) {
		__u32 number = unwind_saved_register(machine, i);
		__s16 at = rule->saved[i];
		if (at == UNWIND_UNDEFINED)
			r->known &= ~(1U << number);
		else if (at != UNWIND_SAME)
			unwind_set_saved(r, number,
					 (rule->base_mask & 1U << i ? base : cfa) + (__s64)at * 8);
	}
}

UNWIND_INLINE int unwind_step_rule(__u16 machine, UNWIND_CONTEXT *context,
				   const struct unwind_rule *rule, struct unwind_registers *r)
{
	__u64 cfa = 0, base = 0, ip = 0;
	__u32 sp = unwind_stack_pointer(machine);
	int in_register = rule->return_in == UNWIND_RETURN_REGISTER;
	int result = unwind_cfa(context, rule, r, &cfa);
	if (result == UNWIND_ON && rule->base_mask)
		result = unwind_value(context, r, rule->base_register, &base);
	if (result != UNWIND_ON)
		return result;
	if (in_register && !r->exact)
		return UNWIND_CANNOT;
	int is_elsewhere = rule->flags & UNWIND_RULE_SWITCHES;
	if (cfa & 7 || (!is_elsewhere && (in_register ? cfa < r->value[sp] : cfa <= r->value[sp])))
		return UNWIND_ASTRAY;
	if (rule->flags & (UNWIND_RULE_INTERRUPTED | UNWIND_RULE_SWITCHES) &&
	    ++r->signals > UNWIND_SIGNALS_MAX)
		return UNWIND_ASTRAY;
	result = unwind_return(context, rule, r, cfa, base, &ip);
	if (result != UNWIND_ON)
		return result;
	if (!ip)
		return UNWIND_BOTTOM;
	unwind_restore(machine, rule, r, cfa, base);
	unwind_set(r, sp, cfa);
	r->ip = ip;
	r->exact = !!(rule->flags & UNWIND_RULE_INTERRUPTED);
	return UNWIND_ON;
}

/* x86-64: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, as struct sigcontext has them. */
UNWIND_INLINE void unwind_signal_x86_64(struct unwind_registers *r, __u64 at)
{
#pragma GCC unroll 8
	for (__u32 i = 0; i < 8; i++)
		unwind_set_saved(r, 8 + i, at + i * 8);
	unwind_set_saved(r, 5, at + 64);
	unwind_set_saved(r, 4, at + 72);
	unwind_set_saved(r, 6, at + 80);
	unwind_set_saved(r, 3, at + 88);
	unwind_set_saved(r, 1, at + 96);
	unwind_set_saved(r, 0, at + 104);
	unwind_set_saved(r, 2, at + 112);
}

/* aarch64: x0 to x30, sp, pc. */
UNWIND_INLINE void unwind_signal_aarch64(struct unwind_registers *r, __u64 at)
{
#pragma GCC unroll 32
	for (__u32 i = 0; i < 31; i++)
		unwind_set_saved(r, i, at + i * 8);
}

UNWIND_INLINE int unwind_step_signal(__u16 machine, UNWIND_CONTEXT *context,
				     const struct unwind_rule *rule, struct unwind_registers *r)
{
	__u64 sp = 0, ip = 0;
	__u64 at = r->value[unwind_stack_pointer(machine)] + (__s64)rule->cfa_offset;
	__u32 sp_at = machine == UNWIND_MACHINE_AARCH64 ? 248 : 120;
	if (++r->signals > UNWIND_SIGNALS_MAX)
		return UNWIND_ASTRAY;
	if (unwind_read(context, at + sp_at, &sp) < 0 || unwind_read(context, at + sp_at + 8, &ip) < 0)
		return UNWIND_UNREADABLE;
	if (!ip)
		return UNWIND_BOTTOM;
	if (machine == UNWIND_MACHINE_AARCH64)
		unwind_signal_aarch64(r, at);
	else
		unwind_signal_x86_64(r, at);
	unwind_set(r, unwind_stack_pointer(machine), sp);
	r->ip = ip;
	r->exact = 1;
	return UNWIND_ON;
}

/*
 * A frame of code that keeps frame pointers, {caller's frame pointer, return address} at it. For
 * the leaf it is a guess: before its first two instructions, the caller is left out.
 */
UNWIND_INLINE int unwind_step_frame_pointer(__u16 machine, UNWIND_CONTEXT *context,
					    struct unwind_registers *r)
{
	__u64 fp = 0, ip = 0;
	__u32 number = unwind_frame_pointer(machine);
	__u32 sp = unwind_stack_pointer(machine);
	int result = unwind_value(context, r, number, &fp);
	if (result != UNWIND_ON)
		return result;
	if (!fp)
		return UNWIND_BOTTOM;
	if (fp & 7 || fp < r->value[sp])
		return UNWIND_ASTRAY;
	if (unwind_read(context, fp + 8, &ip) < 0)
		return UNWIND_UNREADABLE;
	if (!ip)
		return UNWIND_BOTTOM;
	/* Of the others nobody knows whether the code saved them. */
	r->known = 0;
	unwind_set_saved(r, number, fp);
	unwind_set(r, sp, fp + 16);
	r->ip = ip;
	r->exact = 0;
	return UNWIND_ON;
}

/* Whether the last of these eight bytes of code are a call. */
UNWIND_INLINE int unwind_ends_in_call(__u16 machine, __u64 code)
{
	if (machine == UNWIND_MACHINE_AARCH64) {
		__u32 last = code >> 32;
		return last >> 26 == 0x25 || (last & 0xfffffc1f) == 0xd63f0000;
	}
	__u32 near = code >> 24 & 0xff, indirect = code >> 48 & 0xf8ff;
	return near == 0xe8 || indirect == 0xd0ff || (code >> 16 & 0xffff) == 0x15ff ||
	       (code >> 40 & 0xf8ff) == 0x50ff;
}

/*
 * For a return address before which the table has no rule, but at which a function begins: nobody
 * called from there. Who made the stack has put it there (makecontext), and nothing is above it.
 */
UNWIND_INLINE int unwind_is_made_up(__u16 machine, UNWIND_CONTEXT *context, __u64 ip)
{
	__u64 code = 0;
	return unwind_read(context, ip - 8, &code) == 0 && !unwind_ends_in_call(machine, code);
}

/*
 * From a frame to its caller. value[] of the stack pointer must be known and not `saved`, and
 * stays so. The machine is a constant where one is walked only: what belongs to the other is then
 * left out.
 */
UNWIND_INLINE int unwind_step(__u16 machine, UNWIND_CONTEXT *context,
			      const struct unwind_rule *rule, struct unwind_registers *r)
{
	switch (rule->kind) {
	case UNWIND_RULE:
		return unwind_step_rule(machine, context, rule, r);
	case UNWIND_SIGNAL:
		return unwind_step_signal(machine, context, rule, r);
	case UNWIND_END:
		return UNWIND_BOTTOM;
	case UNWIND_FRAME_POINTER:
		return UNWIND_BY_FRAME_POINTER;
	case UNWIND_UNSUPPORTED:
		return UNWIND_CANNOT;
	default:
		return UNWIND_WITHOUT_RULE;
	}
}

#endif
