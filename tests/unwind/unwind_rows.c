/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * usage: unwind_rows FILE...: every row of a file's table that comes from its .eh_frame, against
 * what elfutils (libdw) makes of the same section at the same address, for any machine. Prints each
 * that is not the same, and `N rows, N same, N not compared, N differ`.
 *
 * Not compared are rows without .eh_frame (libdw knows nothing there), and rules whose expressions
 * are no sum, of the PLT and of signal frames, which have tests of their own.
 */
#include "base/cleanup.h"
#include "elf/elf.h"
#include "unwind/extract_unwind.h"
#include "unwind/unwind_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

struct counts {
	unsigned long n, same, passed_over, differ;
};

/* CFA + offset, register + offset, or *(register + offset) + offset2. */
struct term {
	enum { TERM_OTHER, TERM_CFA, TERM_REGISTER, TERM_MEMORY } kind;
	uint64_t reg;
	int64_t offset;
	int64_t offset2;
};

static void add(struct term *t, int64_t value)
{
	*(t->kind == TERM_MEMORY ? &t->offset2 : &t->offset) += value;
}

static struct term term_of(const Dwarf_Op *ops, size_t n, bool has_cfa)
{
	struct term t = {has_cfa ? TERM_CFA : TERM_OTHER, 0, 0, 0};
	const struct term other = {TERM_OTHER, 0, 0, 0};
	for (size_t i = 0; i < n; i++) {
		const Dwarf_Op *op = &ops[i];
		if (op->atom == DW_OP_call_frame_cfa)
			t = (struct term){TERM_CFA, 0, 0, 0};
		else if (op->atom == DW_OP_bregx)
			t = (struct term){TERM_REGISTER, op->number, (int64_t)op->number2, 0};
		else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
			t = (struct term){TERM_REGISTER, op->atom - DW_OP_breg0,
					  (int64_t)op->number, 0};
		else if (op->atom == DW_OP_plus_uconst)
			add(&t, (int64_t)op->number);
		else if (op->atom == DW_OP_deref && t.kind == TERM_REGISTER)
			t.kind = TERM_MEMORY;
		else if (op->atom == DW_OP_stack_value || op->atom == DW_OP_nop)
			continue;
		else if (i + 1 < n && op->atom == DW_OP_consts && ops[i + 1].atom == DW_OP_plus)
			add(&t, (int64_t)ops[i++].number);
		else
			return other;
	}
	return t;
}

/* 1 the same, 0 not, -1 cannot be compared. */
static int compare_cfa(Dwarf_Frame *frame, const struct unwind_rule *rule)
{
	Dwarf_Op *ops;
	size_t n;
	if (dwarf_frame_cfa(frame, &ops, &n) != 0)
		return -1;
	struct term t = term_of(ops, n, false);
	if (t.kind == TERM_REGISTER)
		return rule->cfa == UNWIND_CFA_REGISTER && rule->cfa_register == t.reg &&
		       rule->cfa_offset == t.offset;
	if (t.kind == TERM_MEMORY)
		return rule->cfa == UNWIND_CFA_MEMORY && rule->cfa_register == t.reg &&
		       rule->cfa_offset == t.offset && rule->cfa_offset2 == t.offset2;
	return -1;
}

static bool is_place(const struct unwind_rule *rule, const struct term *t, int16_t at, unsigned bit)
{
	bool by_base = rule->base_mask & 1U << bit;
	if (t->offset != at * 8)
		return false;
	return by_base ? t->kind == TERM_REGISTER && t->reg == rule->base_register
		       : t->kind == TERM_CFA;
}

static int compare_register(Dwarf_Frame *frame, const struct unwind_rule *rule, unsigned i,
			    int number)
{
	Dwarf_Op memory[3], *ops;
	size_t n;
	int16_t at = rule->saved[i];
	if (dwarf_frame_register(frame, number, memory, &ops, &n) != 0)
		return -1;
	if (n == 0) /* nothing is said of it, or that it is as it was */
		return at == UNWIND_SAME || at == UNWIND_UNDEFINED;
	struct term t = term_of(ops, n, true);
	if (t.kind != TERM_CFA && t.kind != TERM_REGISTER)
		return -1;
	return is_place(rule, &t, at, i);
}

