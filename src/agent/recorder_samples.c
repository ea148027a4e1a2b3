/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of a sample: its files become the profile's, its place is found, what is undecided is decided. */
#include "agent/recorder_state.h"
#include "base/cleanup.h"

#include <string.h>

int recorder_on_file(void *data, const struct file_sighting *sighting)
{
	struct recorder *r = data;
	/* It may be what was executed a moment ago, and may be gone already: that notice is first. */
	int result = recorder_take_executed(r);
	return result < 0 ? result : first_sight_add(r->first_sight, sighting);
}

int recorder_on_table_wanted(void *data, uint32_t number)
{
	struct recorder *r = data;
	first_sight_want_table(r->first_sight, number);
	return 0;
}

void recorder_on_table(void *data, uint32_t sampler_number, const struct mw_file_id *store_id)
{
	struct recorder *r = data;
	struct mw_error e;
	int fd = store_id ? store_open_part(r->store, store_id, STORE_UNWIND, NULL, &e) : -1;
	if (store_id && fd < 0)
		log_debug(r->o->log, "unwinding table: %s", e.msg);
	sampler_supply(r->sampler, sampler_number, fd < 0 ? NULL : store_id, fd < 0 ? -1 : fd);
}

/* The sampler's file numbers to the profile's. */
static int translate_frame(struct recorder *r, const struct sample *sample, struct frame *f)
{
	if (f->kind == FRAME_JIT)
		return areas_find_code(r->areas, sample, f->address, &f->file);
	if (f->kind != FRAME_FILE)
		return 0;
	f->file = first_sight_profile_file(r->first_sight, f->file);
	if (f->file == UINT32_MAX) {
		f->kind = FRAME_RAW;
		if (f->reason == MW_REASON_NONE)
			f->reason = MW_REASON_EVICTED;
	} else if (!first_sight_is_settled(r->first_sight, f->file, sample->time)) {
		*f = (struct frame){.kind = FRAME_RAW, .flags = f->flags, .reason = MW_REASON_RACED};
	}
	return 0;
}

int recorder_on_sample(void *data, const struct sample *sample)
{
	struct recorder *r = data;
	struct frame frames[SAMPLE_FRAMES_MAX];
	uint64_t cgroup;
	enum places_verdict verdict;
	int seen = places_see(r->places, sample, &cgroup, &verdict);
	if (seen < 0)
		return seen;
	if (verdict == PLACES_OTHER) {
		r->other_places++;
		return 0;
	}
	uint32_t n = MIN(sample->n_frames, ARRAY_SIZE(frames));
	memcpy(frames, sample->frames, n * sizeof frames[0]);
	for (uint32_t i = 0; i < n; i++) {
		int failure = translate_frame(r, sample, &frames[i]);
		if (failure < 0)
			return failure;
	}
	struct sample translated = *sample;
	translated.frames = frames;
	translated.n_frames = n;
	translated.cgroup = cgroup;
	if (r->inventory)
		inventory_see(r->inventory, sample);
	roots_touch(r->roots, sample->mount_namespace);
	if (r->exec_watch)
		exec_watch_see_namespace(r->exec_watch, sample->mount_namespace, sample->task.pid);
	return undecided_take(r->undecided, &translated);
}

int recorder_add_sample(void *data, const struct sample *sample)
{
	struct recorder *r = data;
	int result = profile_add_sample(r->profile, sample);
	return result < 0 ? result : 0;
}

int recorder_on_decided(void *data, struct sample *sample, struct frame *frames)
{
	struct recorder *r = data;
	return r->held ? held_take(r->held, sample) : recorder_add_sample(r, sample);
}
