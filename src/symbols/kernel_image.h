/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's own file, vmlinux, where somebody installed it: it knows how long functions are, and
 * with debug information lines and inlined calls. It is used if its build ID is that of the kernel
 * meant, which need not be the one that runs.
 *
 *	/usr/lib/debug/.build-id/b1/c7....debug      /usr/lib/debug/boot/vmlinux-6.1.0
 *	/usr/lib/debug/lib/modules/6.1.0/vmlinux     /boot/vmlinux-6.1.0
 *	/lib/modules/6.1.0/vmlinux                   /lib/modules/6.1.0/build/vmlinux
 */
#ifndef SYMBOLS_KERNEL_IMAGE_H
#define SYMBOLS_KERNEL_IMAGE_H

#include "base/log.h"
#include "proc/proc.h"
#include "symbols/kernel.h"
#include "symbols/symbol_table.h"

struct kernel_image {
	struct symbol_table table; /* by the kernel's build ID in the store */
	uint64_t text; /* where its code begins, as the file counts: the kernel's _text */
};

/*
 * Takes it into the store, unless it is there. `root` is an open directory, "/" in life; release as
 * in uname(2). Fills a zeroed image: 0, -ENOENT if there is none of that build ID, or another
 * -errno.
 */
int kernel_image_open(struct store *store, const struct proc *proc, const struct log *log, int root,
		      const char *release, const struct mw_file_id *id, bool lines,
		      struct kernel_image *ret);
void kernel_image_deinit(struct kernel_image *image);
/* The function at an address of a kernel whose _text is at `text`. 1 or 0, as symbol_table_name().
 */
int kernel_image_name(const struct kernel_image *image, uint64_t text, uint64_t address,
		      struct mw_location *ret);
/* Gives kallsyms the sizes of the image. As kernel_symbols_refine(). */
int kernel_image_refine(const struct kernel_image *image, struct kernel_symbols *symbols);

#endif