static int compare_return(Dwarf_Frame *frame, const struct unwind_rule *rule, int number)
{
	Dwarf_Op memory[3], *ops;
	size_t n;
	if (dwarf_frame_register(frame, number, memory, &ops, &n) != 0)
		return -1;
	if (n == 0 && ops == memory) /* undefined */
		return rule->kind == UNWIND_END ||
		       (rule->kind == UNWIND_RULE && rule->return_in == UNWIND_RETURN_REGISTER);
	if (rule->kind == UNWIND_END)
		return 0;
	if (n == 0)
		return rule->return_in == UNWIND_RETURN_REGISTER && rule->return_register == number;
	if (n == 1 &&
	    (ops->atom == DW_OP_regx || (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)))
		return rule->return_in == UNWIND_RETURN_REGISTER;
	struct term t = term_of(ops, n, true);
	return rule->return_in == UNWIND_RETURN_MEMORY &&
	       is_place(rule, &t, rule->return_at, UNWIND_N_SAVED);
}

static int compare_rule(Dwarf_Frame *frame, const struct unwind_rule *rule, uint16_t machine)
{
	static const uint8_t x86_64[] = UNWIND_SAVED_X86_64, aarch64[] = UNWIND_SAVED_AARCH64;
	const uint8_t *numbers = machine == EM_AARCH64 ? aarch64 : x86_64;
	int number = dwarf_frame_info(frame, NULL, NULL, NULL);
	if (rule->kind == UNWIND_END)
		return compare_return(frame, rule, number);
	if (rule->kind != UNWIND_RULE)
		return -1;
	int r = compare_cfa(frame, rule);
	if (r == 1)
		r = compare_return(frame, rule, number);
	for (unsigned i = 0; i < UNWIND_N_SAVED && r == 1; i++)
		r = compare_register(frame, rule, i, numbers[i]);
	return r;
}

static void print_rule(const char *path, uint64_t address, const struct unwind_rule *rule)
{
	printf("%s: %" PRIx64 ": kind %u, base %u %u%+d%+d, return %u %d, saved", path, address,
	       rule->kind, rule->cfa, rule->cfa_register, rule->cfa_offset, rule->cfa_offset2,
	       rule->return_in, rule->return_at);
	for (unsigned i = 0; i < UNWIND_N_SAVED; i++)
		printf(" %d", rule->saved[i]);
	printf("\n");
}

static void compare_rows(const char *path, const struct unwind_table *table, const struct elf *elf,
			 Dwarf_CFI *cfi, struct counts *counts)
{
	const struct unwind_header *h = unwind_table_header(table);
	const struct unwind_row *rows =
		(const void *)(table->data + (size_t)h->first_row * UNWIND_BLOCK_SIZE);
	for (uint32_t i = 0; i < h->n_rows; i++) {
		uint64_t address;
		Dwarf_Frame *frame;
		const struct unwind_rule *rule = unwind_table_find(table, rows[i].offset);
		if (rule->kind == UNWIND_NO_RULE ||
		    !elf_offset_to_address(elf, rows[i].offset, &address, NULL))
			continue;
		counts->n++;
		if (dwarf_cfi_addrframe(cfi, address, &frame) != 0) {
			counts->passed_over++;
			continue;
		}
		int r = compare_rule(frame, rule, elf->machine);
		counts->same += r == 1;
		counts->passed_over += r < 0;
		counts->differ += r == 0;
		if (r == 0 && counts->differ <= 20)
			print_rule(path, address, rule);
		free(frame);
	}
}

static void compare_file(const char *path, struct counts *counts)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = memfd_create("table", MFD_CLOEXEC);
	struct extract_unwind_result result;
	struct unwind_table table;
	struct elf elf;
	if (fd < 0 || out < 0 || extract_unwind(fd, NULL, 0, out, &result, NULL) < 0 ||
	    unwind_table_open(&table, out, NULL) < 0)
		return;
	Elf *file = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = file ? dwarf_getcfi_elf(file) : NULL;
	if (cfi && elf_open(&elf, fd, NULL) == 0) {
		compare_rows(path, &table, &elf, cfi, counts);
		elf_deinit(&elf);
	}
	dwarf_cfi_end(cfi);
	elf_end(file);
	unwind_table_close(&table);
}

int main(int argc, char **argv)
{
	struct counts counts = {};
	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		compare_file(argv[i], &counts);
	printf("%lu rows, %lu same, %lu not compared, %lu differ\n", counts.n, counts.same,
	       counts.passed_over, counts.differ);
	return counts.differ != 0;
}
