/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The jobs that run in an isolated child: who is this file, what are its functions called, and which
 * source lines and inlined calls is its code made of?
 *
 * They read and write only the descriptors they are given, open nothing, and what they allocate is
 * bounded for a file of any content: tables by SYMBOL_TABLE_MAX, the output by EXTRACT_GSYM_MAX.
 * Results are plain data that is sent over a socket.
 */
#ifndef SYMBOLS_EXTRACT_H
#define SYMBOLS_EXTRACT_H

#include "elf/alt_link.h"
#include "elf/identity.h"
#include "symbols/symbol_list.h"

/* Versions of the code that makes names and lines; a higher one makes them anew. */
#define EXTRACT_NAMES_BUILDER 2
#define EXTRACT_LINES_BUILDER 2

/* The largest GSYM that is written, and the most records behind it that the parent takes. */
#define EXTRACT_GSYM_MAX   (UINT64_C(512) << 20)
#define EXTRACT_SPLITS_MAX (UINT64_C(1) << 22)
/* The largest GSYM with lines: its offsets have 32 bits. */
#define EXTRACT_LINES_MAX UINT64_C(0xffffffff)

struct extract_result {
	uint64_t gsym_size;   /* bytes of the GSYM, from the start of out_fd */
	uint64_t n_functions; /* entries in it, pieces counted */
	uint64_t n_splits;    /* struct gsym_split records, directly behind the GSYM */
	uint32_t source;      /* enum symbol_source; of lines: enum lines_source */
	uint32_t debug_file;  /* which of debug_fds it came from, counted from 1; 0: the file itself */
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
 * What the lines were made of: the higher, the better. The numbers are the ranks of the store. Of split
 * DWARF only the skeleton is read: it has lines, but functions and inlined calls are in other files.
 */
enum lines_source {
	LINES_SOURCE_NONE = 0,
	LINES_SOURCE_SKELETON, /* all units are skeletons */
	LINES_SOURCE_PARTLY,   /* some are, or a supplementary file (dwz) was not there or not read */
	LINES_SOURCE_DWARF,
};
/* As users read it (".debug_info"); "none" for any other number. */
const char *lines_source_name(uint32_t source);

/*
 * Writes functions, lines and inlined calls from the file's debug information (DWARF 2 to 5) to
 * out_fd, in the same way as extract_names(): a GSYM of LLVM's format, then the splits. Functions
 * that only the symbol table has are in it with their names, and with lines where there are some. The
 * debug information is that of the first of the debug files that belongs to the file and has any, or
 * else the file's own. alt_fd is the file that its .gnu_debugaltlink names, or -1; it is used only if
 * it has the build ID of that link.
 *
 * Addresses are the file's own (not a debug file's, should these differ by prelinking). In a
 * relocatable object, which has none, they are offsets in the file.
 *
 * -ENODATA: there is no debug information; nothing is written then. -EFBIG: it does not fit
 * EXTRACT_LINES_MAX. -EBADMSG: it is damaged or no ELF file. What was left out although the rest is
 * good is said in ret->damage.
 */
int extract_lines(int elf_fd, const int *debug_fds, size_t n_debug_fds, int alt_fd, int out_fd,
		  struct extract_result *ret, struct mw_error *e);

/*
 * The link to what several debug files share, of the file whose lines extract_lines() would read. 1, or 0
 * if there is none.
 */
int extract_alt_link(int elf_fd, const int *debug_fds, size_t n_debug_fds, struct elf_alt_link *ret);

/*
 * For the parent: reads the splits behind a GSYM, trusting neither the counts nor the bytes, and
 * cuts out_fd to the GSYM alone. *ret is empty before.
 */
int extract_take_splits(int out_fd, const struct extract_result *result, struct gsym_splits *ret,
			struct mw_error *e);

#endif
