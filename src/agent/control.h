/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orders to a recording that runs, as perf record takes them with --control: lines "enable", "disable",
 * "stop" and "ping" through a FIFO, each answered with "ack" through another one, if there is one.
 */
#ifndef AGENT_CONTROL_H
#define AGENT_CONTROL_H

#include <mapwright/mapwright.h>

enum control_order {
	CONTROL_NONE, /* nothing to read now */
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_STOP,
	CONTROL_PING,
	CONTROL_UNKNOWN, /* is answered too, so that nobody waits for ever */
};

struct control {
	int orders; /* -1: there is none */
	int answers;
	char line[64];
	unsigned n;
};

#define CONTROL_INIT {.orders = -1, .answers = -1}

/* "fifo:ORDERS[,ANSWERS]" or "fd:N[,M]". */
int control_open(struct control *c, const char *text, struct mw_error *e);
void control_close(struct control *c);
/* The next order, without waiting. */
enum control_order control_next(struct control *c);
/* Answers the order that was carried out. */
void control_acknowledge(struct control *c);

#endif
