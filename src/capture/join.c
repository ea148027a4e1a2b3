/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/join.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/records.h"

#include <errno.h>
#include <string.h>

/* User parts that are kept after they were delivered. */
#define N_RECENT 64
/* A ring of this many places holds the samples that wait, by age. */
#define NO_PLACE UINT32_MAX

/* A sample that waits for its user part. */
struct waiting {
	struct sample_record *record; /* owned; NULL: the place is free, its sample was delivered */
	uint64_t ticket;
	uint32_t next; /* place of the next sample with the same ticket */
};

struct join {
	join_deliver_fn deliver;
	void *data;
	struct waiting *places;
	size_t n_places;
	size_t oldest, n_used; /* places from the oldest on, free ones among them counted */
	struct hash_index by_ticket; /* to the first place of a ticket */
	struct user_record *recent[N_RECENT]; /* owned */
	size_t next_recent;
	struct join_counts counts;
};

int join_new(size_t max_waiting, join_deliver_fn deliver, void *data, struct join **ret)
{
	struct join *join = calloc(1, sizeof *join);
	if (!join)
		return -ENOMEM;
	join->places = calloc(max_waiting, sizeof *join->places);
	if (!join->places) {
		free(join);
		return -ENOMEM;
	}
	join->n_places = max_waiting;
	join->deliver = deliver;
	join->data = data;
	*ret = join;
	return 0;
}

void join_free(struct join *join)
{
	if (!join)
		return;
	for (size_t i = 0; i < join->n_places; i++)
		free(join->places[i].record);
	for (size_t i = 0; i < N_RECENT; i++)
		free(join->recent[i]);
	hash_index_deinit(&join->by_ticket);
	free(join->places);
	free(join);
}

struct join_counts join_counts(const struct join *join)
{
	return join->counts;
}

_Static_assert(SAMPLE_FRAMES_MAX == MAX_FRAMES + USER_FRAMES_MAX + 2, "bpf/records.h");

/* ---- one whole sample ------------------------------------------------------------------------ */

static uint32_t add_kernel_frames(const struct sample_record *r, struct frame *frames)
{
	uint32_t n = MIN(r->n_kernel, MAX_FRAMES);
	for (uint32_t i = 0; i < n; i++) {
		frames[i] = (struct frame){
			.address = r->kernel[i],
			.kind = FRAME_KERNEL,
			.flags = i ? FRAME_RETURN : 0,
		};
	}
	return n;
}

static uint32_t n_frames_of(const struct user_record *r)
{
	return MIN(r->n_frames, USER_FRAMES_MAX + 1);
}

/* The first frame is the leaf: its address is where it was. */
static uint8_t flags_of(uint8_t kind, uint32_t i)
{
	uint8_t flags = i && !(kind & USER_FRAME_EXACT) ? FRAME_RETURN : 0;
	return kind & USER_FRAME_GUESSED ? flags | FRAME_GUESSED : flags;
}

static uint32_t add_user_frames(const struct user_record *r, struct frame *frames, uint32_t *checks)
{
	static const uint8_t kinds[] = {
		[USER_FRAME_FILE] = FRAME_FILE,
		[USER_FRAME_CODE] = FRAME_JIT,
		[USER_FRAME_RAW] = FRAME_RAW,
	};
	const struct user_frame *from = (const struct user_frame *)(r + 1);
	uint32_t n = n_frames_of(r);
	for (uint32_t i = 0; i < n; i++) {
		const struct user_frame *u = &from[i];
		uint8_t kind = u->kind & USER_FRAME_KINDS;
		bool has_file = kind == USER_FRAME_FILE;
		checks[i] = has_file ? u->check : u->file;
		frames[i] = (struct frame){
			.address = u->value,
			.file = has_file ? u->file : 0,
			.kind = kind < ARRAY_SIZE(kinds) ? kinds[kind] : FRAME_RAW,
			.flags = flags_of(u->kind, i),
			.reason = u->reason,
		};
	}
	return n;
}

static int deliver(struct join *join, const struct sample_record *r, const struct user_record *user,
		   enum mw_reason reason)
{
	struct frame frames[SAMPLE_FRAMES_MAX];
	uint32_t checks[ARRAY_SIZE(frames)] = {};
	uint32_t n = add_kernel_frames(r, frames);
	if (user)
		n += add_user_frames(user, frames + n, checks + n);
	else if (reason)
		frames[n++] = (struct frame){.kind = FRAME_RAW, .reason = (uint8_t)reason};

