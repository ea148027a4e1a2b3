/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/stack_sums.h"

int stack_sums_init(struct stack_sums *s, const struct profile *p)
{
	*s = (struct stack_sums){
		.p = p,
		.self = calloc(p->nodes.n, sizeof *s->self),
		.total = calloc(p->nodes.n, sizeof *s->total),
		.seen = calloc(p->nodes.n, sizeof *s->seen),
	};
	if (s->self && s->total && s->seen)
		return 0;
	stack_sums_deinit(s);
	return -ENOMEM;
}

void stack_sums_deinit(struct stack_sums *s)
{
	free(s->self);
	free(s->total);
	free(s->seen);
	vec_deinit(&s->touched);
	*s = (struct stack_sums){};
}

int stack_sums_add(struct stack_sums *s, uint32_t stack, uint64_t weight)
{
	s->self[stack] += weight;
	s->weight += weight;
	for (uint32_t node = stack; !s->seen[node]; node = s->p->nodes.items[node].caller) {
		if (vec_push(&s->touched, node) < 0)
			return -ENOMEM;
		s->seen[node] = 1;
		if (s->leaves_only)
			break;
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Ascending: by sorting, or if they are many, by looking at all. */
static void order_touched(struct stack_sums *s)
{
	if (s->touched.n * 16 < s->p->nodes.n) {
		if (s->touched.n)
			qsort(s->touched.items, s->touched.n, sizeof *s->touched.items, by_number);
		return;
	}
	size_t n = 0;
	for (size_t i = 0; i < s->p->nodes.n; i++) {
		if (s->seen[i])
			s->touched.items[n++] = (uint32_t)i;
	}
}

void stack_sums_finish(struct stack_sums *s)
{
	order_touched(s);
	if (s->leaves_only)
		return;
	for (size_t i = s->touched.n; i-- > 0;) {
		uint32_t node = s->touched.items[i];
		s->total[node] += s->self[node];
		if (node)
			s->total[s->p->nodes.items[node].caller] += s->total[node];
	}
}

void stack_sums_clear(struct stack_sums *s)
{
	vec_foreach(node, &s->touched) {
		s->self[*node] = s->total[*node] = 0;
		s->seen[*node] = 0;
	}
	s->touched.n = 0;
	s->weight = 0;
}

bool stack_is_outermost(const struct profile *p, const uint32_t *labels, uint32_t node)
{
	uint32_t label = labels[p->nodes.items[node].frame];
	for (uint32_t at = p->nodes.items[node].caller; at; at = p->nodes.items[at].caller) {
		if (labels[p->nodes.items[at].frame] == label)
			return false;
	}
	return true;
}

int stack_children_init(struct stack_children *c, const struct profile *p)
{
	*c = (struct stack_children){
		.first = calloc(p->nodes.n, sizeof *c->first),
		.next = calloc(p->nodes.n, sizeof *c->next),
	};
	if (!c->first || !c->next) {
		stack_children_deinit(c);
		return -ENOMEM;
	}
	for (size_t i = p->nodes.n; i-- > 1;) {
		uint32_t caller = p->nodes.items[i].caller;
		c->next[i] = c->first[caller];
		c->first[caller] = (uint32_t)i;
	}
	return 0;
}

void stack_children_deinit(struct stack_children *c)
{
	free(c->first);
	free(c->next);
	*c = (struct stack_children){};
}
