/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/call_tree.h"

/* A stack node and what of its weight counts here. */
struct part {
	uint64_t weight;
	uint32_t node;
	uint32_t label;
	bool ends_in_row; /* its weight is that of the stacks that end in the row */
};

typedef VEC(struct part) part_list;

struct builder {
	const struct call_source *source;
	struct call_tree *tree;
	bool inwards;
	part_list parts;            /* of all calls, one set after the other */
	VEC(struct part_set) sets;  /* by call */
};

struct part_set {
	size_t start, n;
};

void call_tree_deinit(struct call_tree *t)
{
	vec_deinit(&t->calls);
}

static uint32_t frame_of(const struct builder *b, uint32_t node)
{
	return b->source->p->nodes.items[node].frame;
}

static int add_part(struct builder *b, uint32_t node, uint64_t weight, bool ends_in_row)
{
	if (!weight)
		return 0;
	struct part part = {weight, node, b->source->calls[frame_of(b, node)], ends_in_row};
	return vec_push(&b->parts, part);
}

/* What of a node's weight counts in a tree that goes inwards. */
static uint64_t weight_inwards(const struct builder *b, uint32_t node, bool ends_in_row)
{
	uint64_t ending = b->source->scratch->total[node];
	return ends_in_row ? ending : b->source->sums->total[node] - ending;
}

static int add_next_parts(struct builder *b, struct part part)
{
	if (!b->inwards) {
		uint32_t caller = b->source->p->nodes.items[part.node].caller;
		return caller ? add_part(b, caller, part.weight, false) : 0;
	}
	const struct stack_children *c = b->source->children;
	for (uint32_t node = c->first[part.node]; node; node = c->next[node]) {
		uint64_t weight = weight_inwards(b, node, part.ends_in_row);
		int r = add_part(b, node, weight, part.ends_in_row);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_label(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return x->label < y->label ? -1 : x->label > y->label;
}

static int by_weight(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

/* Makes the children of a call from a set of parts, without what is below them yet. */
static int add_children(struct builder *b, uint32_t parent, size_t start)
{
	struct call_tree *t = b->tree;
	size_t n = b->parts.n - start;
	uint32_t first = (uint32_t)t->calls.n, depth = t->calls.items[parent].depth + 1;
	if (n)
		qsort(b->parts.items + start, n, sizeof *b->parts.items, by_label);
	for (size_t i = start, end; i < b->parts.n; i = end) {
		struct call call = {.label = b->parts.items[i].label, .depth = depth};
		for (end = i; end < b->parts.n && b->parts.items[end].label == call.label; end++)
			call.weight += b->parts.items[end].weight;
		if (call.weight >= b->source->limit && vec_push(&t->calls, call) < 0)
			return -ENOMEM;
	}
	t->calls.items[parent].first_child = first;
	t->calls.items[parent].n_children = (uint32_t)t->calls.n - first;
	if (t->calls.n > first)
		qsort(t->calls.items + first, t->calls.n - first, sizeof *t->calls.items, by_weight);
	return 0;
}

/* The set of parts of each new child, which lie together since they are sorted by label. */
static int add_sets(struct builder *b, uint32_t parent, size_t start)
{
	const struct call *call = &b->tree->calls.items[parent];
	for (uint32_t k = 0; k < call->n_children; k++) {
		uint32_t label = b->tree->calls.items[call->first_child + k].label;
		size_t low = start, high = b->parts.n;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (b->parts.items[middle].label < label)
				low = middle + 1;
			else
				high = middle;
		}
		size_t end = low;
		while (end < b->parts.n && b->parts.items[end].label == label)
			end++;
		if (vec_push(&b->sets, (struct part_set){low, end - low}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int grow(struct builder *b, uint32_t parent, size_t start)
{
	int r = add_children(b, parent, start);
	return r < 0 ? r : add_sets(b, parent, start);
}

/* With the parts of the outermost calls in place, makes all calls. */
static int build(struct builder *b)
{
	struct call_tree *t = b->tree;
	struct call root = {};
	vec_foreach(part, &b->parts)
		root.weight += part->weight;
	if (vec_push(&t->calls, root) < 0 || vec_push(&b->sets, (struct part_set){}) < 0)
		return -ENOMEM;
	int r = grow(b, 0, 0);
	for (uint32_t at = 1; r == 0 && at < t->calls.n; at++) {
		if (t->calls.items[at].depth >= CALL_TREE_DEPTH)
			break; /* they come in the order of depth */
		struct part_set set = b->sets.items[at];
		size_t start = b->parts.n;
		for (size_t i = 0; i < set.n && r == 0; i++)
			r = add_next_parts(b, b->parts.items[set.start + i]);
		if (r == 0)
			r = grow(b, at, start);
	}
	return r;
}

static void builder_deinit(struct builder *b)
{
	vec_deinit(&b->parts);
	vec_deinit(&b->sets);
}

int call_tree_callers(struct call_tree *t, const struct call_source *source, const uint32_t *nodes,
		      size_t n_nodes)
{
	struct builder b = {.source = source, .tree = t};
	int r = 0;
	for (size_t i = 0; i < n_nodes && r == 0; i++)
		r = add_part(&b, nodes[i], source->sums->self[nodes[i]], false);
	if (r == 0)
		r = build(&b);
	builder_deinit(&b);
	return r;
}

/* The outermost parts of stacks that end in the row. */
static int add_ending(struct builder *b, const uint32_t *nodes, size_t n_nodes)
{
	struct stack_sums *ending = b->source->scratch;
	int r = 0;
	for (size_t i = 0; i < n_nodes && r == 0; i++) {
		uint64_t self = b->source->sums->self[nodes[i]];
		if (self)
			r = stack_sums_add(ending, nodes[i], self);
	}
	if (r < 0)
		return r;
	stack_sums_finish(ending);
	return add_next_parts(b, (struct part){.node = 0, .ends_in_row = true});
}

int call_tree_callees(struct call_tree *t, const struct call_source *source, const uint32_t *nodes,
		      size_t n_nodes)
{
	struct builder b = {.source = source, .tree = t, .inwards = true};
	int r = add_ending(&b, nodes, n_nodes);
	for (size_t i = 0; i < n_nodes && r == 0; i++) {
		if (stack_is_outermost(source->p, source->rows, nodes[i]))
			r = add_part(&b, nodes[i], weight_inwards(&b, nodes[i], false), false);
	}
	if (r == 0)
		r = build(&b);
	stack_sums_clear(source->scratch);
	builder_deinit(&b);
	return r;
}
