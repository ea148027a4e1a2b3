/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .gnu_debuglink: the name of the file that has a stripped file's symbols, and its checksum.
 *
 *	"b15.debug" NUL, zero bytes to a multiple of four, u32 CRC-32 of the whole other file
 */
#ifndef ELF_DEBUG_LINK_H
#define ELF_DEBUG_LINK_H

#include "elf/elf.h"

struct elf_debug_link {
	char name[256]; /* a file name, no path; "" if there is none */
	uint32_t crc;
};

/*
 * 1, or 0 if the file has none that is whole. A name with a slash in it is none: it would lead out of
 * the places where such files are looked for.
 */
int elf_read_debug_link(struct elf *elf, struct elf_debug_link *ret);
/* The CRC-32 that a link has, of everything in a file. 0 or -errno. */
int source_crc32(const struct source *source, uint32_t *ret);

#endif
