/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "space/images.h"

#include "base/cleanup.h"

#include <errno.h>
#include <time.h>

/* Process images held at once; the one least recently used goes first. */
#define N_IMAGES 128

struct image {
	uint32_t pid;
	uint32_t exec_count;
	uint64_t start_time;
	uint64_t used; /* 0: the place is free */
	uint64_t start_code;
	struct snapshot *before; /* NULL: there is none yet */
	struct snapshot *after;  /* the latest; NULL: none could be taken */
	uint64_t before_time;
	uint64_t after_time;
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
	snapshot_free(image->before);
	snapshot_free(image->after);
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

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_image(const struct image *image, const struct task_key *task)
{
	return image->used && image->pid == task->pid && image->start_time == task->start_time &&
	       image->exec_count == task->exec_count;
}

/* The place of an image; *ret_is_new if it was not known. */
static struct image *find_image(struct images *images, const struct task_key *task,
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

static void take(struct images *images, struct image *image, const struct sample *sample)
{
	struct snapshot *snapshot;
	uint64_t start_code;
	uint64_t time = now_ns(); /* before the reading: what it shows may be later, never earlier */
	if (!is_same_program(images, sample, &start_code) ||
	    snapshot_take(images->proc, image->pid, sample->task.tid, &snapshot) < 0)
		return;
	if (!is_same_program(images, sample, &start_code)) { /* it became another while we read */
		snapshot_free(snapshot);
		return;
	}
	snapshot_free(image->before);
	image->before = image->after;
	image->before_time = image->after_time;
	image->after = snapshot;
	image->after_time = time;
	image->start_code = start_code;
}

bool images_is_same_program(struct images *images, const struct sample *sample)
{
	uint64_t start_code;
	return is_same_program(images, sample, &start_code);
}

const struct snapshot *images_snapshot(struct images *images, const struct sample *sample)
{
	bool is_new;
	struct image *image = find_image(images, &sample->task, &is_new);
	if (is_new)
		take(images, image, sample);
	return image->after;
}

void images_refresh(struct images *images, const struct sample *sample, uint64_t since)
{
	bool is_new;
	struct image *image = find_image(images, &sample->task, &is_new);
	if (is_new || image->after_time < since)
		take(images, image, sample);
}

static bool is_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a && b && a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->protection == b->protection;
}

/* Programs that copy their text over itself make it memory without a file: seen after, it still is. */
static enum image_proof prove(const struct image *image, const struct sample *sample,
			      uint64_t address, const struct mapping *m)
{
	if (m && m->inode && image->start_code >= m->start && image->start_code < m->end)
		return image->after_time < sample->time ? IMAGE_PROGRAM : IMAGE_PROVED;
	if (!image->before || image->before_time > sample->time || image->after_time < sample->time)
		return IMAGE_SEEN;
	const struct mapping *earlier = snapshot_find(image->before, address);
	bool is_proved = m ? is_same_mapping(m, earlier) : !earlier;
	return is_proved ? IMAGE_PROVED : IMAGE_SEEN;
}

enum image_proof images_find(struct images *images, const struct sample *sample, uint64_t address,
			     const struct mapping **ret)
{
	bool is_new;
	struct image *image = find_image(images, &sample->task, &is_new);
	if (is_new)
		take(images, image, sample);
	*ret = image->after ? snapshot_find(image->after, address) : NULL;
	if (!image->after)
		return IMAGE_GONE;
	return prove(image, sample, address, *ret);
}
