/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/expression.h"

#include "unwind/dwarf.h"

#define STACK_MAX 8

struct machine {
	struct cursor c;
	struct expression stack[STACK_MAX];
	unsigned n;
	bool is64;
	uint64_t ip_register;
	bool failed;
};

static const struct expression other = {.kind = EXPRESSION_OTHER};

static void push(struct machine *m, struct expression e)
{
	if (m->n == STACK_MAX) {
		m->failed = true;
		return;
	}
	m->stack[m->n++] = e;
}

static struct expression pop(struct machine *m)
{
	if (m->n == 0) {
		m->failed = true;
		return other;
	}
	return m->stack[--m->n];
}

static void push_constant(struct machine *m, uint64_t value)
{
	push(m, (struct expression){.kind = EXPRESSION_CONSTANT, .offset = (int64_t)value});
}

static void push_register(struct machine *m, uint64_t number, int64_t offset)
{
	push(m, (struct expression){.kind = EXPRESSION_REGISTER, .reg = number, .offset = offset});
}

static struct expression add_constant(struct expression e, int64_t value)
{
	int64_t *offset = e.kind == EXPRESSION_MEMORY ? &e.offset2 : &e.offset;
	switch (e.kind) {
	case EXPRESSION_CONSTANT:
	case EXPRESSION_CFA:
	case EXPRESSION_REGISTER:
	case EXPRESSION_MEMORY:
	case EXPRESSION_PLT:
		break;
	default:
		return other;
	}
	return __builtin_add_overflow(*offset, value, offset) ? other : e;
}

static struct expression add(struct expression a, struct expression b)
{
	if (b.kind == EXPRESSION_CONSTANT)
		return add_constant(a, b.offset);
	if (a.kind == EXPRESSION_CONSTANT)
		return add_constant(b, a.offset);
	if (a.kind == EXPRESSION_REGISTER && b.kind == EXPRESSION_IP_8) {
		a.kind = EXPRESSION_PLT;
		a.offset2 = b.offset;
		return a;
	}
	return other;
}

static struct expression dereference(struct expression e)
{
	if (e.kind != EXPRESSION_REGISTER)
		return other;
	e.kind = EXPRESSION_MEMORY;
	return e;
}

/* The three operations of the PLT's expression, each on what the one before left and a constant. */
static struct expression of_ip(const struct machine *m, uint8_t op, struct expression a,
			       struct expression b)
{
	if (b.kind != EXPRESSION_CONSTANT)
		return other;
	if (op == DW_OP_and && a.kind == EXPRESSION_REGISTER && m->ip_register &&
	    a.reg == m->ip_register && a.offset == 0 && b.offset == 15)
		return (struct expression){.kind = EXPRESSION_IP_LOW};
	if (op == DW_OP_ge && a.kind == EXPRESSION_IP_LOW && b.offset > 0 && b.offset < 16)
		return (struct expression){.kind = EXPRESSION_IP_GE, .offset = b.offset};
	if (op == DW_OP_shl && a.kind == EXPRESSION_IP_GE && b.offset == 3)
		return (struct expression){.kind = EXPRESSION_IP_8, .offset = a.offset};
	return other;
}

static void run_binary(struct machine *m, uint8_t op)
{
	struct expression b = pop(m), a = pop(m);
	if (op == DW_OP_plus) {
		push(m, add(a, b));
	} else if (op == DW_OP_minus) {
		bool is_constant = b.kind == EXPRESSION_CONSTANT && b.offset != INT64_MIN;
		push(m, is_constant ? add_constant(a, -b.offset) : other);
	} else {
		push(m, of_ip(m, op, a, b));
	}
}

static void run_constant(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;
	switch (op) {
	case DW_OP_addr:
		push_constant(m, m->is64 ? cursor_u64(c) : cursor_u32(c));
		break;
	case DW_OP_const1u:
		push_constant(m, cursor_u8(c));
		break;
	case DW_OP_const1s:
		push_constant(m, (uint64_t)(int8_t)cursor_u8(c));
		break;
	case DW_OP_const2u:
		push_constant(m, cursor_u16(c));
		break;
	case DW_OP_const2s:
		push_constant(m, (uint64_t)(int16_t)cursor_u16(c));
		break;
	case DW_OP_const4u:
		push_constant(m, cursor_u32(c));
		break;
	case DW_OP_const4s:
		push_constant(m, (uint64_t)(int32_t)cursor_u32(c));
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push_constant(m, cursor_u64(c));
		break;
	case DW_OP_constu:
		push_constant(m, cursor_uleb(c));
		break;
	case DW_OP_consts:
		push_constant(m, (uint64_t)cursor_sleb(c));
		break;
	default:
		m->failed = true;
	}
}

static void run_stack(struct machine *m, uint8_t op)
{
	struct expression a = pop(m), b;
	switch (op) {
	case DW_OP_dup:
		push(m, a);
		push(m, a);
		break;
	case DW_OP_drop:
		break;
	case DW_OP_over:
		b = pop(m);
		push(m, b);
		push(m, a);
		push(m, b);
		break;
	case DW_OP_swap:
		b = pop(m);
		push(m, a);
		push(m, b);
		break;
	default: /* DW_OP_deref */
		push(m, dereference(a));
	}
}

static void run_one(struct machine *m)
{
	uint8_t op = cursor_u8(&m->c);
	uint64_t number;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push_constant(m, op - DW_OP_lit0);
		return;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(m, op - DW_OP_breg0, cursor_sleb(&m->c));
		return;
	}
	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_bregx:
		number = cursor_uleb(&m->c);
		push_register(m, number, cursor_sleb(&m->c));
		break;
	case DW_OP_plus_uconst:
		push(m, add_constant(pop(m), (int64_t)cursor_uleb(&m->c)));
		break;
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
	case DW_OP_ge:
	case DW_OP_shl:
		run_binary(m, op);
		break;
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_deref:
		run_stack(m, op);
		break;
	default:
		run_constant(m, op);
	}
}

struct expression expression_of(struct cursor bytes, bool has_cfa, bool is64, uint64_t ip_register)
{
	struct machine m = {.c = bytes, .is64 = is64, .ip_register = ip_register};
	if (has_cfa)
		push(&m, (struct expression){.kind = EXPRESSION_CFA});
	while (!m.failed && cursor_left(&m.c))
		run_one(&m);
	return m.failed || !cursor_ok(&m.c) || m.n == 0 ? other : m.stack[m.n - 1];
}
