/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line on a terminal's standard error that says how far things are. It replaces itself, is cut to
 * the terminal's width, and leaves nothing behind. Where standard error is no terminal, nothing is
 * written at all.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

struct progress {
	int fd;     /* not owned */
	bool wanted;
	bool shown; /* a line stands there */
};

/* `quiet`: never show anything. */
struct progress progress_init(int fd, bool quiet);
void progress_show(struct progress *p, const char *line);
/* To be called before anything else is written to the same terminal. */
void progress_clear(struct progress *p);

#endif
