/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of the running kernel's functions, from /proc/kallsyms:
 *
 *	ffffffff81000000 T _stext
 *	ffffffffc0203000 t ftrace_trampoline	[__builtin__ftrace]
 *
 * kallsyms has no sizes. A function ends where the next symbol starts, of whatever type, but a name
 * never reaches over the end of the text it is in: markers such as _etext are bounds without a name,
 * and the last symbol of a module ends with its module (or its page, if nothing says where that is).
 */
#ifndef SYMBOLS_KERNEL_H
#define SYMBOLS_KERNEL_H

#include <mapwright/mapwright.h>

struct kernel_symbols;

struct kernel_symbol {
	const char *name;   /* valid as long as the table */
	const char *module; /* NULL for the kernel itself; "bpf" and "__builtin__..." are modules, too */
	uint64_t start;
	uint64_t end;
};

/*
 * From `proc/kallsyms` and `proc/modules` (which may be missing) below an open directory, "/" in
 * life, a dumped tree in tests. -EPERM if the kernel hides its addresses: all are zero.
 */
int kernel_symbols_open(int root, struct kernel_symbols **ret, struct mw_error *e);
/* From text; modules may be NULL. The text is not kept. */
int kernel_symbols_parse(const char *kallsyms, size_t size, const char *modules,
			 struct kernel_symbols **ret, struct mw_error *e);
void kernel_symbols_close(struct kernel_symbols *symbols);

/* 1: found; 0: no function there. */
int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_symbol *ret);
size_t kernel_symbols_count(const struct kernel_symbols *symbols);

/* The build ID of the running kernel, from `sys/kernel/notes`. -ENODATA if it has none. */
int kernel_build_id(int root, struct mw_file_id *ret, struct mw_error *e);

#endif
