/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process that answers questions about source lines from the store, for a child that shows a foreign
 * profile and must not open anything itself.
 *
 *	question: a struct of the file id, n and the bytes of a path; the path; n offsets (u64),
 *		  ascending
 *	answer:	  bytes that follow (u32); rank of the names; for each offset how many locations, and
 *		  those (or one without a name): name, directory, file (each with its length), line,
 *		  start, reason, whether it is inlined
 */
#ifndef CLI_LINE_SERVER_H
#define CLI_LINE_SERVER_H

#include "profile/source_lines.h"

#include <sys/types.h>

struct line_server {
	int fd;    /* to ask by; owned */
	pid_t pid; /* 0: none */
};

#define LINE_SERVER_INIT {.fd = -1}

struct line_server_options {
	const char *store; /* NULL: the default one */
	/*
	 * What the store does not know of a file is looked for on this machine, by its id, and read. The
	 * store is written to then.
	 */
	bool take_in;
	const struct log *log;
};

/* If there is no store to read, asking gives -EPIPE. */
int line_server_start(const struct line_server_options *options, struct line_server *ret,
		      struct mw_error *e);
/* Closes, and waits for its end. */
void line_server_stop(struct line_server *server);

/* For the child, which holds fd and nothing else. */
struct line_finder line_finder_remote(const int *fd);

#endif
