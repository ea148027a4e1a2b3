/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/source_lines.h"

#include <errno.h>
#include <string.h>

/* Questions at once: what is answered is written between them. */
#define AT_ONCE 4096

static int find_locally(void *data, const struct mw_file_id *id, const struct sort_item *items,
			size_t n, resolver_answer_fn fn, void *fn_data)
{
	const struct symbol_table *table = resolver_table(data, id);
	if (!table)
		return -ENOMEM;
	return table->lines.data ? resolver_find_sorted(data, table, 0, items, n, fn, fn_data) : 0;
}

struct line_finder line_finder_local(struct mw_resolver *resolver)
{
	return (struct line_finder){.find = find_locally, .data = resolver};
}

struct search {
	struct profile *p;
	const struct line_finder *finder;
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

static int take_answer(void *data, uint64_t value, const struct mw_location *chain, size_t n)
{
	struct search *s = data;
	struct profile_line lines[PROFILE_LINES_MAX] = {};
	if (!n || (n == 1 && !chain[0].file))
		return 0;
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
	s->n_found++;
	return profile_set_lines(s->p, (uint32_t)value, lines, kept);
}

static const struct mw_file_id *id_of(const struct profile_file *file)
{
	return file->store_id.kind ? &file->store_id : &file->id;
}

static bool is_wanted(const struct profile_frame *f, uint32_t file)
{
	return f->at.kind == FRAME_FILE && f->at.reason == MW_REASON_NONE && !f->n_lines &&
	       (file == UINT32_MAX || f->at.file == file);
}

/* By file, then by offset: two stable sorts. */
static int list_frames(struct search *s, uint32_t file)
{
	const struct profile *p = s->p;
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		if (!is_wanted(f, file) || id_of(&p->files.items[f->at.file])->kind == MW_FILE_ID_NONE)
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
		r = s->finder->find(s->finder->data, &id, s->items.items + start, end - start,
				    take_answer, s);
		if (s->finder->progress)
			s->finder->progress(s->finder->data, end, s->items.n);
	}
	return r;
}

int profile_find_lines(struct profile *p, uint32_t file, const struct line_finder *finder)
{
	struct search s = {.p = p, .finder = finder};
	int r = list_frames(&s, file);
	if (r == 0)
		r = ask(&s);
	vec_deinit(&s.items);
	buffer_deinit(&s.path);
	return r < 0 ? r : s.n_found;
}
