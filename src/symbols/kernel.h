/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of the running kernel's functions, from /proc/kallsyms:
 *
 *	ffffffff81000000 T _stext
 *	ffffffffc0203000 t ftrace_trampoline	[__builtin__ftrace]
 *
 * kallsyms has no sizes. A function ends where the next symbol of the same module starts; markers
 * such as _etext are such ends, but no names. The last function of a module or of the kernel, and
 * one that is far from the next, ends with its page at the latest: what lies behind may be anybody's
 * code, and no name is better than a wrong one. (/proc/modules does not help: since Linux 6.4 its
 * sizes count memory that lies elsewhere.)
 */
#ifndef SYMBOLS_KERNEL_H
#define SYMBOLS_KERNEL_H

#include <mapwright/mapwright.h>

struct kernel_symbols;

struct kernel_symbol {
	const char *name;   /* valid as long as the table */
	const char *module; /* NULL for the kernel; "bpf" and "__builtin__..." are modules, too */
	uint64_t start;
	uint64_t end;
};

/*
 * From `proc/kallsyms` below an open directory, "/" in life, a dumped tree in tests. -EPERM if the
 * kernel hides its addresses: all are zero. -ENODATA if there are no functions in it.
 */
int kernel_symbols_open(int root, struct kernel_symbols **ret, struct mw_error *e);
/* From the text of such a file, which is not kept. */
int kernel_symbols_parse(const char *text, size_t size, struct kernel_symbols **ret,
			 struct mw_error *e);
/* Takes NULL. */
void kernel_symbols_close(struct kernel_symbols *symbols);

/* 1: found; 0: no function there. */
int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_symbol *ret);
size_t kernel_symbols_count(const struct kernel_symbols *symbols);

/* The address of _text, where the kernel begins; 0 if kallsyms has none. */
uint64_t kernel_symbols_text(const struct kernel_symbols *symbols);
/*
 * Sizes from the kernel's own file, where they are better known: `ask` gives the end of the function that
 * starts at an address as that file counts, 0 if none does, and its name. The file's _text is at `text`. Returns how
 * many functions are shorter by it, or -ESTALE if it is not this kernel's: then nothing is changed.
 */
int kernel_symbols_refine(struct kernel_symbols *symbols, uint64_t text,
			  uint64_t (*ask)(const void *context, uint64_t address, const char **name),
			  const void *context);

/*
 * Which kernel, where it was loaded, and since when it runs. Addresses mean something only together
 * with these.
 */
struct kernel_identity {
	struct mw_file_id id; /* MW_FILE_ID_NONE: unknown */
	uint64_t text;	      /* address of _text, 0 unknown */
	char boot[40];	      /* boot_id, "" unknown */
};

/* Of the running one; symbols may be NULL. What is not known stays empty. */
void kernel_identity_read(int root, const struct kernel_symbols *symbols, struct kernel_identity *ret);
/*
 * The address at which the kernel `here` has what `there` had at `address`. 1; or 0, other-kernel: that
 * cannot be told. After another start of the same kernel it lies elsewhere as a whole, and its modules anywhere.
 */
int kernel_translate(const struct kernel_identity *there, const struct kernel_identity *here,
		     uint64_t address, uint64_t *ret);

/* The build ID of the running kernel, from `sys/kernel/notes`. -ENODATA if it has none. */
int kernel_build_id(int root, struct mw_file_id *ret, struct mw_error *e);

#endif
