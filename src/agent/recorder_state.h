/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a recording is made of, for the files recorder*.c. */
#ifndef AGENT_RECORDER_STATE_H
#define AGENT_RECORDER_STATE_H

#include "agent/areas.h"
#include "agent/code_names.h"
#include "agent/control.h"
#include "agent/first_sight.h"
#include "agent/governor.h"
#include "agent/held.h"
#include "agent/places.h"
#include "agent/preload.h"
#include "agent/recorder.h"
#include "agent/inventory.h"
#include "agent/undecided.h"
#include "agent/workload.h"
#include "capture/engine.h"
#include "content/exec_watch.h"
#include "content/roots.h"
#include "profile/naming.h"
#include "profile/writer.h"
#include "symbols/symbolizer.h"

#include <signal.h>

#define NS_PER_SECOND	    UINT64_C(1000000000)
#define RECORDER_MAX_EVENTS 16

struct recorder {
	const struct record_options *o;
	struct event events[RECORDER_MAX_EVENTS];
	size_t n_events;
	char remark[160]; /* why the event is another one than asked for */

	struct workload workload;
	struct control control;
	struct proc proc;     /* with the numbers that the kernel gives to tasks */
	struct proc own_proc; /* with ours */
	struct run_server *server;
	struct sampler *sampler;
	struct store *store;
	struct kernel_symbols *kernel;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct profile_writer *writer;
	struct first_sight *first_sight;
	struct places *places;
	struct held *held; /* NULL: all places are wanted, or which are is known at once */
	struct cgroup_target *cgroups; /* owned, o->n_cgroups of them */
	bool cgroups_in_kernel;        /* the kernel tells which samples are in them */
	uint64_t other_places;         /* samples left out */
	struct run_job jobs[8];
	struct exec_watch *exec_watch; /* NULL: the kernel does not tell what is executed */
	struct images *images;
	struct roots *roots;
	struct areas *areas;
	struct inferred *inferred;
	struct inventory *inventory; /* NULL: the engine knows files by their inodes */
	struct code_names *code_names;
	struct undecided *undecided;
	struct preload *preload; /* NULL: no unwinding tables are wanted */
	const struct engine *engine;
	enum sampler_walk walk; /* how callers are found in user space */
	struct naming naming;
	struct governor governor;

	int signals; /* signalfd */
	int timer;   /* timerfd */
	int epoll;
	sigset_t old_mask;
	void (*old_xfsz)(int);
	bool mask_is_set;

	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t last_second;
	unsigned interrupts;
	bool is_over;
	bool told_of_store; /* that its disk is full */
	struct mw_error write_error; /* the profile could not be written any more */
};

/* What people must know now; hint may be NULL. */
void recorder_notice(const struct recorder *r, const char *text, const char *hint);
/* What can be done about the failure that is about to be returned. */
void recorder_hint(const struct recorder *r, const char *text);

/* recorder_setup.c: everything up to the loop, and its end. A recorder that failed half way is fine. */
int recorder_set_up(struct recorder *r, struct mw_error *e);
void recorder_tear_down(struct recorder *r);

/* recorder_samples.c: the receivers, each called with the recorder as data. */
int recorder_on_file(void *data, const struct file_sighting *sighting);
int recorder_on_table_wanted(void *data, uint32_t number);
void recorder_on_table(void *data, uint32_t sampler_number, const struct mw_file_id *store_id);
/* What was executed since the last call becomes known. 0 or -ENOMEM. */
int recorder_take_executed(struct recorder *r);
int recorder_on_sample(void *data, const struct sample *sample);
int recorder_on_decided(void *data, struct sample *sample, struct frame *frames);
int recorder_add_sample(void *data, const struct sample *sample);

#endif
