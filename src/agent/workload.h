/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command that is recorded: forked early, held back until the recorder is ready, then run. */
#ifndef AGENT_WORKLOAD_H
#define AGENT_WORKLOAD_H

#include <mapwright/mapwright.h>

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct workload {
	pid_t pid; /* 0: there is none */
	int pidfd; /* readable when it has ended */
	int go;    /* written to let it run */
	int failure; /* its exec's errno comes from here; at its end it has run */
	bool has_ended;
	int status;  /* exit status as the shell has it: 128 + signal if it was killed */
	struct rusage usage; /* of it and its waited-for descendants, once it has ended */
};

#define WORKLOAD_INIT {.pidfd = -1, .go = -1, .failure = -1}

/* Forks; the child waits. The signals that the caller has blocked are not blocked in it. */
int workload_prepare(struct workload *w, char *const *command, struct mw_error *e);
/* Lets it exec. -errno and the cause if it could not. */
int workload_go(struct workload *w, const char *name, struct mw_error *e);
/* Reaps it if it has ended. True if there is none any more. */
bool workload_has_ended(struct workload *w);
/* Ends it if it still runs: asks first, then kills. Takes a zeroed or unprepared one, too. */
void workload_deinit(struct workload *w);

#endif
