/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/undecided.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define MAX_WAITING 8192

/* A sample waits for this long at most, counted from itself. */
#define PATIENCE_NS UINT64_C(2000000000)
/* Samples wait so long for the proof of what was mapped: two ticks at least. */
#define PROOF_NS     UINT64_C(250000000)

struct waiting {
	struct sample sample;
	struct frame *frames; /* owned */
	uint32_t *checks;     /* owned */
};

struct undecided {
	struct undecided_options o;
	VEC(struct waiting) waiting;
	uint64_t overflows;
};

int undecided_new(const struct undecided_options *options, struct undecided **ret)
{
	struct undecided *u = calloc(1, sizeof *u);
	if (!u)
		return -ENOMEM;
	u->o = *options;
	*ret = u;
	return 0;
}

void undecided_free(struct undecided *u)
{
	if (!u)
		return;
	vec_foreach(w, &u->waiting) {
		free(w->frames);
		free(w->checks);
	}
	vec_deinit(&u->waiting);
	free(u);
}

uint64_t undecided_overflows(const struct undecided *u)
{
	return u->overflows;
}

size_t undecided_waiting(const struct undecided *u)
{
	return u->waiting.n;
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

/* The frame was in this mapping. 1: decided, 0: it is not known yet what was in its file, or -ENOMEM. */
static int set_area(struct undecided *u, const struct sample *sample, const struct mapping *m,
		    struct frame *f, bool is_last_time)
{
	if (!m->inode && strcmp(m->name, "[vdso]") == 0) {
		f->kind = FRAME_FILE;
		f->file = u->o.vdso;
		f->address -= m->start;
		return 1;
	}
	uint32_t file;
	int answer = areas_find(u->o.areas, sample, m, &file);
	if (answer == AREA_LATER && is_last_time)
		answer = AREA_RACED;
	switch (answer) {
	case AREA_FOUND:
		f->kind = FRAME_FILE;
		f->file = file;
		f->address = f->address - m->start + m->offset;
		return 1;
	case AREA_CODE:
		f->kind = FRAME_JIT;
		f->file = file;
		return 1;
	case AREA_LATER:
		return 0;
	case AREA_RACED:
		set_reason(f, MW_REASON_RACED);
		return 1;
	}
	return answer;
}

/* 1: decided, 0: proof may still come, or -ENOMEM. */
static int decide(struct undecided *u, const struct sample *sample, struct frame *f,
		  bool is_last_time)
{
	const struct mapping *m;
	bool is_leaf = !(f->flags & FRAME_RETURN);
	enum image_proof proof = images_find(u->o.images, sample, f->address, &m);
	if (proof == IMAGE_GONE) {
		set_reason(f, MW_REASON_FILE_GONE);
		return 1;
	}
	bool is_code = m && m->protection & MAP_EXECUTE;
	/* If there is no later look at the program by now, there will be none: the process is gone. */
	if (proof == IMAGE_PROVED || (proof == IMAGE_PROGRAM && is_last_time)) {
		if (is_code)
			return set_area(u, sample, m, f, is_last_time);
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

/* How far a sample may go on waiting. */
enum patience {
	FIRST_TIME,
	LATER,	   /* for the bytes of memory, no longer for what is mapped */
	LAST_TIME, /* for nothing */
};

/*
 * What was mapped at the sample cannot be told any more, but what its bytes were: if memory of now would
 * have been named by them, so is the frame.
 */
static int infer_raced(struct undecided *u, const struct sample *sample, struct frame *f,
		       uint32_t check)
{
	struct frame as_code = *f;
	as_code.kind = FRAME_JIT;
	as_code.reason = MW_REASON_NONE;
	int r = inferred_decide(u->o.inferred, sample, check, &as_code);
	if (r == INFERRED_YES)
		*f = as_code;
	return r;
}

/* 1: decided, 0: not yet, or -ENOMEM. */
static int decide_place(struct undecided *u, const struct sample *sample, struct frame *f,
			uint32_t check, enum patience patience)
{
	struct frame before = *f;
	int r = is_undecided(f) ? decide(u, sample, f, patience != FIRST_TIME) : 1;
	if (r <= 0 || !check)
		return r;
	bool is_raced = is_undecided(&before) && f->reason == MW_REASON_RACED;
	r = is_raced ? infer_raced(u, sample, f, check)
		     : inferred_decide(u->o.inferred, sample, check, f);
	if (r != INFERRED_WAIT || patience == LAST_TIME)
		return r < 0 ? r : 1;
	if (is_raced)
		*f = before; /* it is to be decided again */
	return 0;
}

static int decide_frame(struct undecided *u, const struct sample *sample, struct frame *f,
			uint32_t check, enum patience patience)
{
	int r = decide_place(u, sample, f, check, patience);
	if (r <= 0)
		return r;
	return code_names_decide(u->o.code_names, sample, check, patience == LAST_TIME, f);
}

/* True if all frames are decided. Negative: -ENOMEM. */
static int decide_all(struct undecided *u, const struct sample *sample, struct frame *frames,
		      enum patience patience)
{
	int all = 1;
	for (uint32_t i = 0; i < sample->n_frames; i++) {
		uint32_t check = sample->checks ? sample->checks[i] : 0;
		int r = decide_frame(u, sample, &frames[i], check, patience);
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
	return u->o.decided(u->o.data, sample, frames);
}

static int wait(struct undecided *u, const struct sample *sample, const struct frame *frames)
{
	_cleanup_free_ struct frame *copy = calloc(sample->n_frames, sizeof *copy);
	_cleanup_free_ uint32_t *checks = calloc(sample->n_frames, sizeof *checks);
	if (!copy || !checks)
		return -ENOMEM;
	memcpy(copy, frames, sample->n_frames * sizeof *copy);
	if (sample->checks)
		memcpy(checks, sample->checks, sample->n_frames * sizeof *checks);
	struct waiting w = {.sample = *sample, .frames = copy, .checks = checks};
	w.sample.checks = checks;
	int r = vec_push(&u->waiting, w);
	if (r == 0) {
		copy = NULL;
		checks = NULL;
	}
	return r;
}

int undecided_take(struct undecided *u, const struct sample *sample)
{
	struct frame frames[SAMPLE_FRAMES_MAX];
	struct sample copy = *sample;
	copy.n_frames = MIN(sample->n_frames, SAMPLE_FRAMES_MAX);
	memcpy(frames, sample->frames, copy.n_frames * sizeof frames[0]);
	bool is_full = u->waiting.n >= MAX_WAITING;
	int r = decide_all(u, &copy, frames, is_full ? LAST_TIME : FIRST_TIME);
	if (r == 0 && !is_full)
		return wait(u, &copy, frames);
	u->overflows += is_full;
	return r < 0 ? r : deliver(u, &copy, frames);
}

static bool has_undecided(const struct waiting *w)
{
	for (uint32_t i = 0; i < w->sample.n_frames; i++) {
		if (is_undecided(&w->frames[i]))
			return true;
	}
	return false;
}

/* 1: delivered, 0: it waits on, or -errno. */
static int go_on(struct undecided *u, struct waiting *w, uint64_t latest, enum patience patience)
{
	if (has_undecided(w))
		images_refresh(u->o.images, &w->sample, latest);
	uint64_t age = clock_now_ns() - w->sample.time;
	bool is_over = age > PATIENCE_NS;
	/* The look of this moment is proved by samples to come. */
	if (w->sample.sequence && age < PROOF_NS && patience == LATER)
		patience = FIRST_TIME;
	int r = decide_all(u, &w->sample, w->frames, is_over ? LAST_TIME : patience);
	if (r == 0)
		return 0;
	if (r > 0)
		r = deliver(u, &w->sample, w->frames);
	free(w->frames);
	free(w->checks);
	return r < 0 ? r : 1;
}

static int go_on_all(struct undecided *u, enum patience patience)
{
	int result = 0;
	uint64_t latest = 0;
	size_t kept = 0;
	vec_foreach(w, &u->waiting)
		latest = MAX(latest, w->sample.time);
	vec_foreach(w, &u->waiting) {
		int r = go_on(u, w, latest, patience);
		if (r == 0)
			u->waiting.items[kept++] = *w;
		else if (r < 0)
			result = r;
	}
	u->waiting.n = kept;
	return result;
}

int undecided_tick(struct undecided *u)
{
	return go_on_all(u, LATER);
}

int undecided_finish(struct undecided *u)
{
	return go_on_all(u, LAST_TIME);
}
