/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/intake.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/run.h"
#include "content/debug_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* ---- in the child ---------------------------------------------------------------------------- */

/* Lies in memory that is shared with the child. What is left by it is foreign: it is checked. */
struct job {
	int fd;
	int out;
	int debug_fds[DEBUG_FILES_MAX];
	size_t n_debug;
	int alt; /* what debug files share; -1: none */
	struct elf_alt_link alt_link;
	struct elf_identity identity;
	struct extract_result extracted;
};

static int identify(void *context, struct mw_error *e)
{
	struct job *job = context;
	return extract_identity(job->fd, &job->identity, e);
}

static int make_names(void *context, struct mw_error *e)
{
	struct job *job = context;
	size_t n_debug = job->identity.has_symtab ? 0 : job->n_debug;
	return extract_names(job->fd, job->debug_fds, n_debug, job->out, &job->extracted, e);
}

static int find_alt_link(void *context, struct mw_error *e)
{
	struct job *job = context;
	return extract_alt_link(job->fd, job->debug_fds, job->n_debug, &job->alt_link);
}

static int make_lines(void *context, struct mw_error *e)
{
	struct job *job = context;
	return extract_lines(job->fd, job->debug_fds, job->n_debug, job->alt, job->out,
			     &job->extracted, e);
}

/* What is particular to a part. */
static const struct part_kind {
	enum store_part part;
	uint32_t builder;
	int (*make)(void *context, struct mw_error *e);
	const char *(*source_name)(uint32_t source);
	uint64_t memory_limit;
	uint64_t size_limit;
	unsigned deadline_ms;
} names_kind = {STORE_NAMES, EXTRACT_NAMES_BUILDER, make_names, symbol_source_name,
		UINT64_C(2) << 30, EXTRACT_GSYM_MAX * 2, 60000},
  lines_kind = {STORE_LINES, EXTRACT_LINES_BUILDER, make_lines, lines_source_name,
		UINT64_C(8) << 30, EXTRACT_LINES_MAX * 2, 600000};

static struct job *job_new(int fd)
{
	struct job *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job == MAP_FAILED)
		return NULL;
	job->fd = fd;
	job->out = job->alt = -1;
	return job;
}

static void job_free(struct job **job)
{
	if (*job)
		munmap(*job, sizeof **job);
}

/* ---- identity -------------------------------------------------------------------------------- */

int intake_identify(int fd, struct elf_identity *ret, struct mw_error *e)
{
	_cleanup_(job_free) struct job *job = job_new(fd);
	if (!job)
		return error_set(e, -ENOMEM, "out of memory");
	struct run_isolated_options options = {.fds = &fd, .n_fds = 1,
					       .memory_limit = UINT64_C(256) << 20,
					       .file_size_limit = 1, .cpu_seconds = 10,
					       .deadline_ms = 10000};
	int r = run_isolated(identify, job, &options, NULL, e);
	if (r < 0)
		return r;
	*ret = job->identity;
	if (!elf_identity_is_valid(ret))
		return error_set(e, -EBADMSG, "the parser's answer makes no sense");
	return 0;
}

/* Of a file that objcopy --only-keep-debug made, code has an address, but no bytes. */
static bool is_debug_file(const struct elf_identity *identity)
{
	for (uint32_t i = 0; i < identity->n_segments; i++) {
		const struct elf_segment *s = &identity->segments[i];
		if (s->flags & PF_X && s->mem_size && !s->file_size)
			return true;
	}
	return false;
}

struct mw_file_id intake_store_id(struct store *store, const struct elf_identity *identity)
{
	struct mw_file_id id = elf_store_id(&identity->id, identity->content);
	struct meta meta = {};
	if (!is_debug_file(identity) && store_lookup(store, &id, &meta, NULL) == 1 &&
	    meta.has_content && memcmp(meta.content, identity->content, sizeof meta.content) != 0)
		id = elf_store_id_of_another(&identity->id, identity->content);
	meta_deinit(&meta);
	return id;
}

