/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent/late_lines.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/source_lines.h"
#include "symbols/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define NS_PER_MS UINT64_C(1000000)

struct hot_file {
	uint64_t samples;
	uint32_t file;
};

static int by_heat(const void *a, const void *b)
{
	const struct hot_file *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* The files in which frames lie, those with most samples first. The caller frees *ret. */
static int list_hot_files(const struct profile *p, struct hot_file **ret)
{
	struct hot_file *files = calloc(p->files.n + 1, sizeof *files);
	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < p->files.n; i++)
		files[i].file = (uint32_t)i;
	vec_foreach(f, &p->frames) {
		if (f->at.kind == FRAME_FILE)
			files[f->at.file].samples += f->self_count;
	}
	qsort(files, p->files.n, sizeof *files, by_heat);
	*ret = files;
	return 0;
}

/* Whether reading it may give what the store does not have. */
static bool is_worth_reading(const struct late_lines_options *o, const struct profile_file *file)
{
	struct meta meta = {};
	const struct mw_file_id *id = file->store_id.kind ? &file->store_id : &file->id;
	if (file->id.kind != MW_FILE_ID_GNU && file->id.kind != MW_FILE_ID_GO)
		return false;
	if (store_lookup(o->store, id, &meta, NULL) != 1)
		return true;
	bool worth = !meta.parts[STORE_LINES].present &&
		     meta.failures[STORE_LINES].reason == MW_REASON_NONE;
	meta_deinit(&meta);
	return worth;
}

static void read_file(const struct late_lines_options *o, struct mw_resolver *resolver,
		      const struct profile_file *file, uint64_t left)
{
	const char *path = profile_string(o->profile, file->path);
	struct subject subject = {.lines = true,
				  .hint = path,
				  .deadline_ms = (unsigned)MAX(left / NS_PER_MS, 1),
				  .store = o->store,
				  .resolver = resolver,
				  .proc = o->proc,
				  .log = o->log};
	if (o->progress) {
		char line[160];
		snprintf(line, sizeof line, "source lines of %.120s", path);
		o->progress(o->data, line);
	}
	subject_open_build_id(&subject, &file->id, NULL);
	subject_deinit(&subject);
}

static int read_hot_files(const struct late_lines_options *o, struct mw_resolver *resolver)
{
	_cleanup_free_ struct hot_file *files = NULL;
	uint64_t end = clock_now_ns() + o->budget;
	int r = list_hot_files(o->profile, &files);
	for (size_t i = 0; r == 0 && i < o->profile->files.n && files[i].samples; i++) {
		const struct profile_file *file = &o->profile->files.items[files[i].file];
		uint64_t now = clock_now_ns();
		if (now >= end)
			break;
		if (is_worth_reading(o, file))
			read_file(o, resolver, file, end - now);
	}
	return r;
}

int late_lines_find(const struct late_lines_options *o)
{
	struct mw_resolver *resolver;
	int r = resolver_new(o->store, 0, &resolver);
	if (r < 0)
		return r;
	if (o->budget)
		r = read_hot_files(o, resolver);
	if (r == 0) {
		const struct line_finder finder = line_finder_local(resolver);
		r = profile_find_lines(o->profile, UINT32_MAX, &finder);
	}
	mw_resolver_close(resolver);
	return r;
}
