/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The job of an isolated child: a file's unwinding table, as the store keeps it (STORE_UNWIND) and
 * the kernel side takes it. It reads and writes only the descriptors it is given, and what it
 * allocates and computes is bounded for a file of any content.
 */
#ifndef UNWIND_EXTRACT_UNWIND_H
#define UNWIND_EXTRACT_UNWIND_H

#include <mapwright/mapwright.h>

/* The largest image: rows, index and rules of a table at its bounds. */
#define EXTRACT_UNWIND_MAX (UINT64_C(168) << 20)
/* Version of the code that makes tables; a higher one makes them anew. */
#define EXTRACT_UNWIND_BUILDER 1

struct extract_unwind_result {
	uint64_t size; /* bytes of the image, from the start of out_fd */
	uint32_t n_rows;
	uint32_t n_rules;
	uint32_t n_functions;
	uint32_t n_unsupported; /* rows with rules that cannot be expressed */
	uint32_t n_damaged;	/* entries that were left out */
	uint32_t sources;	/* UNWIND_FROM_* */
};

/*
 * Writes the table to out_fd, an empty file at offset 0. Of the debug files those are used that
 * belong to the file (elf_debug_file_belongs()). -ENODATA: it has nothing to unwind by; -ENOTSUP:
 * another machine; -EFBIG: a table has no room for it; -EBADMSG: it is damaged or no ELF file.
 * Nothing is written then.
 */
int extract_unwind(int elf_fd, const int *debug_fds, size_t n_debug_fds, int out_fd,
		   struct extract_unwind_result *ret, struct mw_error *e);

#endif
