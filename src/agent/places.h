/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where samples come from: the control group with its path, and the container.
 *
 * The kernel gives the id of the cgroup in the unified hierarchy. On hybrid hosts, where tasks are moved
 * only in the hierarchies of version 1, that id is the root's for all of them; then the path is read
 * from /proc at the first sample of a process, and an id of our own stands for it.
 *
 * A place is a cgroup and a mount namespace. At its first sample its container is looked for
 * (content/container.h); what needs the runtimes' files is asked of an isolated child and comes later. A
 * place that is not yet what it will be (a container that is being set up) is looked at again.
 *
 * Places can be chosen: by containers' names, or by cgroups that the kernel cannot tell for us. Then each
 * sample gets a verdict, which stays open as long as its container is not known.
 */
#ifndef AGENT_PLACES_H
#define AGENT_PLACES_H

#include "agent/cgroup_target.h"
#include "base/log.h"
#include "base/run.h"
#include "profile/profile.h"

struct places;

/* The job of the fork server that this needs. */
extern const struct run_job places_job;
/* Its tickets have this bit, so that several may share one server. */
#define PLACES_TICKET (UINT64_C(1) << 62)

struct places_options {
	struct profile *profile;
	const struct proc *proc;
	struct run_server *server;
	size_t job; /* number of places_job in the server */
	const struct log *log;
	/* What is wanted: containers by any of these names, or cgroups. Neither: everything. */
	const char *const *containers;
	size_t n_containers;
	const struct cgroup_target *cgroups;
	size_t n_cgroups;
};

enum places_verdict {
	PLACES_OTHER,
	PLACES_WANTED,
	PLACES_UNDECIDED, /* ask again, with places_verdict() */
};

/* Borrows everything in the options. */
int places_new(const struct places_options *options, struct places **ret);
void places_free(struct places *p);

/* At each sample: the id for its profile entry, and whether it is wanted. 0 or -ENOMEM. */
int places_see(struct places *p, const struct sample *sample, uint64_t *ret_cgroup,
	       enum places_verdict *ret_verdict);
/* Later: whether a sample with this cgroup (as places_see() gave it) is wanted. */
enum places_verdict places_verdict(const struct places *p, uint64_t cgroup,
				   uint64_t mount_namespace);
/* A result with a ticket of ours. 0 or -ENOMEM. */
int places_take_result(struct places *p, const struct run_result *result);
/* Ten times a second, and when the server may have room: before others fill it. 0 or -ENOMEM. */
int places_go_on(struct places *p);
/* Places of which a child still reads the files. */
size_t places_unfinished(const struct places *p);
/* What is not known will not be: no verdict stays open. */
void places_give_up(struct places *p);

struct places_counts {
	uint64_t containers; /* distinct ones */
	uint64_t named;      /* ... that have a name */
	uint64_t failed;     /* files of runtimes that could not be read */
	uint64_t full;       /* places that found no room in the table */
};
struct places_counts places_get_counts(const struct places *p);
/* Calls found() with "RUNTIME:NAME" of each container that was seen. */
void places_list(const struct places *p, void (*found)(void *data, const char *text), void *data);

#endif
