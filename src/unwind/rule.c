/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/rule.h"

#include "unwind/expression.h"

#include <elf.h>
#include <string.h>

#define X86_64_RSP 7
#define X86_64_RIP 16
#define AARCH64_SP 31
#define AARCH64_LR 30

/* struct rt_sigframe: from the stack pointer to the first saved register. */
#define SIGNAL_X86_64  40  /* uc_flags, uc_link, uc_stack */
#define SIGNAL_AARCH64 312 /* siginfo 128, ucontext up to uc_mcontext 176, fault address 8 */
/* Among the saved registers, in bytes: rsp, rip, rbp. */
#define SIGNAL_RSP 120
#define SIGNAL_RIP 128
#define SIGNAL_RBP 80

struct making {
	const struct cfi *cfi;
	const struct cfi_cie *cie;
	const struct cfi_state *state;
	struct unwind_rule rule;
	bool has_base; /* base_register was taken */
};

static uint64_t stack_pointer(const struct making *m)
{
	return m->cfi->machine == EM_AARCH64 ? AARCH64_SP : X86_64_RSP;
}

static struct expression evaluate(const struct making *m, struct cfi_bytes bytes, bool has_cfa)
{
	struct cursor c = m->cfi->bytes;
	c.failed = false;
	c.at = c.start + bytes.offset;
	c.end = c.at + bytes.size;
	return expression_of(c, has_cfa, m->cfi->is64,
			     m->cfi->machine == EM_X86_64 ? X86_64_RIP : 0);
}

static bool fits_s32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* In units of 8, and none of the two that mean something else. */
static bool to_place(int64_t bytes, int16_t *ret)
{
	if (bytes % 8 || bytes / 8 < INT16_MIN || bytes / 8 >= UNWIND_UNDEFINED)
		return false;
	*ret = (int16_t)(bytes / 8);
	return true;
}

static bool make_cfa_expression(struct making *m)
{
	struct expression e = evaluate(m, m->state->cfa_expression, false);
	struct unwind_rule *rule = &m->rule;
	if (e.kind == EXPRESSION_REGISTER)
		rule->cfa = UNWIND_CFA_REGISTER;
	else if (e.kind == EXPRESSION_MEMORY)
		rule->cfa = UNWIND_CFA_MEMORY;
	else if (e.kind == EXPRESSION_PLT)
		rule->cfa = UNWIND_CFA_PLT;
	else
		return false;
	if (e.reg >= CFI_N_REGISTERS || !fits_s32(e.offset) || !fits_s32(e.offset2))
		return false;
	rule->cfa_register = (uint8_t)e.reg;
	rule->cfa_offset = (int32_t)e.offset;
	rule->cfa_offset2 = (int32_t)e.offset2;
	return true;
}

static bool make_cfa(struct making *m)
{
	const struct cfi_state *state = m->state;
	if (state->cfa_is_expression)
		return make_cfa_expression(m);
	if (state->cfa_register >= CFI_N_REGISTERS || !fits_s32(state->cfa_offset))
		return false;
	m->rule.cfa = UNWIND_CFA_REGISTER;
	m->rule.cfa_register = (uint8_t)state->cfa_register;
	m->rule.cfa_offset = (int32_t)state->cfa_offset;
	return true;
}

/*
 * Where a register was saved, from the CFA or from the one other register that a rule has room for.
 */
static bool make_place(struct making *m, uint64_t number, unsigned bit, int16_t *ret)
{
	struct cfi_value value = m->state->value[number];
	if (m->state->where[number] == CFI_OFFSET)
		return to_place(value.number, ret);
	struct expression e = evaluate(m, value.expression, true);
	if (e.kind == EXPRESSION_CFA)
		return to_place(e.offset, ret);
	if (e.kind != EXPRESSION_REGISTER || e.reg >= CFI_N_REGISTERS ||
	    (m->has_base && m->rule.base_register != e.reg) || !to_place(e.offset, ret))
		return false;
	m->has_base = true;
	m->rule.base_register = (uint8_t)e.reg;
	m->rule.base_mask |= (uint8_t)(1U << bit);
	return true;
}

/*
 * The register that holds the return address of a function that has not saved it, if there is one.
 */
static bool make_return_register(struct making *m, uint64_t number)
{
	if (number >= CFI_N_REGISTERS || (m->cfi->machine == EM_X86_64 && number >= X86_64_RIP))
		return false;
	m->rule.return_in = UNWIND_RETURN_REGISTER;
	m->rule.return_register = (uint8_t)number;
	return true;
}

