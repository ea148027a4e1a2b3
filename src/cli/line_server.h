/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process that answers questions about source lines from the store, for a child that shows a foreign
 * profile and must not open anything itself.
 *
 *	question: kind, size and bytes of a file id; n (u32); n offsets (u64), ascending
 *	answer: bytes (u32); for each offset a number of locations, for each of these three strings
 *	(name, directory, file, each with its length), the line, and whether it is inlined
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

/* Starts one that reads this store (NULL: the default one). If there is none, asking gives -EPIPE. */
int line_server_start(const char *store, struct line_server *ret, struct mw_error *e);
/* Closes, and waits for its end. */
void line_server_stop(struct line_server *server);

/* For the child, which holds fd and nothing else. */
struct line_finder line_finder_remote(const int *fd);

#endif
