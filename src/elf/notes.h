/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A walk over the notes of a segment, a section, or a file of notes.
 *
 * Notes are read through a small window, so one may lie any distance behind another. The walk ends
 * at the first note that does not fit and after NOTES_MAX, whatever sizes are claimed.
 */
#ifndef ELF_NOTES_H
#define ELF_NOTES_H

#include "elf/source.h"

#define NOTES_MAX 65536

struct note {
	uint32_t type;
	char name[16];        /* ends in NUL; longer names are cut and match nothing we look for */
	uint32_t name_size;   /* as the file says, the NUL counted */
	uint32_t size;        /* of the descriptor */
	uint64_t offset;      /* of the descriptor in the source */
};

struct notes {
	const struct source *source;
	bool swap;
	uint64_t at;
	uint64_t end;
	uint64_t align; /* 4 or 8: what names and descriptors are padded to */
	uint32_t n;
	bool is_whole;  /* at the end of the walk: it ended exactly at the end */
	uint64_t window_at;
	size_t window_size;
	uint8_t window[4096];
};

/* align as the header has it: 8 means 8, everything else 4. */
void notes_init(struct notes *notes, const struct source *source, uint64_t offset, uint64_t size,
		uint64_t align, bool swap);
/* 1 and the next note, or 0 at the end. */
int notes_next(struct notes *notes, struct note *ret);

#endif
