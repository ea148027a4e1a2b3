/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "space/hole.h"

#include "base/cleanup.h"

#include <string.h>
#include <unistd.h>

/* Mappings that are looked at on each side of the area. */
#define MAX_STEPS    64
#define MAX_SEGMENTS 64
/* No segment is larger: sums of these do not wrap. */
#define MAX_SIZE (UINT64_C(1) << 56)
#define FLAG_EXECUTE 1 /* PF_X */

/* The names by which the kernel shows memory that has an inode. As labels they decide nothing but
 * whether it is worth asking. */
static bool is_only_memory(const struct mapping *m)
{
	static const char *const prefixes[] = {"/memfd:", "/anon_hugepage", "/dev/zero (deleted)",
					       "/SYSV"};
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(m->name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

bool hole_may_be(const struct mapping *area)
{
	return !area->inode ? area->name[0] != '[' || strncmp(area->name, "[anon", 5) == 0
			    : is_only_memory(area);
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* The nearest file below (step -1) or above (1) mapping i; *ret_touches if no gap is between. */
static const struct mapping *next_file(const struct snapshot *s, size_t i, int step,
				       bool *ret_touches)
{
	*ret_touches = true;
	const struct mapping *last = snapshot_get(s, i);
	for (size_t n = 0; n < MAX_STEPS; n++, i += (size_t)step) {
		const struct mapping *m = snapshot_get(s, i + (size_t)step);
		if (!m)
			return NULL;
		*ret_touches &= step < 0 ? m->end == last->start : m->start == last->end;
		if (m->inode && !is_only_memory(m))
			return m;
		last = m;
	}
	return NULL;
}

size_t hole_neighbours(const struct snapshot *s, const struct mapping *area,
		       const struct mapping *ret[HOLE_NEIGHBOURS])
{
	size_t i = snapshot_index(s, area->start), n = 0;
	const struct mapping *found = snapshot_get(s, i);
	bool touches_below, touches_above;
	if (!found || found->start != area->start)
		return 0;
	const struct mapping *below = next_file(s, i, -1, &touches_below);
	const struct mapping *above = next_file(s, i, 1, &touches_above);
	if (below && above && is_same_file(below, above)) {
		ret[0] = below;
		return 1;
	}
	if (below && touches_below)
		ret[n++] = below;
	if (above && touches_above)
		ret[n++] = above;
	return n;
}

/* ---- where the file is loaded ---------------------------------------------------------------- */

/* A file as it is loaded: the segments, and what the kernel adds to their addresses (modulo 2^64). */
struct image {
	const struct meta *about;
	size_t n_segments;
	uint64_t page;
	uint64_t bias;
};

/* The whole pages of the file that a segment maps. */
static bool segment_pages(const struct image *image, size_t i, uint64_t *ret_offset,
			  uint64_t *ret_size, uint64_t *ret_vaddr)
{
	const struct store_segment *s = &image->about->segments.items[i];
	uint64_t head = s->offset % image->page;
	if (!s->file_size || s->file_size > MAX_SIZE || s->vaddr % image->page != head)
		return false;
	*ret_offset = s->offset - head;
	*ret_vaddr = s->vaddr - head;
	*ret_size = (head + s->file_size + image->page - 1) / image->page * image->page;
	return true;
}

/* The bias by which a mapping is of segment i. */
static bool bias_of(const struct image *image, size_t i, const struct mapping *m, uint64_t *ret)
{
	uint64_t offset, size, vaddr;
	if (!segment_pages(image, i, &offset, &size, &vaddr) || m->offset - offset >= size)
		return false;
	*ret = m->start - (m->offset - offset) - vaddr;
	return true;
}

static bool fits(const struct image *image, const struct mapping *m)
{
	uint64_t bias;
	for (size_t i = 0; i < image->n_segments; i++) {
		if (bias_of(image, i, m, &bias) && bias == image->bias)
			return true;
	}
	return false;
}

/* Whether an address is among those that the file takes up from its first segment to its last. */
static bool is_in_image(const struct image *image, uint64_t address)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct store_segment *s = &image->about->segments.items[i];
		low = MIN(low, s->vaddr);
		high = MAX(high, s->vaddr + MIN(MAX(s->file_size, s->mem_size), MAX_SIZE));
	}
	low -= low % image->page;
	return low < high && address - (image->bias + low) < high - low;
}

/* Whether each mapping of the file within its image, near the area, lies where this bias puts it. */
static bool all_fit(const struct image *image, const struct snapshot *s, size_t i,
		    const struct mapping *of_file, int step)
{
	for (size_t n = 0; n < 2 * MAX_STEPS; n++, i += (size_t)step) {
		const struct mapping *m = snapshot_get(s, i + (size_t)step);
		if (!m || !is_in_image(image, m->start))
			return true;
		if (is_same_file(m, of_file) && !fits(image, m))
			return false;
	}
	return true;
}

static size_t fill(const struct image *image, const struct mapping *area, struct hole *ret,
		   size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < image->n_segments && n < max; i++) {
		const struct store_segment *s = &image->about->segments.items[i];
		uint64_t start = image->bias + s->vaddr, end = start + s->file_size;
		if (!(s->flags & FLAG_EXECUTE) || s->file_size > MAX_SIZE || end <= start)
			continue;
		struct hole hole = {.start = MAX(start, area->start), .end = MIN(end, area->end)};
		if (hole.start >= hole.end)
			continue;
		hole.offset = s->offset + (hole.start - start);
		ret[n++] = hole;
	}
	return n;
}

size_t hole_find(const struct snapshot *s, const struct mapping *area,
		 const struct mapping *neighbour, const struct meta *about, struct hole *ret,
		 size_t max)
{
	struct image image = {.about = about,
			      .n_segments = MIN(about->segments.n, (size_t)MAX_SEGMENTS),
			      .page = (uint64_t)sysconf(_SC_PAGESIZE)};
	uint64_t found = 0;
	size_t n = 0, at = snapshot_index(s, area->start);
	for (size_t i = 0; i < image.n_segments; i++) {
		if (!bias_of(&image, i, neighbour, &image.bias) || (n && image.bias == found) ||
		    !all_fit(&image, s, at, neighbour, -1) || !all_fit(&image, s, at, neighbour, 1))
			continue;
		struct hole candidate[MAX_SEGMENTS];
		size_t n_candidate = fill(&image, area, candidate, MIN(max, (size_t)MAX_SEGMENTS));
		if (n && n_candidate) /* it could be loaded at two places */
			return 0;
		if (n_candidate) {
			memcpy(ret, candidate, n_candidate * sizeof *ret);
			n = n_candidate;
			found = image.bias;
		}
	}
	return n;
}