	struct sample sample = {
		.time = r->time,
		.value = r->period,
		.task = {r->pid, r->tid, r->start_time, r->exec_count, 0},
		.cgroup = r->cgroup,
		.mount_namespace = r->mount_namespace,
		.image = r->image,
		.sequence = r->sequence,
		.cpu = r->cpu,
		.event = r->event,
		.frames = frames,
		.checks = checks,
		.n_frames = n,
	};
	memcpy(sample.command, r->command, sizeof sample.command);
	sample.command[sizeof sample.command - 1] = '\0';
	join->counts.delivered++;
	return join->deliver(join->data, &sample);
}

/* ---- samples that wait ----------------------------------------------------------------------- */

static bool has_ticket(const void *context, uint32_t place, const void *key)
{
	const struct join *join = context;
	return join->places[place].ticket == *(const uint64_t *)key;
}

static uint32_t first_place(const struct join *join, uint64_t ticket)
{
	uint32_t place = hash_index_find(&join->by_ticket, hash_u64(ticket), has_ticket, join,
					 &ticket);
	return place == HASH_INDEX_NONE ? NO_PLACE : place;
}

/* Delivers every sample with this ticket and frees their places. */
static int deliver_ticket(struct join *join, uint32_t place, const struct user_record *user)
{
	hash_index_remove(&join->by_ticket, hash_u64(join->places[place].ticket), place);
	int result = 0;
	while (place != NO_PLACE) {
		struct waiting *w = &join->places[place];
		_cleanup_free_ struct sample_record *record = take_ptr(w->record);
		if (!user)
			join->counts.without_user++;
		int r = deliver(join, record, user, MW_REASON_NO_USER_STACK);
		if (r < 0)
			result = r;
		place = w->next;
	}
	return result;
}

/* Frees the oldest place, with its sample if that is still there. */
static int drop_oldest(struct join *join)
{
	int r = 0;
	struct waiting *w = &join->places[join->oldest];
	if (w->record)
		r = deliver_ticket(join, first_place(join, w->ticket), NULL);
	join->oldest = (join->oldest + 1) % join->n_places;
	join->n_used--;
	return r;
}

static int wait_for_user(struct join *join, const struct sample_record *r)
{
	while (join->n_used && (join->n_used == join->n_places ||
				!join->places[join->oldest].record)) {
		int result = drop_oldest(join);
		if (result < 0)
			return result;
	}
	size_t size = sizeof *r - sizeof r->kernel + MIN(r->n_kernel, MAX_FRAMES) * sizeof r->kernel[0];
	_cleanup_free_ struct sample_record *copy = malloc(sizeof *copy);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, r, size);

	uint32_t place = (uint32_t)((join->oldest + join->n_used) % join->n_places);
	uint32_t first = first_place(join, r->ticket);
	if (first != NO_PLACE) { /* behind the first: their order does not matter */
		join->places[place].next = join->places[first].next;
		join->places[first].next = place;
	} else {
		int result = hash_index_add(&join->by_ticket, hash_u64(r->ticket), place);
		if (result < 0)
			return result;
		join->places[place].next = NO_PLACE;
	}
	join->places[place].ticket = r->ticket;
	join->places[place].record = take_ptr(copy);
	join->n_used++;
	return 0;
}

static const struct user_record *find_recent(const struct join *join, uint64_t ticket)
{
	for (size_t i = 0; i < N_RECENT; i++) {
		if (join->recent[i] && join->recent[i]->ticket == ticket)
			return join->recent[i];
	}
	return NULL;
}

int join_sample(struct join *join, const struct sample_record *record)
{
	if (!record->ticket)
		return deliver(join, record, NULL, record->user_reason);
	const struct user_record *user = find_recent(join, record->ticket);
	return user ? deliver(join, record, user, MW_REASON_NONE) : wait_for_user(join, record);
}

int join_user(struct join *join, const struct user_record *record)
{
	struct user_record **recent = &join->recent[join->next_recent];
	join->next_recent = (join->next_recent + 1) % N_RECENT;
	free(take_ptr(*recent));
	size_t size = sizeof *record + n_frames_of(record) * sizeof(struct user_frame);
	if (!(*recent = malloc(size)))
		return -ENOMEM;
	memcpy(*recent, record, size);

	uint32_t place = first_place(join, record->ticket);
	return place == NO_PLACE ? 0 : deliver_ticket(join, place, record);
}

int join_flush(struct join *join)
{
	int result = 0;
	while (join->n_used) {
		int r = drop_oldest(join);
		if (r < 0)
			result = r;
	}
	return result;
}
