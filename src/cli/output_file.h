/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Standard output sent to a file that appears under its name once it is whole: what was there before
 * stays until then, and after a failure. A name that is there and is no regular file (/dev/null, a
 * FIFO) is written to directly.
 */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include <mapwright/mapwright.h>

struct output_file {
	int fd;           /* standard output as it was before; -1 if there is nothing to undo */
	const char *name; /* not owned */
	char *temporary;  /* owned; NULL if the name is written to directly */
};

int output_file_open(struct output_file *file, const char *name, struct mw_error *e);
/* Puts the file in its place and standard output back. Nothing happens to one that is not open. */
int output_file_keep(struct output_file *file, struct mw_error *e);
/* The same without the file. */
void output_file_discard(struct output_file *file);

#endif
