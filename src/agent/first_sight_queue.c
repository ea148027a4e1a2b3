/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Going on: which of the files that wait has its turn, and the steps that need no child. */
#include "agent/first_sight_entry.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>

/* Processes that copy from slow file systems at once. */
#define MAX_COPIERS 2

/* A twin ends as the other one does. */
static int follow_twin(struct first_sight *f, struct entry *entry)
{
	const struct entry *twin = f->entries.items[entry->twin];
	if (!twin) {
		entry_finish(f, entry, MW_REASON_FILE_GONE);
		return 0;
	}
	if (twin->state < STATE_DONE)
		return -EAGAIN;
	entry->id = twin->id;
	entry->store_id = twin->store_id;
	entry_finish(f, entry, twin->state == STATE_DONE ? MW_REASON_NONE : twin->reason);
	return 0;
}

/*
 * Nothing could be opened, but the store may know the one content that has this id: from earlier, or
 * since the file was executed and is being read right now.
 */
static int look_into_store(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (store_complete_id(f->o.store, &entry->key.id, &entry->id) == 0) {
		entry->store_id = entry->id;
		entry_finish(f, entry, MW_REASON_NONE);
		return 0;
	}
	if (clock_now_ns() < entry->looks_until)
		return -EAGAIN;
	return entry_fail_to_open(f, number, MW_REASON_FILE_GONE);
}

static int start_copying(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	struct finder_context context = {
		.proc = f->o.proc, .log = f->o.log, .roots = f->o.roots};
	if (f->n_copiers >= MAX_COPIERS || f->n_pins >= f->o.max_pins)
		return -EAGAIN;
	if (slow_file_start(&context, &entry->request, &entry->slow) < 0)
		return entry_fail_to_open(f, number, MW_REASON_TIMEOUT);
	f->n_copiers++;
	entry->state = STATE_COPYING;
	return -EAGAIN; /* to be looked at again */
}

static int take_copy(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	int fd;
	int r = slow_file_poll(&entry->slow, &fd);
	if (r == 0)
		return -EAGAIN;
	f->n_copiers--;
	if (r < 0)
		return entry_fail_to_open(f, number, r == -ETIMEDOUT ? MW_REASON_TIMEOUT : MW_REASON_FILE_GONE);
	_cleanup_free_ struct pin *pin = calloc(1, sizeof *pin);
	if (!pin) {
		close(fd);
		return -ENOMEM;
	}
	pin->fd = fd;
	pin_remember(pin);
	pin->path[0] = '\0'; /* that of a copy in memory says nothing */
	entry->pin = take_ptr(pin);
	f->n_pins++;
	return entry_put_off(f, number, STATE_OPEN);
}

/* Makes one entry go on, if it can now. -EAGAIN: it stays in the queue. */
static int go_on(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	switch (entry->state) {
	case STATE_WAITING:
		return f->n_pins >= f->o.max_pins ? -EAGAIN : entry_open(f, number);
	case STATE_SLOW:
		return start_copying(f, number);
	case STATE_COPYING:
		return take_copy(f, number);
	case STATE_IN_STORE:
		return look_into_store(f, number);
	case STATE_TWIN:
		return follow_twin(f, entry);
	default:
		return entry_work(f, number);
	}
}

/*
 * What the next samples need goes first: who a file is that was sampled, and its unwinding table. Then
 * files that were executed, and the names of both, which may take long; last what running processes
 * have mapped, which may be many, and may never be sampled.
 */
enum urgency {
	URGENT,
	EXECUTED,
	NAMES,
	RUNNING,
	RUNNING_NAMES,
	N_URGENCIES,
};

static enum urgency urgency_of(const struct first_sight *f, const struct entry *entry)
{
	if (!f->o.on_table)
		return URGENT; /* in the order in which they came */
	bool names_next = entry->state == STATE_IDENTIFIED && !entry_needs_table(f, entry);
	if (entry->profile_file == NO_FILE && !entry->was_executed)
		return names_next ? RUNNING_NAMES : RUNNING;
	if (names_next)
		return NAMES;
	return entry->profile_file != NO_FILE ? URGENT : EXECUTED;
}

/* What is not urgent does not stand in the children's queue before what may come to be. */
static bool may_go_on(const struct first_sight *f, enum urgency urgency)
{
	return urgency == URGENT || run_server_outstanding(f->o.server) < RUN_PARALLEL;
}

void first_sight_go_on(struct first_sight *f)
{
	/* What is put off again while we look lands behind the end, and is looked at next time. */
	size_t n = f->waiting.n, kept = 0;
	for (enum urgency urgency = URGENT; urgency < N_URGENCIES; urgency++) {
		for (size_t i = 0; i < n; i++) {
			uint32_t number = f->waiting.items[i];
			if (number == NO_ENTRY || urgency_of(f, f->entries.items[number]) != urgency)
				continue;
			if (may_go_on(f, urgency) && go_on(f, number) != -EAGAIN)
				f->waiting.items[i] = NO_ENTRY;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (f->waiting.items[i] != NO_ENTRY)
			f->waiting.items[kept++] = f->waiting.items[i];
	}
	size_t added = f->waiting.n - n;
	memmove(f->waiting.items + kept, f->waiting.items + n, added * sizeof f->waiting.items[0]);
	f->waiting.n = kept + added;
}

void first_sight_leave_unsampled(struct first_sight *f)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->waiting.n; i++) {
		uint32_t number = f->waiting.items[i];
		struct entry *entry = f->entries.items[number];
		if (entry->profile_file != NO_FILE)
			f->waiting.items[kept++] = number;
		else
			entry_finish(f, entry, MW_REASON_TIMEOUT);
	}
	f->waiting.n = kept;
}

void first_sight_give_up(struct first_sight *f, enum mw_reason reason)
{
	vec_foreach(entry, &f->entries) {
		if (*entry && (*entry)->state < STATE_DONE)
			entry_finish(f, *entry, reason);
	}
	f->waiting.n = 0;
}
