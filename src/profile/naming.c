/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/naming.h"

#include "symbols/symbolizer.h"

#include <string.h>

void naming_deinit(struct naming *n)
{
	vec_deinit(&n->waiting);
	vec_deinit(&n->changed);
}

static int set_name(struct naming *n, uint32_t number, const struct symbol *symbol, uint64_t start)
{
	return profile_set_name(n->profile, number, symbol->name, symbol->module, start,
				symbol->reason);
}

static int name_kernel_frame(struct naming *n, uint32_t number)
{
	const struct frame *at = &n->profile->frames.items[number].at;
	struct symbol s = symbolizer_find_kernel(n->symbolizer, frame_lookup_address(at));
	return set_name(n, number, &s, s.start);
}

static struct symbol find_in_file(struct naming *n, const struct frame *at)
{
	const struct profile_file *file = &n->profile->files.items[at->file];
	if (file->reason == MW_REASON_ID_MISMATCH) /* by its id alone nothing can be told */
		return (struct symbol){.reason = MW_REASON_ID_MISMATCH};
	const struct mw_file_id *id = file->store_id.kind ? &file->store_id : &file->id;
	struct symbol s = symbolizer_find(n->symbolizer, id, frame_lookup_address(at));
	/* The store does not have it: for the file's reason, or since it had no room for it any more. */
	if (s.reason == MW_REASON_FILE_GONE)
		s.reason = file->reason != MW_REASON_NONE ? file->reason : MW_REASON_EVICTED;
	return s;
}

static int name_file_frame(struct naming *n, uint32_t number)
{
	const struct frame *at = &n->profile->frames.items[number].at;
	if (n->profile->files.items[at->file].id.kind == MW_FILE_ID_NONE)
		return 0; /* the file's own reason says why */
	struct symbol s = find_in_file(n, at);
	return set_name(n, number, &s, s.start);
}

/* A name stays if the store has merely lost it since. */
static int rename_file_frame(struct naming *n, uint32_t number)
{
	const struct profile_frame *f = &n->profile->frames.items[number];
	if (n->profile->files.items[f->at.file].id.kind == MW_FILE_ID_NONE)
		return 0;
	struct symbol s = find_in_file(n, &f->at);
	bool keeps = f->name.name && !s.name && s.reason != MW_REASON_ID_MISMATCH;
	return keeps ? 0 : set_name(n, number, &s, s.start);
}

static int name_code_frame(struct naming *n, uint32_t number)
{
	const struct frame *at = &n->profile->frames.items[number].at;
	uint32_t found = n->find_code ? n->find_code(n->data, at) : UINT32_MAX;
	if (found == UINT32_MAX)
		return profile_set_name(n->profile, number, NULL, NULL, 0, MW_REASON_JIT_NO_MAP);
	const struct profile_code *code = &n->profile->codes.items[found];
	struct symbol symbol = {.name = profile_string(n->profile, code->name)};
	return set_name(n, number, &symbol, code->start);
}

/* 1: done with it, 0: its file is not ready, or -ENOMEM. */
static int name_frame(struct naming *n, uint32_t number, bool is_last_time)
{
	const struct frame *at = &n->profile->frames.items[number].at;
	int r = 0;
	if (at->reason != MW_REASON_NONE)
		return 1;
	switch (at->kind) {
	case FRAME_KERNEL:
		r = name_kernel_frame(n, number);
		break;
	case FRAME_FILE:
		if (!is_last_time && n->is_ready && !n->is_ready(n->data, at->file))
			return 0;
		r = name_file_frame(n, number);
		break;
	case FRAME_JIT:
		r = name_code_frame(n, number);
		break;
	}
	return r < 0 ? r : 1;
}

static int name_waiting(struct naming *n, bool is_last_time)
{
	size_t kept = 0;
	int result = 0;
	vec_foreach(number, &n->waiting) {
		int r = name_frame(n, *number, is_last_time);
		if (r < 0)
			result = r;
		if (r != 1)
			n->waiting.items[kept++] = *number;
	}
	n->waiting.n = kept;
	return result;
}

