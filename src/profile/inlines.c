/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/inlines.h"

#include <errno.h>
#include <string.h>

#define MAX_FRAMES ((size_t)64 << 20)
#define MAX_NODES  ((size_t)256 << 20)

struct expansion {
	struct profile *p;
	uint32_t *first;      /* by frame: the first of its inlined calls, the outermost one */
	uint32_t *node_of;    /* by node: where its stack is now */
	uint16_t *depth;      /* by new node */
	size_t n_frames;      /* before */
	VEC(struct profile_node) nodes;
};

static uint32_t n_inlined(const struct profile_frame *f)
{
	return f->n_lines > 1 ? f->n_lines - 1 : 0;
}

/* How many frames and nodes there would be. */
static int count(const struct expansion *x, size_t *ret_nodes)
{
	const struct profile *p = x->p;
	size_t frames = p->frames.n, nodes = p->nodes.n;
	vec_foreach(f, &p->frames)
		frames += n_inlined(f);
	for (size_t i = 1; i < p->nodes.n; i++)
		nodes += n_inlined(&p->frames.items[p->nodes.items[i].frame]);
	*ret_nodes = nodes;
	return frames > MAX_FRAMES || nodes > MAX_NODES ? -E2BIG : 0;
}

/* The calls that are inlined in a frame, as frames, outermost first. */
static int add_frames(struct expansion *x, size_t number)
{
	struct profile *p = x->p;
	x->first[number] = (uint32_t)p->frames.n;
	uint32_t n = n_inlined(&p->frames.items[number]);
	for (uint32_t i = n; i-- > 0;) {
		struct profile_frame frame = p->frames.items[number];
		frame.at.flags |= FRAME_INLINED;
		frame.name = (struct profile_name){
			.name = p->lines.items[frame.first_line + i].name};
		frame.first_line += i;
		frame.n_lines = 1;
		if (i)
			frame.self_count = frame.self_value = 0;
		int r = vec_push(&p->frames, frame);
		if (r < 0)
			return r;
	}
	if (n) {
		struct profile_frame *f = &p->frames.items[number];
		f->self_count = f->self_value = 0;
		f->first_line += n;
		f->n_lines = 1;
	}
	return 0;
}

static int add_node(struct expansion *x, uint32_t caller, uint32_t frame, uint32_t *ret)
{
	/* What is deeper loses its outer part, as everywhere. */
	if (x->depth[caller] >= PROFILE_DEPTH_MAX)
		caller = 0;
	*ret = (uint32_t)x->nodes.n;
	x->depth[*ret] = (uint16_t)(x->depth[caller] + 1);
	return vec_push(&x->nodes, (struct profile_node){caller, frame});
}

static int expand_node(struct expansion *x, size_t number, const uint32_t *n_calls)
{
	const struct profile_node *old = &x->p->nodes.items[number];
	uint32_t node;
	int r = add_node(x, x->node_of[old->caller], old->frame, &node);
	for (uint32_t i = 0; i < n_calls[old->frame] && r == 0; i++)
		r = add_node(x, node, x->first[old->frame] + i, &node);
	x->node_of[number] = node;
	return r;
}

static int expand(struct expansion *x, size_t n_nodes)
{
	struct profile *p = x->p;
	x->n_frames = p->frames.n;
	x->first = calloc(x->n_frames + 1, sizeof *x->first);
	x->node_of = calloc(p->nodes.n, sizeof *x->node_of);
	x->depth = calloc(n_nodes, sizeof *x->depth);
	uint32_t *n_calls = calloc(x->n_frames + 1, sizeof *n_calls);
	int r = x->first && x->node_of && x->depth && n_calls ? vec_reserve(&x->nodes, n_nodes)
							     : -ENOMEM;
	if (r == 0)
		r = vec_push(&x->nodes, (struct profile_node){});
	for (size_t i = 0; i < x->n_frames && r == 0; i++) {
		n_calls[i] = n_inlined(&p->frames.items[i]);
		r = add_frames(x, i);
	}
	for (size_t i = 1; i < p->nodes.n && r == 0; i++)
		r = expand_node(x, i, n_calls);
	free(n_calls);
	return r;
}

int profile_expand_inlines(struct profile *p)
{
	struct expansion x = {.p = p};
	size_t n_nodes;
	int r = count(&x, &n_nodes);
	if (r == 0)
		r = expand(&x, n_nodes);
	if (r == 0) {
		vec_foreach(sample, &p->samples)
			sample->stack = x.node_of[sample->stack];
		free(p->nodes.items);
		p->nodes.items = x.nodes.items;
		p->nodes.n = x.nodes.n;
		p->nodes.capacity = x.nodes.capacity;
		memset(&x.nodes, 0, sizeof x.nodes);
	}
	vec_deinit(&x.nodes);
	free(x.first);
	free(x.node_of);
	free(x.depth);
	return r;
}
