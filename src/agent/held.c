/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/held.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* A container's files are read within some tenths of a second. This is a second of 99 Hz on 100 CPUs. */
#define MAX_BYTES ((size_t)8 << 20)

struct item {
	struct sample sample;
	struct frame *frames; /* owned */
};

struct held {
	const struct places *places;
	held_deliver_fn deliver;
	void *data;
	VEC(struct item) items;
	size_t bytes;
	struct held_counts counts;
};

int held_new(const struct places *places, held_deliver_fn deliver, void *data, struct held **ret)
{
	struct held *h = calloc(1, sizeof *h);
	if (!h)
		return -ENOMEM;
	h->places = places;
	h->deliver = deliver;
	h->data = data;
	*ret = h;
	return 0;
}

void held_free(struct held *h)
{
	if (!h)
		return;
	vec_foreach(item, &h->items)
		free(item->frames);
	vec_deinit(&h->items);
	free(h);
}

struct held_counts held_get_counts(const struct held *h)
{
	return h->counts;
}

static size_t bytes_of(const struct sample *sample)
{
	return sizeof(struct item) + sample->n_frames * sizeof *sample->frames;
}

static int hold(struct held *h, const struct sample *sample)
{
	if (h->bytes + bytes_of(sample) > MAX_BYTES) {
		h->counts.lost++;
		return 0;
	}
	size_t size = sample->n_frames * sizeof *sample->frames;
	_cleanup_free_ struct frame *copy = malloc(size ? size : 1);
	if (!copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, sample->frames, size);
	struct item item = {.sample = *sample, .frames = copy};
	item.sample.frames = copy;
	int r = vec_push(&h->items, item);
	if (r < 0)
		return r;
	copy = NULL;
	h->bytes += bytes_of(sample);
	return 0;
}

int held_take(struct held *h, const struct sample *sample)
{
	switch (places_verdict(h->places, sample->cgroup, sample->mount_namespace)) {
	case PLACES_WANTED:
		return h->deliver(h->data, sample);
	case PLACES_UNDECIDED:
		return hold(h, sample);
	case PLACES_OTHER:
		h->counts.other++;
	}
	return 0;
}

int held_go_on(struct held *h)
{
	size_t kept = 0;
	int result = 0;
	for (size_t i = 0; i < h->items.n; i++) {
		struct item *item = &h->items.items[i];
		const struct sample *s = &item->sample;
		enum places_verdict verdict =
			places_verdict(h->places, s->cgroup, s->mount_namespace);
		if (verdict == PLACES_UNDECIDED) {
			h->items.items[kept++] = *item;
			continue;
		}
		if (verdict == PLACES_OTHER)
			h->counts.other++;
		int r = verdict == PLACES_WANTED ? h->deliver(h->data, s) : 0;
		if (r < 0)
			result = r;
		h->bytes -= bytes_of(s);
		free(item->frames);
	}
	h->items.n = kept;
	return result;
}
