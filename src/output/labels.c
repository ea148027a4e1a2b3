/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output/labels.h"

#include "output/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* While labels are made: what was demangled already, by the profile's string numbers. */
struct maker {
	struct labels *l;
	const struct profile *p;
	uint32_t *demangled; /* by string: label + 1, or 0 */
	struct buffer text;
	struct buffer escaped;
};

static int intern(struct labels *l, const struct buffer *b, uint32_t *ret)
{
	return b->failed ? -ENOMEM : strings_add(&l->texts, (const char *)b->data, b->n, ret);
}

static int add_escaped(struct labels *l, struct buffer *b, const char *text, uint32_t *ret)
{
	b->n = 0;
	text_escape(b, text);
	return b->n || b->failed ? intern(l, b, ret) : strings_add(&l->texts, "", 0, ret);
}

int labels_add(struct labels *l, const char *text, uint32_t *ret)
{
	struct buffer b = {};
	int r = add_escaped(l, &b, text, ret);
	buffer_deinit(&b);
	return r;
}

const char *labels_text(const struct labels *l, uint32_t number)
{
	return strings_get(&l->texts, number);
}

static int object_label(struct maker *m, const struct profile_frame *f, uint32_t *ret)
{
	const char *name = "[none]";
	char module[80];
	switch (f->at.kind) {
	case FRAME_FILE:
		name = text_base_name(profile_string(m->p, m->p->files.items[f->at.file].path));
		break;
	case FRAME_KERNEL:
		snprintf(module, sizeof module, "[%.70s]",
			 f->name.module ? profile_string(m->p, f->name.module) : "kernel");
		name = module;
		break;
	case FRAME_JIT:
		name = "[jit]";
		break;
	case FRAME_RAW:
		name = f->at.address ? "[anon]" : "[none]";
		break;
	}
	return add_escaped(m->l, &m->escaped, name, ret);
}

static int named_label(struct maker *m, uint32_t name, uint32_t *ret)
{
	if (m->demangled[name]) {
		*ret = m->demangled[name] - 1;
		return 0;
	}
	m->text.n = 0;
	text_demangle(&m->text, profile_string(m->p, name));
	buffer_u8(&m->text, 0);
	if (m->text.failed)
		return -ENOMEM;
	int r = add_escaped(m->l, &m->escaped, (const char *)m->text.data, ret);
	if (r == 0)
		m->demangled[name] = *ret + 1;
	return r;
}

static int inlined_label(struct maker *m, uint32_t name, uint32_t *ret)
{
	uint32_t plain;
	int r = named_label(m, name, &plain);
	if (r < 0)
		return r;
	m->text.n = 0;
	buffer_printf(&m->text, "%s (inlined)", labels_text(m->l, plain));
	return intern(m->l, &m->text, ret);
}

static int nameless_label(struct maker *m, const struct profile_frame *f, uint32_t *ret)
{
	char reason[24];
	m->text.n = 0;
	buffer_printf(&m->text, "[%s]",
		      text_reason((uint8_t)profile_frame_reason(m->p, f), reason, sizeof reason));
	if (f->at.address || f->at.kind != FRAME_RAW)
		buffer_printf(&m->text, " 0x%" PRIx64, f->at.address);
	return intern(m->l, &m->text, ret);
}

static int make_label(struct maker *m, size_t i)
{
	const struct profile_frame *f = &m->p->frames.items[i];
	struct labels *l = m->l;
	int r = object_label(m, f, &l->object[i]);
	if (r == 0 && f->at.flags & FRAME_INLINED)
		r = inlined_label(m, f->name.name, &l->symbol[i]);
	else if (r == 0)
		r = f->name.name ? named_label(m, f->name.name, &l->symbol[i])
				 : nameless_label(m, f, &l->symbol[i]);
	if (r < 0)
		return r;
	m->text.n = 0;
	buffer_printf(&m->text, "[%c] %s",
		      f->at.kind == FRAME_KERNEL	  ? 'k'
		      : f->at.flags & FRAME_INFERRED ? '~'
						       : '.',
		      labels_text(l, l->symbol[i]));
	return intern(l, &m->text, &l->marked[i]);
}

int labels_init(struct labels *l, const struct profile *p)
{
	size_t n = p->frames.n + 1; /* never nothing */
	*l = (struct labels){
		.object = calloc(n, sizeof *l->object),
		.symbol = calloc(n, sizeof *l->symbol),
		.marked = calloc(n, sizeof *l->marked),
	};
	struct maker m = {.l = l, .p = p, .demangled = calloc(p->strings.texts.n, sizeof(uint32_t))};
	int r = l->object && l->symbol && l->marked && m.demangled ? 0 : -ENOMEM;
	for (size_t i = 0; i < p->frames.n && r == 0; i++)
		r = make_label(&m, i);
	free(m.demangled);
	buffer_deinit(&m.text);
	buffer_deinit(&m.escaped);
	if (r < 0)
		labels_deinit(l);
	return r;
}

void labels_deinit(struct labels *l)
{
	strings_deinit(&l->texts);
	free(l->object);
	free(l->symbol);
	free(l->marked);
	*l = (struct labels){};
}
