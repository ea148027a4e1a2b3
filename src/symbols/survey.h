/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a file offers to name its code by, and which other files would, for people who ask why a name is
 * as it is. Read in an isolated child; flat, for it comes from there.
 */
#ifndef SYMBOLS_SURVEY_H
#define SYMBOLS_SURVEY_H

#include "elf/identity.h"

#define SURVEY_SOURCES_MAX 16
#define SURVEY_TEXT_MAX	   320

struct survey_source {
	char name[24];		    /* ".symtab", ".gnu_debuglink", ... */
	uint64_t size;		    /* bytes, 0: it has none */
	char text[SURVEY_TEXT_MAX]; /* what is to be said of it: "" or one line */
};

/* One file: the one itself, or one that may be its debug file. */
struct survey {
	uint32_t n;
	uint8_t is_used;		/* a debug file: it is proved to be this file's */
	char verdict[SURVEY_TEXT_MAX];	/* a debug file: by what it is proved, or refuted */
	struct survey_source sources[SURVEY_SOURCES_MAX];
};

/* What an open file has. 0 or -errno: it cannot be read. */
int survey_take(int fd, struct survey *ret, struct mw_error *e);
/* The same of a candidate, and whether it is the debug file of a file. */
int survey_take_debug(int fd, const struct elf_identity *identity, struct survey *ret,
		      struct mw_error *e);

#endif