int intake_describe(const struct elf_identity *identity, const char *path, struct meta *ret)
{
	ret->id = elf_store_id(&identity->id, identity->content);
	if (is_debug_file(identity)) /* its offsets are not those of the file that runs */
		return 0;
	ret->elf_type = identity->type;
	ret->elf_machine = identity->machine;
	ret->file_size = identity->file_size;
	ret->has_content = true;
	memcpy(ret->content, identity->content, sizeof ret->content);
	for (uint32_t i = 0; i < identity->n_segments; i++) {
		const struct elf_segment *s = &identity->segments[i];
		struct store_segment segment = {s->vaddr, s->offset, s->file_size, s->mem_size,
						s->flags};
		int r = meta_add_segment(ret, &segment);
		if (r < 0)
			return r;
	}
	if (path && path[0])
		meta_add_path(ret, path);
	return 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static enum mw_reason reason_of(int code, enum run_outcome outcome)
{
	if (outcome == RUN_TIMED_OUT)
		return MW_REASON_TIMEOUT;
	return outcome == RUN_FAILED && code == -ENODATA ? MW_REASON_STRIPPED
							 : MW_REASON_PARSER_FAILED;
}

static int add_pieces(int out, const struct extract_result *extracted, struct meta *about,
		      struct mw_error *e)
{
	struct gsym_splits splits = {};
	int r = extract_take_splits(out, extracted, &splits, e);
	vec_foreach(split, &splits.list) {
		if (r == 0)
			r = meta_add_piece(about, split->address, split->start);
	}
	gsym_splits_deinit(&splits);
	meta_sort_pieces(about);
	return r == -E2BIG ? 0 : r; /* so many that only their starts are lost */
}

static int commit(const struct intake *intake, const struct part_kind *kind,
		  struct store_writer *writer, const struct extract_result *extracted,
		  struct meta *about, struct mw_error *e)
{
	int r = add_pieces(writer->fd, extracted, about, e);
	if (r < 0) {
		store_abort(intake->store, writer);
		return r;
	}
	struct store_commit what = {.rank = extracted->source,
				    .builder = kind->builder,
				    .source = kind->source_name(extracted->source),
				    .about = about};
	return store_commit(intake->store, writer, &what, e);
}

/* The store shall know why there is none, so that nobody tries each time, and a report can say it. */
static void note_failure(const struct intake *intake, const struct part_kind *kind,
			 enum mw_reason reason, struct meta *about)
{
	about->failures[kind->part] = (struct meta_failure){.reason = reason,
							    .builder = kind->builder,
							    .when = time(NULL)};
	store_update(intake->store, &about->id, about, NULL);
}

static int build(const struct intake *intake, const struct part_kind *kind, struct job *job,
		 struct meta *about, struct intake_part *ret)
{
	struct store_writer writer;
	struct mw_error *e = &ret->problem;
	int r = store_begin(intake->store, &about->id, kind->part, &writer, e);
	if (r < 0)
		return r;
	job->out = writer.fd;
	int fds[3 + DEBUG_FILES_MAX] = {job->fd, job->out};
	memcpy(fds + 2, job->debug_fds, sizeof job->debug_fds);
	if (job->alt >= 0)
		fds[2 + job->n_debug] = job->alt;
	struct run_isolated_options options = {.fds = fds,
					       .n_fds = 2 + job->n_debug + (job->alt >= 0),
					       .memory_limit = kind->memory_limit,
					       .file_size_limit = kind->size_limit,
					       .deadline_ms = intake->deadline_ms
								      ? MIN(intake->deadline_ms,
									    kind->deadline_ms)
								      : kind->deadline_ms};
	enum run_outcome outcome;
	r = run_isolated(kind->make, job, &options, &outcome, e);
	if (r < 0) {
		store_abort(intake->store, &writer);
		ret->reason = reason_of(r, outcome);
		note_failure(intake, kind, ret->reason, about);
		return 0;
	}
	struct extract_result extracted = job->extracted;
	r = commit(intake, kind, &writer, &extracted, about, e);
	if (r >= 0) {
		ret->is_new = true;
		*e = extracted.damage;
		e->msg[sizeof e->msg - 1] = '\0';
	}
	return r < 0 ? r : 0;
}

/* Whether the store has the part, or knows that this file gives none. */
static bool is_known(const struct intake *intake, const struct part_kind *kind,
		     const struct elf_identity *identity, const struct job *job,
		     const struct mw_file_id *id, enum mw_reason *ret_reason)
{
	struct meta meta = {};
	if (store_lookup(intake->store, id, &meta, NULL) != 1)
		return false;
	/* Another size under one build ID: the one may be stripped, the other not. */
	bool same_size = meta.file_size == identity->file_size;
	const struct meta_part *part = &meta.parts[kind->part];
	const struct meta_failure *failure = &meta.failures[kind->part];
	uint32_t best = kind->part == STORE_LINES ? LINES_SOURCE_DWARF : SYMBOL_SOURCE_SYMTAB;
	bool is_best = part->rank >= best;
	/* A part that was damaged meanwhile is none. */
	_cleanup_close_ int fd = part->present
					 ? store_open_part(intake->store, id, kind->part, NULL, NULL)
					 : -ENOENT;
	bool has_part = fd >= 0 && part->builder >= kind->builder;
	bool is_hopeless = failure->reason != MW_REASON_NONE && failure->builder >= kind->builder;
	/* A file that was tried before may have debug files by now. */
	bool known = has_part ? is_best || (same_size && !job->n_debug)
			      : is_hopeless && same_size && !job->n_debug;
	*ret_reason = known && !has_part ? failure->reason : MW_REASON_NONE;
	meta_deinit(&meta);
	return known;
}

/* The store may know the content from its debug file, or by another path. */
static void note_description(const struct intake *intake, const struct intake_request *request,
			     const struct intake_result *result)
{
	struct meta known = {}, about = {};
	if (store_lookup(intake->store, &result->store_id, &known, NULL) == 1 &&
	    intake_describe(&result->identity, request->path, &about) == 0 &&
	    ((!known.segments.n && about.segments.n) ||
	     (about.paths.n && (!known.paths.n || strcmp(known.paths.items[0], about.paths.items[0]) != 0))))
		store_update(intake->store, &result->store_id, &about, NULL);
	meta_deinit(&known);
	meta_deinit(&about);
}

/* A child says what the link is, and is not believed: the file is proved by its build ID later. */
static void open_alt(const struct intake *intake, const struct debug_file_request *search,
		     struct job *job)
{
	int fds[1 + DEBUG_FILES_MAX] = {job->fd};
	memcpy(fds + 1, job->debug_fds, sizeof job->debug_fds);
	struct run_isolated_options options = {.fds = fds, .n_fds = 1 + job->n_debug,
					       .memory_limit = UINT64_C(256) << 20,
					       .file_size_limit = 1, .cpu_seconds = 10,
					       .deadline_ms = 10000};
	if (run_isolated(find_alt_link, job, &options, NULL, NULL) != 1)
		return;
	struct elf_alt_link link = job->alt_link;
	link.path[sizeof link.path - 1] = '\0';
	if (link.id.size <= MW_FILE_ID_MAX)
		job->alt = debug_files_open_alt(intake->proc, intake->log, search, &link,
						job->debug_fds, job->n_debug);
}

static int take_part(const struct intake *intake, const struct part_kind *kind,
		     const struct intake_request *request, struct job *job,
		     struct intake_result *result, struct intake_part *ret)
{
	if (is_known(intake, kind, &result->identity, job, &result->store_id, &ret->reason))
		return 0;
	struct meta about = {};
	int r = intake_describe(&result->identity, request->path, &about);
	about.id = result->store_id;
	if (r == 0)
		r = build(intake, kind, job, &about, ret);
	meta_deinit(&about);
	if (r < 0)
		ret->reason = MW_REASON_EVICTED;
	return r;
}

int intake_identified(const struct intake *intake, const struct intake_request *request,
		      struct intake_result *ret, struct mw_error *e)
{
	ret->store_id = intake_store_id(intake->store, &ret->identity);
	_cleanup_(job_free) struct job *job = job_new(request->fd);
	if (!job)
		return error_set(e, -ENOMEM, "out of memory");
	job->identity = ret->identity;
	struct debug_file_request search = {.identity = &ret->identity,
					    .path = request->path,
					    .fd = request->fd,
					    .pid = request->pid,
					    .tid = request->tid};
	job->n_debug = debug_files_open(intake->proc, intake->log, &search, job->debug_fds);
	int n_debug = (int)job->n_debug;
	int debug_fds[DEBUG_FILES_MAX];
	memcpy(debug_fds, job->debug_fds, sizeof debug_fds);
	take_part(intake, &names_kind, request, job, ret, &ret->names);
	if (request->lines && (n_debug || ret->identity.has_alt_link))
		open_alt(intake, &search, job);
	int alt = job->alt;
	if (request->lines)
		take_part(intake, &lines_kind, request, job, ret, &ret->lines);
	if (alt >= 0)
		close(alt);
	for (int i = 0; i < n_debug; i++)
		close(debug_fds[i]);
	note_description(intake, request, ret);
	return 0;
}

int intake_file(const struct intake *intake, const struct intake_request *request,
		struct intake_result *ret, struct mw_error *e)
{
	*ret = (struct intake_result){};
	int r = intake_identify(request->fd, &ret->identity, e);
	return r < 0 ? r : intake_identified(intake, request, ret, e);
}
