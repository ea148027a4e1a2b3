/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/progress.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct progress progress_init(int fd, bool quiet)
{
	const char *term = getenv("TERM");
	bool dumb = term && strcmp(term, "dumb") == 0;
	return (struct progress){.fd = fd, .wanted = !quiet && !dumb && isatty(fd)};
}

void progress_show(struct progress *p, const char *line)
{
	if (!p->wanted)
		return;
	/* The last column stays free: some terminals wrap when it is written. */
	int width = MIN(terminal_width(p->fd, 80) - 1, 400);
	char text[512];
	int n = snprintf(text, sizeof text, "\r%.*s\x1b[K", width, line);
	/* A line that could not be shown is no reason to stop what it tells about. */
	if (io_write(p->fd, text, (size_t)n) == 0)
		p->shown = true;
}

void progress_clear(struct progress *p)
{
	if (!p->shown)
		return;
	if (io_write(p->fd, "\r\x1b[K", 4) == 0)
		p->shown = false;
}
