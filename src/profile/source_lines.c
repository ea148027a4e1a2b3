/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/source_lines.h"

#include "symbols/symbol_list.h"

#include <errno.h>
#include <string.h>

/* Questions at once: what is answered is written between them. */
#define AT_ONCE 4096

static int find_locally(void *data, const struct line_question *q, uint32_t *ret_rank,
			resolver_answer_fn fn, void *fn_data)
{
	const struct symbol_table *table = resolver_table(data, q->id);
	if (!table)
		return -ENOMEM;
	*ret_rank = table->meta.parts[STORE_NAMES].rank;
	if (!table->lines.data && !q->names)
		return 0;
	return resolver_find_sorted(data, table, 0, q->items, q->n, fn, fn_data);
}

struct line_finder line_finder_local(struct mw_resolver *resolver)
{
	return (struct line_finder){.find = find_locally, .data = resolver};
}

struct search {
	struct profile *p;
	const struct line_finder *finder;
	bool names; /* as well as lines */
	uint32_t rank; /* of the names of the answer at hand */
	VEC(struct sort_item) items;
	struct buffer path;
	int n_found;
};

static int path_string(struct search *s, const struct mw_location *l, uint32_t *ret)
{
	*ret = 0;
	if (!l->file)
		return 0;
	s->path.n = 0;
	if (l->directory && *l->directory)
		buffer_printf(&s->path, "%s%s", l->directory,
			      l->directory[strlen(l->directory) - 1] == '/' ? "" : "/");
	buffer_printf(&s->path, "%s", l->file);
	return s->path.failed ? -ENOMEM
			      : strings_add(&s->p->strings, (const char *)s->path.data, s->path.n, ret);
}

/* 1 if the frame is called otherwise now. A name that was there gives way to a better one only. */
static int take_name(struct search *s, uint32_t frame, const struct mw_location *l)
{
	const struct profile_name *now = &s->p->frames.items[frame].name;
	if (!l->name || (now->name && s->rank < SYMBOL_SOURCE_SYMTAB) ||
	    (now->name && strcmp(profile_string(s->p, now->name), l->name) == 0))
		return 0;
	int r = profile_set_name(s->p, frame, l->name, NULL, l->start, MW_REASON_NONE);
	return r < 0 ? r : 1;
}

static int take_lines(struct search *s, uint32_t frame, const struct mw_location *chain, size_t n);

static int take_answer(void *data, uint64_t value, const struct mw_location *chain, size_t n)
{
	struct search *s = data;
	uint32_t frame = (uint32_t)value, before = s->p->frames.items[frame].first_line;
	int r = n && s->names ? take_name(s, frame, &chain[n - 1]) : 0;
	bool changed = r > 0;
	if (r >= 0 && n && (n > 1 || chain[0].file))
		r = take_lines(s, frame, chain, n);
	if (r < 0)
		return r;
	s->n_found += changed || s->p->frames.items[frame].first_line != before ||
		      (!s->names && s->p->frames.items[frame].n_lines);
	return 0;
}

static int take_lines(struct search *s, uint32_t frame, const struct mw_location *chain, size_t n)
{
	struct profile_line lines[PROFILE_LINES_MAX] = {};
	size_t kept = MIN(n, PROFILE_LINES_MAX);
	for (size_t i = 0; i < kept; i++) {
		const struct mw_location *l = i + 1 == kept ? &chain[n - 1] : &chain[i];
		int r = path_string(s, l, &lines[i].file);
		if (r == 0 && i + 1 < kept)
			r = profile_add_string(s->p, l->name, &lines[i].name);
		if (r < 0)
			return r;
		lines[i].line = l->line;
	}
	return profile_set_lines(s->p, frame, lines, kept);
}

static const struct mw_file_id *id_of(const struct profile_file *file)
{
	return file->store_id.kind ? &file->store_id : &file->id;
}

static bool is_wanted(const struct search *s, const struct profile_frame *f, uint32_t file)
{
	return f->at.kind == FRAME_FILE && f->at.reason == MW_REASON_NONE && (s->names || !f->n_lines) &&
	       (file == UINT32_MAX || f->at.file == file);
}

/* By file, then by offset: two stable sorts. */
static int list_frames(struct search *s, uint32_t file)
{
	const struct profile *p = s->p;
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		if (!is_wanted(s, f, file) || id_of(&p->files.items[f->at.file])->kind == MW_FILE_ID_NONE)
			continue;
		int r = vec_push(&s->items, (struct sort_item){frame_lookup_address(&f->at), i});
		if (r < 0)
			return r;
	}
	int r = sort_items(s->items.items, s->items.n);
	vec_foreach(item, &s->items)
		item->key = p->frames.items[item->value].at.file;
	if (r == 0)
		r = sort_items(s->items.items, s->items.n);
	vec_foreach(item, &s->items)
		item->key = frame_lookup_address(&p->frames.items[item->value].at);
	return r;
}

static uint32_t file_of(const struct search *s, size_t item)
{
	return s->p->frames.items[s->items.items[item].value].at.file;
}

static int ask(struct search *s)
{
	int r = 0;
	for (size_t end, start = 0; start < s->items.n && r == 0; start = end) {
		uint32_t file = file_of(s, start);
		for (end = start + 1; end < s->items.n && end - start < AT_ONCE; end++) {
			if (file_of(s, end) != file)
				break;
		}
		struct mw_file_id id = *id_of(&s->p->files.items[file]);
		const struct line_question question = {
			.id = &id,
			.path = profile_string(s->p, s->p->files.items[file].path),
			.names = s->names,
			.items = s->items.items + start,
			.n = end - start,
		};
		s->rank = 0;
		r = s->finder->find(s->finder->data, &question, &s->rank, take_answer, s);
		if (s->finder->progress)
			s->finder->progress(s->finder->data, end, s->items.n);
	}
	return r;
}

static int search(struct profile *p, uint32_t file, bool names, const struct line_finder *finder)
{
	struct search s = {.p = p, .finder = finder, .names = names};
	int r = list_frames(&s, file);
	if (r == 0)
		r = ask(&s);
	vec_deinit(&s.items);
	buffer_deinit(&s.path);
	return r < 0 ? r : s.n_found;
}

int profile_find_lines(struct profile *p, uint32_t file, const struct line_finder *finder)
{
	return search(p, file, false, finder);
}

int profile_find_names(struct profile *p, const struct line_finder *finder)
{
	return search(p, UINT32_MAX, true, finder);
}
