/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/control.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

/* Both ways are opened for reading and writing, so that a FIFO never waits for the other side. */
static int open_fifo(const char *path, struct mw_error *e)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? error_errno(e, -errno, "control FIFO %s", path) : fd;
}

static int open_number(const char *text, struct mw_error *e)
{
	char *end;
	long number = strtol(text, &end, 10);
	int fd = *text && !*end ? fcntl((int)number, F_DUPFD_CLOEXEC, 3) : -1;
	if (fd < 0)
		return error_set(e, -EBADF, "control descriptor '%s' is not open", text);
	int flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return fd;
}

int control_open(struct control *c, const char *text, struct mw_error *e)
{
	*c = (struct control)CONTROL_INIT;
	bool is_fifo = strncmp(text, "fifo:", 5) == 0;
	if (!is_fifo && strncmp(text, "fd:", 3) != 0)
		return error_set(e, -EINVAL, "--control takes fifo:ORDERS[,ANSWERS] or fd:N[,M]");
	_cleanup_free_ char *copy = strdup(strchr(text, ':') + 1);
	if (!copy)
		return -ENOMEM;
	char *answers = copy;
	char *orders = strsep(&answers, ",");
	c->orders = is_fifo ? open_fifo(orders, e) : open_number(orders, e);
	if (c->orders < 0)
		return c->orders;
	if (!answers)
		return 0;
	c->answers = is_fifo ? open_fifo(answers, e) : open_number(answers, e);
	return c->answers < 0 ? c->answers : 0;
}

void control_close(struct control *c)
{
	cleanup_close(&c->orders);
	cleanup_close(&c->answers);
	*c = (struct control)CONTROL_INIT;
}

static enum control_order parse(const char *line)
{
	static const char *const orders[] = {
		[CONTROL_ENABLE] = "enable",
		[CONTROL_DISABLE] = "disable",
		[CONTROL_STOP] = "stop",
		[CONTROL_PING] = "ping",
	};
	for (unsigned i = CONTROL_ENABLE; i < ARRAY_SIZE(orders); i++) {
		if (strcmp(line, orders[i]) == 0)
			return (enum control_order)i;
	}
	return CONTROL_UNKNOWN;
}

enum control_order control_next(struct control *c)
{
	char byte;
	while (c->orders >= 0 && read(c->orders, &byte, 1) == 1) {
		if (byte != '\n' && byte != '\0') {
			/* What is too long for an order is none. */
			c->n = MIN(c->n, (unsigned)sizeof c->line - 2);
			c->line[c->n++] = byte;
			continue;
		}
		c->line[c->n] = '\0';
		c->n = 0;
		if (c->line[0])
			return parse(c->line);
	}
	return CONTROL_NONE;
}

void control_acknowledge(struct control *c)
{
	if (c->answers >= 0)
		(void)!write(c->answers, "ack\n", 4);
}
