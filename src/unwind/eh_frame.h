/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where in an ELF file call frame information is, and opening it. */
#ifndef UNWIND_EH_FRAME_H
#define UNWIND_EH_FRAME_H

#include "elf/elf.h"
#include "unwind/cfi.h"

/* Of a section; the largest known has some 60 MiB. */
#define EH_FRAME_MAX (UINT64_C(512) << 20)

/* A section that is open, with its bytes. */
struct frame_section {
	struct cfi cfi;
	uint8_t *data; /* owned */
};

void frame_section_deinit(struct frame_section *section);
/*
 * .eh_frame, found by its section, or without section headers by .eh_frame_hdr, which the program
 * headers name. -ENODATA: there is none; -EBADMSG: it is damaged; -EFBIG.
 */
int frame_section_open_eh(struct frame_section *section, struct elf *elf, struct mw_error *e);
/* .debug_frame, compressed or not. */
int frame_section_open_debug(struct frame_section *section, struct elf *elf, struct mw_error *e);

#endif
