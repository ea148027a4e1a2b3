/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "space/images.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "content/mapped_file.h"

#include <errno.h>
#include <time.h>

/* Process images held at once; the one least recently used goes first. */
#define N_IMAGES 128

/* A snapshot, and what is known of when it was true. */
struct view {
	struct snapshot *snapshot; /* NULL: there is none */
	uint64_t begun; /* CLOCK_MONOTONIC, before it was read */
	uint64_t done;	/* after it was read */
	uint32_t sequence; /* of the address space in a sample before it */
	bool is_exact; /* a sample after it had the same: nothing changed between the two */
};

struct image {
	uint32_t pid;
	uint32_t exec_count;
	uint64_t start_time;
	uint64_t used; /* 0: the place is free */
	uint64_t sampled; /* time of the latest sample that was asked about */
	uint32_t sequence; /* of that sample */
	struct view before;
	struct view after; /* the latest */
};

struct images {
	const struct proc *proc;
	uint64_t clock;
	struct image images[N_IMAGES];
};

int images_new(const struct proc *proc, struct images **ret)
{
	struct images *images = calloc(1, sizeof *images);
	if (!images)
		return -ENOMEM;
	images->proc = proc;
	*ret = images;
	return 0;
}

static void image_deinit(struct image *image)
{
	snapshot_free(image->before.snapshot);
	snapshot_free(image->after.snapshot);
	*image = (struct image){};
}

void images_free(struct images *images)
{
	if (!images)
		return;
	for (size_t i = 0; i < N_IMAGES; i++)
		image_deinit(&images->images[i]);
	free(images);
}

static bool is_image(const struct image *image, const struct task_key *task)
{
	return image->used && image->pid == task->pid && image->start_time == task->start_time &&
	       image->exec_count == task->exec_count;
}

static struct image *find_place(struct images *images, const struct task_key *task,
				bool *ret_is_new)
{
	struct image *oldest = &images->images[0];
	for (size_t i = 0; i < N_IMAGES; i++) {
		struct image *image = &images->images[i];
		if (is_image(image, task)) {
			image->used = ++images->clock;
			*ret_is_new = false;
			return image;
		}
		if (image->used < oldest->used)
			oldest = image;
	}
	image_deinit(oldest);
	oldest->pid = task->pid;
	oldest->exec_count = task->exec_count;
	oldest->start_time = task->start_time;
	oldest->used = ++images->clock;
	*ret_is_new = true;
	return oldest;
}

/* The image of a sample; *ret_is_new if it was not known. */
static struct image *find_image(struct images *images, const struct sample *sample,
				bool *ret_is_new)
{
	struct image *image = find_place(images, &sample->task, ret_is_new);
	if (sample->time >= image->sampled) {
		image->sampled = sample->time;
		image->sequence = sample->sequence;
	}
	return image;
}

/* Whether the process still is the program that was sampled. */
static bool is_same_program(struct images *images, const struct sample *sample,
			    uint64_t *ret_start_code)
{
	struct proc_image now;
	if (!proc_is_same_process(images->proc, sample->task.pid, sample->task.start_time) ||
	    proc_image(images->proc, sample->task.pid, &now) < 0)
		return false;
	*ret_start_code = now.start_code;
	return !sample->image || (now.start_code ^ now.start_stack) == sample->image;
}

/* What lies at the program's start is the program, unless it mapped another file there. */
static void mark_program(const struct images *images, const struct image *image, uint32_t tid,
			 struct snapshot *snapshot, uint64_t start_code)
{
	const struct mapping *m = snapshot_find(snapshot, start_code);
	struct file_request request = {.pid = image->pid, .tid = tid};
	if (!m || !m->inode)
		return;
	request.map_start = m->start;
	request.map_end = m->end;
	request.key.inode = m->inode;
	request.key.device = m->major << 20 | m->minor;
	if (mapped_file_is_program(images->proc, &request))
		snapshot_mark_program(snapshot, m);
}

static void take(struct images *images, struct image *image, const struct sample *sample)
{
	struct snapshot *snapshot;
	uint64_t start_code;
	uint64_t begun = clock_now_ns();
	if (!is_same_program(images, sample, &start_code) ||
	    snapshot_take(images->proc, image->pid, sample->task.tid, &snapshot) < 0)
		return;
	mark_program(images, image, sample->task.tid, snapshot, start_code);
	if (!is_same_program(images, sample, &start_code)) { /* it became another while we read */
		snapshot_free(snapshot);
		return;
	}
	snapshot_free(image->before.snapshot);
	image->before = image->after;
	image->after = (struct view){snapshot, begun, clock_now_ns(), image->sequence, false};
}

bool images_is_same_program(struct images *images, const struct sample *sample)
{
	uint64_t start_code;
	return is_same_program(images, sample, &start_code);
}

const struct snapshot *images_snapshot(struct images *images, const struct sample *sample)
{
	bool is_new;
	struct image *image = find_image(images, sample, &is_new);
	if (is_new)
		take(images, image, sample);
	return image->after.snapshot;
}

void images_refresh(struct images *images, const struct sample *sample, uint64_t since)
{
	bool is_new;
	struct image *image = find_image(images, sample, &is_new);
	if (is_new || image->after.begun < since)
		take(images, image, sample);
}

static bool is_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a && b && a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->protection == b->protection;
}

/* Whether the view shows the address space as it was at the sample. */
static bool is_exact(struct view *view, const struct sample *sample)
{
	if (!view->snapshot || sample->sequence & 1 || view->sequence != sample->sequence)
		return false;
	view->is_exact |= sample->time > view->done;
	return view->is_exact;
}

/*
 * Seen before and after: for kernels that do not count the changes. A mapping that went and came back
 * meanwhile would not show.
 */
static bool is_seen_around(const struct image *image, const struct sample *sample,
			   uint64_t address, const struct mapping *m)
{
	if (!image->before.snapshot || image->before.begun > sample->time ||
	    image->after.begun < sample->time)
		return false;
	const struct mapping *earlier = snapshot_find(image->before.snapshot, address);
	return m ? is_same_mapping(m, earlier) : !earlier;
}

/* Programs that copy their text over itself make it memory without a file: seen after, it still is. */
static enum image_proof prove(const struct image *image, const struct sample *sample,
			      uint64_t address, const struct mapping *m)
{
	if (m && m->is_program)
		return image->after.begun < sample->time ? IMAGE_PROGRAM : IMAGE_PROVED;
	if (sample->sequence)
		return IMAGE_SEEN;
	return is_seen_around(image, sample, address, m) ? IMAGE_PROVED : IMAGE_SEEN;
}

enum image_proof images_find(struct images *images, const struct sample *sample, uint64_t address,
			     const struct mapping **ret)
{
	bool is_new;
	struct image *image = find_image(images, sample, &is_new);
	if (is_new)
		take(images, image, sample);
	*ret = NULL;
	if (!image->after.snapshot)
		return IMAGE_GONE;
	bool after_is_exact = sample->sequence && is_exact(&image->after, sample);
	bool before_is_exact = sample->sequence && is_exact(&image->before, sample);
	const struct view *view = !after_is_exact && before_is_exact ? &image->before : &image->after;
	*ret = snapshot_find(view->snapshot, address);
	if (after_is_exact || before_is_exact)
		return IMAGE_PROVED;
	return prove(image, sample, address, *ret);
}
