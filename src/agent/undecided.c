/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/undecided.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

#define MAX_FRAMES  512
#define MAX_WAITING 8192

struct waiting {
	struct sample sample;
	struct frame *frames; /* owned */
};

struct undecided {
	struct areas *areas;
	struct images *images;
	uint32_t vdso;
	decided_fn decided;
	void *data;
	VEC(struct waiting) waiting;
	uint64_t overflows;
};

int undecided_new(struct areas *areas, struct images *images, uint32_t vdso, decided_fn decided,
		  void *data, struct undecided **ret)
{
	struct undecided *u = calloc(1, sizeof *u);
	if (!u)
		return -ENOMEM;
	u->areas = areas;
	u->images = images;
	u->vdso = vdso;
	u->decided = decided;
	u->data = data;
	*ret = u;
	return 0;
}

void undecided_free(struct undecided *u)
{
	if (!u)
		return;
	vec_foreach(w, &u->waiting)
		free(w->frames);
	vec_deinit(&u->waiting);
	free(u);
}

uint64_t undecided_overflows(const struct undecided *u)
{
	return u->overflows;
}

static bool is_undecided(const struct frame *f)
{
	return f->kind == FRAME_RAW && f->reason == MW_REASON_NONE;
}

/* ---- one frame ------------------------------------------------------------------------------- */

static void set_reason(struct frame *f, enum mw_reason reason)
{
	f->reason = (uint8_t)reason;
	if (reason == MW_REASON_BROKEN_UNWIND)
		f->address = 0; /* made up: it says nothing, and each would make another stack */
}

static int set_area(struct undecided *u, const struct sample *sample, const struct mapping *m,
		    struct frame *f)
{
	if (strcmp(m->name, "[vdso]") == 0) {
		f->kind = FRAME_FILE;
		f->file = u->vdso;
		f->address -= m->start;
		return 0;
	}
	f->kind = m->inode ? FRAME_FILE : FRAME_JIT;
	if (m->inode)
		f->address = f->address - m->start + m->offset;
	return areas_find(u->areas, sample, m, &f->file);
}

/* 1: decided, 0: proof may still come, or -ENOMEM. */
static int decide(struct undecided *u, const struct sample *sample, struct frame *f,
		  bool is_last_time)
{
	const struct mapping *m;
	bool is_leaf = !(f->flags & FRAME_RETURN);
	enum image_proof proof = images_find(u->images, sample, f->address, &m);
	if (proof == IMAGE_GONE) {
		set_reason(f, MW_REASON_FILE_GONE);
		return 1;
	}
	bool is_code = m && m->protection & MAP_EXECUTE;
	if (proof == IMAGE_PROVED) {
		if (is_code) {
			int r = set_area(u, sample, m, f);
			return r < 0 ? r : 1;
		}
		set_reason(f, !is_leaf ? MW_REASON_BROKEN_UNWIND
			      : m	? MW_REASON_GHOST
					: MW_REASON_NO_MAPPING);
		return 1;
	}
	if (!is_last_time)
		return 0;
	set_reason(f, !is_leaf && !is_code ? MW_REASON_BROKEN_UNWIND : MW_REASON_RACED);
	return 1;
}

/* ---- whole samples --------------------------------------------------------------------------- */

/* What lies above a frame that is not in code was made up by frame pointers that are none. */
static uint32_t cut_behind_broken(const struct frame *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (frames[i].reason == MW_REASON_BROKEN_UNWIND)
			return i + 1;
	}
	return n;
}

/* True if all frames are decided. Negative: -ENOMEM. */
static int decide_all(struct undecided *u, const struct sample *sample, struct frame *frames,
		      bool is_last_time)
{
	int all = 1;
	for (uint32_t i = 0; i < sample->n_frames; i++) {
		if (!is_undecided(&frames[i]))
			continue;
		int r = decide(u, sample, &frames[i], is_last_time);
		if (r < 0)
			return r;
		if (r == 0)
			all = 0;
		else if (frames[i].reason == MW_REASON_BROKEN_UNWIND)
			break;
	}
	return all;
}

static int deliver(struct undecided *u, struct sample *sample, struct frame *frames)
{
	sample->frames = frames;
	sample->n_frames = cut_behind_broken(frames, sample->n_frames);
	return u->decided(u->data, sample, frames);
}

static int wait(struct undecided *u, const struct sample *sample, const struct frame *frames)
{
	size_t size = sample->n_frames * sizeof *frames;
	_cleanup_free_ struct frame *copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, frames, size);
	struct waiting w = {.sample = *sample, .frames = copy};
	int r = vec_push(&u->waiting, w);
	if (r == 0)
		copy = NULL;
	return r;
}

int undecided_take(struct undecided *u, const struct sample *sample)
{
	struct frame frames[MAX_FRAMES];
	struct sample copy = *sample;
	copy.n_frames = MIN(sample->n_frames, MAX_FRAMES);
	memcpy(frames, sample->frames, copy.n_frames * sizeof frames[0]);
	bool is_full = u->waiting.n >= MAX_WAITING;
	int r = decide_all(u, &copy, frames, is_full);
	if (r == 0 && !is_full)
		return wait(u, &copy, frames);
	u->overflows += is_full;
	return r < 0 ? r : deliver(u, &copy, frames);
}

int undecided_tick(struct undecided *u)
{
	int result = 0;
	uint64_t latest = 0;
	vec_foreach(w, &u->waiting)
		latest = MAX(latest, w->sample.time);
	vec_foreach(w, &u->waiting) {
		images_refresh(u->images, &w->sample, latest);
		_cleanup_free_ struct frame *frames = w->frames;
		int r = decide_all(u, &w->sample, frames, true);
		if (r >= 0)
			r = deliver(u, &w->sample, frames);
		if (r < 0)
			result = r;
	}
	u->waiting.n = 0;
	return result;
}
