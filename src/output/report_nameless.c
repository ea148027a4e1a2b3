/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output/report_parts.h"

#include "output/text.h"

#include <string.h>

/* Frames without a name, of one reason and one file (or of memory that is no file). */
struct nameless {
	uint64_t own;      /* weight of samples that ended there */
	uint64_t anywhere; /* weight of samples that passed through */
	uint32_t file;     /* UINT32_MAX: none */
	uint8_t kind;      /* enum frame_kind, or NO_PLACE */
	uint8_t reason;
};

/* The kind of frames that are only a reason. */
#define NO_PLACE (FRAME_RAW + 1)

struct survey {
	const struct profile *p;
	uint32_t *label; /* by frame: entry + 1; 0: it has a name */
	struct hash_index index;
	VEC(struct nameless) entries;
};

static bool entry_equal(const void *context, uint32_t entry, const void *key)
{
	const struct survey *s = context;
	const struct nameless *a = &s->entries.items[entry], *b = key;
	return a->file == b->file && a->kind == b->kind && a->reason == b->reason;
}

static int find_entry(struct survey *s, const struct nameless *key, uint32_t *ret)
{
	uint64_t hash = hash_u64((uint64_t)key->file << 16 | (uint32_t)key->kind << 8 | key->reason);
	*ret = hash_index_find(&s->index, hash, entry_equal, s, key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	if (vec_push(&s->entries, *key) < 0)
		return -ENOMEM;
	*ret = (uint32_t)(s->entries.n - 1);
	return hash_index_add(&s->index, hash, *ret);
}

static int label_frames(struct survey *s)
{
	const struct profile *p = s->p;
	s->label = calloc(p->frames.n + 1, sizeof *s->label);
	if (!s->label)
		return -ENOMEM;
	int r = 0;
	for (size_t i = 0; i < p->frames.n && r == 0; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		struct nameless key = {.kind = f->at.kind,
				       .file = f->at.kind == FRAME_FILE ? f->at.file : UINT32_MAX,
				       .reason = (uint8_t)profile_frame_reason(p, f)};
		uint32_t entry;
		if (key.kind == FRAME_RAW && !f->at.address)
			key.kind = NO_PLACE;
		if (key.reason == MW_REASON_NONE)
			continue;
		r = find_entry(s, &key, &entry);
		s->label[i] = entry + 1;
	}
	return r;
}

static int add_weights(struct survey *s, const struct report_weight *weight)
{
	struct stack_sums sums;
	int r = stack_sums_init(&sums, s->p);
	if (r < 0)
		return r;
	vec_foreach(sample, &s->p->samples) {
		if (r == 0 && sample->event == weight->event)
			r = stack_sums_add(&sums, sample->stack, report_weigh(weight, sample));
	}
	stack_sums_finish(&sums);
	vec_foreach(at, &sums.touched) {
		uint32_t node = *at, label = node ? s->label[s->p->nodes.items[node].frame] : 0;
		if (!label)
			continue;
		s->entries.items[label - 1].own += sums.self[node];
		if (stack_is_outermost(s->p, s->label, node))
			s->entries.items[label - 1].anywhere += sums.total[node];
	}
	stack_sums_deinit(&sums);
	return r;
}

static int by_share(const void *a, const void *b)
{
	const struct nameless *x = a, *y = b;
	if (x->own != y->own)
		return x->own > y->own ? -1 : 1;
	if (x->anywhere != y->anywhere)
		return x->anywhere > y->anywhere ? -1 : 1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static void add_place(struct buffer *b, const struct profile *p, const struct nameless *n)
{
	static const char *const places[] = {
		[FRAME_KERNEL] = "[kernel]", [FRAME_JIT] = "[jit]", [FRAME_RAW] = "[anon]",
		[NO_PLACE] = "[none]"};
	if (n->kind != FRAME_FILE) {
		buffer_printf(b, "%s", places[n->kind]);
		return;
	}
	const struct profile_file *file = &p->files.items[n->file];
	char id[MW_FILE_ID_TEXT_MAX];
	text_escape(b, *profile_string(p, file->path) ? profile_string(p, file->path) : "[no path]");
	if (file->id.kind) {
		mw_file_id_to_text(&file->id, id, sizeof id);
		buffer_printf(b, " (%s)", id);
	}
}

static void add_rows(struct buffer *b, const struct survey *s, uint64_t total)
{
	buffer_printf(b, "#\n# Without a name:\n#\n"
			 "#     Self  Anywhere  Reason              File\n"
			 "# ........  ........  ..................  ....\n#\n");
	vec_foreach(n, &s->entries) {
		char reason[24];
		if (!n->anywhere)
			continue;
		buffer_printf(b, "# %7.2f%%  %7.2f%%  %-18s  ", report_percent(n->own, total),
			      report_percent(n->anywhere, total),
			      text_reason(n->reason, reason, sizeof reason));
		add_place(b, s->p, n);
		buffer_printf(b, "\n");
	}
}

/* Once for each reason, however many files have it. */
static void add_meanings(struct buffer *b, const struct survey *s)
{
	bool said[UINT8_MAX + 1] = {};
	buffer_printf(b, "#\n");
	vec_foreach(n, &s->entries) {
		const char *name = mw_reason_name(n->reason), *hint = mw_reason_hint(n->reason);
		if (!n->anywhere || said[n->reason])
			continue;
		said[n->reason] = true;
		if (name)
			buffer_printf(b, "# %s: %s\n", name, mw_reason_sentence(n->reason));
		else
			buffer_printf(b, "# reason-%u: A reason of a later version.\n", n->reason);
		if (hint)
			buffer_printf(b, "#   hint: %s\n", hint);
	}
}

int report_write_nameless(const struct profile *p, const struct report_weight *weight, FILE *out)
{
	struct survey s = {.p = p};
	struct buffer b = {};
	uint64_t nameless = 0;
	int r = label_frames(&s);
	if (r == 0 && s.entries.n)
		r = add_weights(&s, weight);
	if (r == 0 && s.entries.n)
		qsort(s.entries.items, s.entries.n, sizeof *s.entries.items, by_share);
	vec_foreach(n, &s.entries)
		nameless += n->anywhere;
	if (r == 0 && nameless) {
		add_rows(&b, &s, weight->total);
		add_meanings(&b, &s);
		r = b.failed ? -ENOMEM : 0;
	}
	if (r == 0 && b.n)
		fwrite(b.data, 1, b.n, out);
	buffer_deinit(&b);
	hash_index_deinit(&s.index);
	vec_deinit(&s.entries);
	free(s.label);
	return r;
}