static bool make_return(struct making *m)
{
	uint64_t number = m->cie->return_register;
	int16_t at;
	if (m->state->is_signed)
		m->rule.flags |= UNWIND_RULE_SIGNED;
	switch (m->state->where[number]) {
	case CFI_UNDEFINED:
		m->rule = (struct unwind_rule){.kind = UNWIND_END};
		return true;
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		return make_return_register(m, number);
	case CFI_REGISTER:
		return make_return_register(m, (uint64_t)m->state->value[number].number);
	case CFI_OFFSET:
	case CFI_EXPRESSION:
		if (!make_place(m, number, UNWIND_N_SAVED, &at))
			return false;
		m->rule.return_in = UNWIND_RETURN_MEMORY;
		m->rule.return_at = at;
		return true;
	default:
		return false;
	}
}

static int16_t saved_place(struct making *m, unsigned i, uint64_t number)
{
	int16_t at;
	switch (m->state->where[number]) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		return UNWIND_SAME;
	case CFI_OFFSET:
	case CFI_EXPRESSION:
		return make_place(m, number, i, &at) ? at : UNWIND_UNDEFINED;
	default:
		return UNWIND_UNDEFINED;
	}
}

static void make_saved(struct making *m)
{
	static const uint8_t x86_64[UNWIND_N_SAVED] = UNWIND_SAVED_X86_64;
	static const uint8_t aarch64[UNWIND_N_SAVED] = UNWIND_SAVED_AARCH64;
	const uint8_t *numbers = m->cfi->machine == EM_AARCH64 ? aarch64 : x86_64;
	for (unsigned i = 0; i < UNWIND_N_SAVED; i++)
		m->rule.saved[i] = saved_place(m, i, numbers[i]);
}

/* The caller's stack pointer is the CFA: rules have no other. */
static bool is_stack_pointer_usual(const struct making *m)
{
	uint64_t number = stack_pointer(m);
	uint8_t where = m->state->where[number];
	return where == CFI_UNSPECIFIED || where == CFI_SAME ||
	       (where == CFI_VAL_OFFSET && m->state->value[number].number == 0);
}

static bool is_at(const struct making *m, uint64_t number, int64_t offset)
{
	if (m->state->where[number] != CFI_EXPRESSION)
		return false;
	struct expression e = evaluate(m, m->state->value[number].expression, true);
	return e.kind == EXPRESSION_REGISTER && e.reg == X86_64_RSP && e.offset == offset;
}

/*
 * All registers in a struct sigcontext, at a constant from the stack pointer: glibc's __restore_rt.
 */
static bool make_signal_frame(struct making *m)
{
	if (!m->cie->is_signal || m->cfi->machine != EM_X86_64 || !m->state->cfa_is_expression ||
	    m->cie->return_register != X86_64_RIP)
		return false;
	struct expression cfa = evaluate(m, m->state->cfa_expression, false);
	if (cfa.kind != EXPRESSION_MEMORY || cfa.reg != X86_64_RSP || cfa.offset2 != 0 ||
	    !fits_s32(cfa.offset))
		return false;
	int64_t at = cfa.offset - SIGNAL_RSP;
	if (!is_at(m, X86_64_RIP, at + SIGNAL_RIP) || !is_at(m, 6, at + SIGNAL_RBP))
		return false;
	m->rule = (struct unwind_rule){.kind = UNWIND_SIGNAL, .cfa_offset = (int32_t)at};
	return true;
}

struct unwind_rule rule_of(const struct cfi *cfi, const struct cfi_cie *cie,
			   const struct cfi_state *state)
{
	struct making m = {.cfi = cfi, .cie = cie, .state = state, .rule = {.kind = UNWIND_RULE}};
	const struct unwind_rule unsupported = {.kind = UNWIND_UNSUPPORTED};
	if (!state)
		return unsupported;
	if (make_signal_frame(&m))
		return m.rule;
	if (cie->is_signal)
		m.rule.flags |= UNWIND_RULE_INTERRUPTED;
	if (!make_return(&m))
		return unsupported;
	if (m.rule.kind == UNWIND_END)
		return m.rule;
	if (!is_stack_pointer_usual(&m) || !make_cfa(&m))
		return unsupported;
	make_saved(&m);
	return m.rule;
}

struct unwind_rule rule_of_depth(int32_t depth)
{
	struct unwind_rule rule = {
		.kind = UNWIND_RULE,
		.cfa_register = X86_64_RSP,
		.cfa_offset = depth,
		.return_at = -1,
	};
	for (unsigned i = 0; i < UNWIND_N_SAVED; i++)
		rule.saved[i] = UNWIND_SAME;
	return rule;
}

struct unwind_rule rule_of_signal_frame(uint16_t machine)
{
	return (struct unwind_rule){
		.kind = UNWIND_SIGNAL,
		.cfa_offset = machine == EM_AARCH64 ? SIGNAL_AARCH64 : SIGNAL_X86_64,
	};
}
