/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two jobs that run in an isolated child: who is this file, and what are its functions called?
 *
 * They read and write only the descriptors they are given, open nothing, and what they allocate is
 * bounded for a file of any content: tables by SYMBOL_TABLE_MAX, the output by EXTRACT_GSYM_MAX.
 * Results are plain data that is sent over a socket.
 */
#ifndef SYMBOLS_EXTRACT_H
#define SYMBOLS_EXTRACT_H

#include "elf/identity.h"
#include "symbols/symbol_list.h"

/* The largest GSYM that is written, and the most records behind it that the parent takes. */
#define EXTRACT_GSYM_MAX   (UINT64_C(512) << 20)
#define EXTRACT_SPLITS_MAX (UINT64_C(1) << 22)

struct extract_result {
	uint64_t gsym_size;   /* bytes of the GSYM, from the start of out_fd */
	uint64_t n_functions; /* entries in it, pieces counted */
	uint64_t n_splits;    /* struct gsym_split records, directly behind the GSYM */
	uint32_t source;      /* enum symbol_source */
	uint32_t unused;
	/*
	 * What of the file could not be used although there are names (code 0: nothing). The names
	 * are right; there may be fewer than the whole file would give.
	 */
	struct mw_error damage;
};

/*
 * The identity of any regular file. What is not an ELF file, or one whose header is damaged, is
 * identified by its HTLHASH, with elf_class ELFCLASSNONE and no segments.
 */
int extract_identity(int fd, struct elf_identity *ret, struct mw_error *e);

/*
 * Writes the names of an ELF file's functions to out_fd, an empty file at offset 0: the GSYM, then
 * ret->n_splits records. The first of the debug files that belongs to the file is used instead of it:
 * its build ID is the same, or, if one of the two has none, its checksum is that of the debug link. -ENODATA: the file has no function symbols (stripped); nothing is
 * written then. -EBADMSG: it is damaged or no ELF file.
 */
int extract_names(int elf_fd, const int *debug_fds, size_t n_debug_fds, int out_fd,
		  struct extract_result *ret, struct mw_error *e);

/*
 * For the parent: reads the splits behind the GSYM, trusting neither the counts nor the bytes, and
 * cuts out_fd to the GSYM alone. *ret is empty before.
 */
int extract_take_splits(int out_fd, const struct extract_result *result, struct gsym_splits *ret,
			struct mw_error *e);

#endif
