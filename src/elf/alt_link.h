/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .gnu_debugaltlink: the supplementary file, made by dwz, that several files' debug information
 *shares.
 *
 *	"/usr/lib/debug/.dwz/x86_64-linux-gnu/coreutils.debug" NUL, the build ID of that file
 *
 * or .debug_sup, which is DWARF 5's, in both files; the id is then any bytes:
 *
 *	u16 5, u8 is the supplementary file, path NUL (empty in that file), uleb size of the id, id
 */
#ifndef ELF_ALT_LINK_H
#define ELF_ALT_LINK_H

#include "elf/elf.h"

#define ELF_ALT_LINK_PATH 4096

struct elf_alt_link {
	char path[ELF_ALT_LINK_PATH]; /* absolute, or relative to the file's own directory */
	struct mw_file_id id;
};

/* 1, or 0 if the file has none that is whole. */
int elf_read_alt_link(struct elf *elf, struct elf_alt_link *ret);
/* True if a file is the one that a link means. */
bool elf_is_linked(struct elf *supplement, const struct elf_alt_link *link);

#endif