static int name_new(struct naming *n, bool is_last_time)
{
	for (; n->next < n->profile->frames.n; n->next++) {
		int r = name_frame(n, (uint32_t)n->next, is_last_time);
		if (r == 0)
			r = vec_push(&n->waiting, (uint32_t)n->next);
		if (r < 0)
			return r;
	}
	return 0;
}

int naming_go_on(struct naming *n)
{
	symbolizer_forget_failures(n->symbolizer);
	int r = name_waiting(n, false);
	return r < 0 ? r : name_new(n, false);
}

int naming_note_change(struct naming *n, uint32_t file)
{
	int r = vec_reserve(&n->changed, (size_t)file + 1);
	if (r < 0)
		return r;
	while (n->changed.n <= file)
		n->changed.items[n->changed.n++] = false;
	n->changed.items[file] = true;
	n->is_changed = true;
	return 0;
}

static bool is_of_changed_file(const struct naming *n, const struct profile_frame *f)
{
	return f->at.file < n->changed.n && n->changed.items[f->at.file];
}

/* Frames in files that were named, or could not be. */
static int review(struct naming *n, bool nameless_too)
{
	int r = 0;
	for (size_t i = 0; i < n->next && r >= 0; i++) {
		const struct profile_frame *f = &n->profile->frames.items[i];
		if (f->at.kind != FRAME_FILE || f->at.reason != MW_REASON_NONE)
			continue;
		bool is_nameless = nameless_too && !f->name.name;
		if (is_of_changed_file(n, f) || is_nameless)
			r = rename_file_frame(n, (uint32_t)i);
	}
	n->changed.n = 0;
	n->is_changed = false;
	return r < 0 ? r : 0;
}

static void forget_changed_tables(struct naming *n)
{
	for (uint32_t file = 0; file < n->changed.n; file++) {
		const struct profile_file *of = &n->profile->files.items[file];
		if (n->changed.items[file])
			symbolizer_forget(n->symbolizer, of->store_id.kind ? &of->store_id : &of->id);
	}
}

int naming_review(struct naming *n)
{
	if (!n->is_changed)
		return 0;
	symbolizer_forget_failures(n->symbolizer);
	forget_changed_tables(n);
	return review(n, false);
}

bool naming_is_done(const struct naming *n)
{
	return n->next == n->profile->frames.n && !n->waiting.n;
}

void naming_forget(struct naming *n)
{
	n->next = 0;
	n->waiting.n = 0;
}

int naming_finish(struct naming *n)
{
	symbolizer_forget_failures(n->symbolizer);
	forget_changed_tables(n);
	int r = review(n, true);
	if (r == 0)
		r = name_waiting(n, true);
	return r < 0 ? r : name_new(n, true);
}

static bool is_contradicted(const struct profile *p, const struct profile_frame *f,
			    const struct kernel_symbols *later)
{
	struct kernel_symbol now;
	if (f->at.kind != FRAME_KERNEL || !f->name.name || !f->name.module)
		return false;
	if (!kernel_symbols_find(later, frame_lookup_address(&f->at), &now))
		return false; /* it went, and nothing came */
	return now.start != f->name.start || !now.module ||
	       strcmp(now.name, profile_string(p, f->name.name)) != 0 ||
	       strcmp(now.module, profile_string(p, f->name.module)) != 0;
}

int naming_check_kernel(struct naming *n, const struct kernel_symbols *later)
{
	int raced = 0;
	for (size_t i = 0; i < n->profile->frames.n; i++) {
		if (!is_contradicted(n->profile, &n->profile->frames.items[i], later))
			continue;
		int r = profile_set_name(n->profile, (uint32_t)i, NULL, NULL, 0, MW_REASON_RACED);
		if (r < 0)
			return r;
		raced++;
	}
	return raced;
}
