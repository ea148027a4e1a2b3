/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pager between standard output and a terminal. Where standard output is no terminal, or no pager
 * is wanted (MAPWRIGHT_PAGER, then PAGER, is empty or cat) or none can be started, nothing changes.
 *
 * The pager's status is of no interest: the command's own is kept, and that people quit the pager
 * before the end of the text is no failure.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid;  /* 0: none runs */
	int output; /* standard output as it was before; -1 */
};

struct pager pager_start(void);
/* Writes what is buffered, closes the pipe, waits until people have left the pager. */
void pager_finish(struct pager *p);

#endif
