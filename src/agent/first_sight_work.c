/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Having the files read: jobs for the isolated children, and what comes back from them. */
#include "agent/first_sight_entry.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "content/debug_files.h"
#include "symbols/extract.h"
#include "symbols/intake.h"
#include "unwind/extract_unwind.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define NAMES_BUILDER EXTRACT_NAMES_BUILDER

/* ---- jobs, in the child ---------------------------------------------------------------------- */

static int job_identity(const int *fds, size_t n_fds, const void *args, size_t args_size,
			void *reply, size_t reply_size, struct mw_error *e)
{
	return extract_identity(fds[0], reply, e);
}

/* Whose names are wanted: after they were read, it must be that content still. */
struct names_request {
	struct mw_file_id id;
	uint8_t content[ELF_CONTENT_SIZE];
};

static int job_names(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
		     size_t reply_size, struct mw_error *e)
{
	const struct names_request *request = args;
	/* The file, the table to be written, and what may be its debug files. */
	int r = args_size == sizeof *request
			? extract_names(fds[0], fds + 2, n_fds - 2, fds[1], reply, e)
			: error_set(e, -EINVAL, "no request");
	struct elf_identity identity;
	if (r == 0)
		r = extract_identity(fds[0], &identity, e);
	if (r < 0)
		return r;
	bool is_it = mw_file_id_equal(&identity.id, &request->id) &&
		     memcmp(identity.content, request->content, ELF_CONTENT_SIZE) == 0;
	return is_it ? 0 : error_set(e, -ESTALE, "the file is another by now");
}

enum job {
	JOB_IDENTITY,
	JOB_NAMES,
};
_Static_assert(JOB_UNWIND == JOB_NAMES + 1, "first_sight_entry.h");

const struct run_job first_sight_jobs[] = {
	[JOB_IDENTITY] = {
		.name = "mw-identity",
		.fn = job_identity,
		.reply_size = sizeof(struct elf_identity),
		.memory_limit = UINT64_C(256) << 20,
		.file_size_limit = 1,
		.cpu_seconds = 5,
		.deadline_ms = 5000,
	},
	[JOB_NAMES] = {
		.name = "mw-names",
		.fn = job_names,
		.reply_size = sizeof(struct extract_result),
		.memory_limit = UINT64_C(2) << 30,
		.file_size_limit = EXTRACT_GSYM_MAX * 2,
		.cpu_seconds = 20,
		.deadline_ms = 30000,
	},
	[JOB_UNWIND] = {
		.name = "mw-unwind",
		.fn = job_unwind,
		.reply_size = sizeof(struct extract_unwind_result),
		.memory_limit = UINT64_C(1) << 30,
		.file_size_limit = EXTRACT_UNWIND_MAX,
		.cpu_seconds = 10,
		.deadline_ms = 15000,
	},
};
const size_t first_sight_n_jobs = ARRAY_SIZE(first_sight_jobs);

/* The store shall know why it has no names, so that nobody tries again, and a report can say it. */
static void note_failure(struct first_sight *f, struct entry *entry, enum mw_reason reason,
			 const struct meta *known)
{
	struct meta about = *known; /* shares what it points to */
	about.failures[STORE_NAMES] = (struct meta_failure){
		.reason = reason,
		.builder = NAMES_BUILDER,
		.when = time(NULL),
	};
	struct mw_error e;
	if (store_update(f->o.store, &entry->store_id, &about, &e) < 0)
		log_debug(f->o.log, "store: %s", e.msg);
}

int entry_describe(const struct entry *entry, struct meta *ret)
{
	int r = intake_describe(entry->identity, entry->pin ? entry->pin->path : "", ret);
	ret->id = entry->store_id;
	return r;
}

int first_sight_segments(struct first_sight *f, uint32_t profile_file, struct meta *ret)
{
	if (profile_file >= f->by_file.n || f->by_file.items[profile_file] == NO_ENTRY)
		return -ENOENT;
	const struct entry *entry = f->entries.items[f->by_file.items[profile_file]];
	if (entry->identity) {
		int r = entry_describe(entry, ret);
		return r < 0 ? r : 1;
	}
	if (entry->state < STATE_DONE)
		return 0;
	if (entry->store_id.kind == MW_FILE_ID_NONE)
		return -ENOENT;
	/* If the store does not have it, the same content may be worked on for another entry. */
	return store_lookup(f->o.store, &entry->store_id, ret, NULL) == 1;
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Hands an open file to a child that looks who it is. -EAGAIN: later. */
static int start_identification(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	int r = run_server_submit(f->o.server, JOB_IDENTITY, &entry->pin->fd, 1, NULL, 0, number);
	if (r == 0)
		entry->state = STATE_IDENTIFYING;
	return r;
}

static size_t open_debug_files(struct first_sight *f, const struct entry *entry, int *ret)
{
	if (entry->identity->has_symtab)
		return 0;
	struct debug_file_request request = {
		.identity = entry->identity,
		.path = entry->pin->path,
		.fd = entry->pin->fd,
		.pid = entry->request.pid,
		.tid = entry->request.tid,
	};
	return debug_files_open(f->o.proc, f->o.log, &request, ret);
}

static bool has_debug_files(struct first_sight *f, const struct entry *entry)
{
	int fds[DEBUG_FILES_MAX];
	size_t n = open_debug_files(f, entry, fds);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return n > 0;
}

/* What the store has no room for any more is to be known at least until the recording ends. */
bool entry_can_go_elsewhere(struct first_sight *f, int error)
{
	struct mw_error e;
	if (!store_is_disk_error(error))
		return false;
	int r = store_go_elsewhere(f->o.store, error, &e);
	if (r < 0)
		log_debug(f->o.log, "store: %s", e.msg);
	return r == 0;
}

int entry_begin(struct first_sight *f, struct entry *entry, enum store_part part)
{
	struct mw_error e;
	int r = store_begin(f->o.store, &entry->store_id, part, &entry->writer, &e);
	if (r < 0 && entry_can_go_elsewhere(f, r))
		r = store_begin(f->o.store, &entry->store_id, part, &entry->writer, &e);
	if (r < 0) {
		log_debug(f->o.log, "store: %s", e.msg);
		entry->writer.fd = -1;
	}
	return r;
}

int entry_submit(struct first_sight *f, uint32_t number, size_t job)
{
	struct entry *entry = f->entries.items[number];
	int fds[2 + DEBUG_FILES_MAX] = {entry->pin->fd, entry->writer.fd};
	size_t n_debug = open_debug_files(f, entry, fds + 2);
	struct names_request request = {.id = entry->id};
	memcpy(request.content, entry->identity->content, ELF_CONTENT_SIZE);
	int r = run_server_submit(f->o.server, job, fds, 2 + n_debug, &request, sizeof request,
			      number);
	for (size_t i = 0; i < n_debug; i++)
		close(fds[2 + i]);
	if (r < 0) {
		store_abort(f->o.store, &entry->writer);
		entry->writer.fd = -1;
	}
	return r;
}

/* Files are executed faster than they are worked on: room for the next, and names, are worth most. */
static bool is_pressed(const struct first_sight *f)
{
	return f->n_pins > f->o.max_pins / 4;
}

/* Where tables are wanted, one child at least is left for them: the next samples need them. */
static int start_extraction(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (f->o.on_table && f->n_extracting && !is_pressed(f))
		return -EAGAIN;
	int r = entry_begin(f, entry, STORE_NAMES);
	if (r == 0)
		r = entry_submit(f, number, JOB_NAMES);
	if (r < 0)
		return r;
	f->n_extracting++;
	entry->state = STATE_EXTRACTING;
	return 0;
}

/* Those that had no sample yet have no table made then. */
static bool spares_table(const struct first_sight *f, const struct entry *entry)
{
	return entry->profile_file == NO_FILE && is_pressed(f);
}

/* The table first, then names, as far as the store does not have them. */
static int start_making(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (entry_needs_table(f, entry) && !spares_table(f, entry))
		return entry_start_table(f, number);
	if (!entry->has_names)
		return start_extraction(f, number);
	entry_finish(f, entry, MW_REASON_NONE);
	return 0;
}

int entry_work(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	int r = 0;
	if (entry->state == STATE_OPEN)
		r = start_identification(f, number);
	else if (entry->state == STATE_IDENTIFIED)
		r = start_making(f, number);
	if (r == -EAGAIN || r == -EMFILE || r == -ENFILE)
		return -EAGAIN;
	if (r < 0)
		entry_finish(f, entry, MW_REASON_PARSER_FAILED);
	return 0;
}

enum mw_reason entry_reason_of(const struct run_result *result)
{
	switch (result->outcome) {
	case RUN_TIMED_OUT:
		return MW_REASON_TIMEOUT;
	case RUN_FAILED:
		return result->value == -ENODATA ? MW_REASON_STRIPPED : MW_REASON_PARSER_FAILED;
	default:
		return MW_REASON_PARSER_FAILED;
	}
}

/* Whether the store already has what this file could give, or knows that it gives nothing. */
static bool is_known(struct first_sight *f, const struct entry *entry)
{
	struct meta meta = {};
	if (store_lookup(f->o.store, &entry->store_id, &meta, NULL) != 1)
		return false;
	/* Another size under one build ID: the one may be stripped, the other not. */
	bool same_size = meta.file_size == entry->identity->file_size;
	const struct meta_part *names = &meta.parts[STORE_NAMES];
	const struct meta_failure *failure = &meta.failures[STORE_NAMES];
	bool known = same_size && ((names->present && names->builder >= NAMES_BUILDER) ||
				   (failure->reason == MW_REASON_STRIPPED &&
				    failure->builder >= NAMES_BUILDER));
	/* Debug files may have come since it was last seen. */
	if (known && names->rank < SYMBOL_SOURCE_SYMTAB && has_debug_files(f, entry))
		known = false;
	meta_deinit(&meta);
	return known;
}

/* A file that was opened for the sake of a build ID must have it. */
static bool is_expected(const struct entry *entry, const struct mw_file_id *id)
{
	const struct mw_file_id *padded = &entry->key.id;
	if (padded->kind == MW_FILE_ID_NONE)
		return true;
	struct mw_file_id as_kernel = {.kind = padded->kind, .size = padded->size};
	memcpy(as_kernel.bytes, id->bytes, MIN(id->size, padded->size));
	return id->kind == MW_FILE_ID_GNU && mw_file_id_equal(&as_kernel, padded);
}

/* What the store has under an id. 1: this content, 0: nothing, -1: another one, which is told. */
static int ask_store(struct first_sight *f, const struct mw_file_id *store_id,
		     const uint8_t content[ELF_CONTENT_SIZE], uint8_t ret_another[ELF_CONTENT_SIZE])
{
	struct meta meta = {};
	int r = 0;
	if (store_lookup(f->o.store, store_id, &meta, NULL) == 1 && meta.has_content)
		r = memcmp(meta.content, content, ELF_CONTENT_SIZE) == 0 ? 1 : -1;
	memcpy(ret_another, meta.content, ELF_CONTENT_SIZE);
	meta_deinit(&meta);
	return r;
}

/*
 * An id is the store's name for one content. What comes second has a name of its own there, and the id
 * alone tells nothing any more.
 */
static int choose_store_id(struct first_sight *f, struct entry *entry)
{
	const uint8_t *content = entry->identity->content;
	uint8_t another[ELF_CONTENT_SIZE];
	bool was_ambiguous = contents_is_ambiguous(f->contents, &entry->id);
	int is_second = contents_see(f->contents, &entry->id, content);
	entry->store_id = elf_store_id(&entry->id, content);
	int in_store = is_second < 0 ? 0 : ask_store(f, &entry->store_id, content, another);
	if (in_store < 0)
		is_second = contents_see(f->contents, &entry->id, another);
	if (is_second < 0)
		return is_second;
	if (in_store < 0 || (in_store == 0 && is_second))
		entry->store_id = elf_store_id_of_another(&entry->id, content);
	if (!was_ambiguous && contents_is_ambiguous(f->contents, &entry->id))
		entries_withdraw(f, &entry->id);
	return 0;
}

static int take_identity(struct first_sight *f, uint32_t number, const struct run_result *result)
{
	struct entry *entry = f->entries.items[number];
	const struct elf_identity *identity = result->reply;
	if (result->outcome != RUN_DONE || result->reply_size != sizeof *identity ||
	    !elf_identity_is_valid(identity)) {
		log_debug(f->o.log, "identity: %s", result->error.msg);
		f->counts.failed++;
		entry_finish(f, entry, entry_reason_of(result));
		return 0;
	}
	if (pin_is_unchanged(entry->pin) != 1)
		return entry_open_again(f, number);
	if (!is_expected(entry, &identity->id)) /* something else was mapped there by then */
		return entry_fail_to_open(f, number, MW_REASON_RACED);
	entry->identity = malloc(sizeof *entry->identity);
	if (!entry->identity)
		return -ENOMEM;
	*entry->identity = *identity;
	f->counts.identified++;
	entry->id = identity->id;
	int r = choose_store_id(f, entry);
	if (r < 0)
		return r;
	entry_tell_profile(f, entry, MW_REASON_NONE);
	if (entry->key.id.kind != MW_FILE_ID_NONE && entry->profile_file != NO_FILE)
		profile_set_path(f->o.profile, entry->profile_file, entry->pin->path);
	entry->has_names = is_known(f, entry);
	entry_look_for_table(f, entry);
	if (entry->has_names && !entry_needs_table(f, entry)) {
		entry_finish(f, entry, MW_REASON_NONE);
		return 0;
	}
	if (entry->identity_only && entry->profile_file == NO_FILE) {
		entry_finish(f, entry, MW_REASON_EVICTED); /* to be opened again when it is sampled */
		return 0;
	}
	return entry_put_off(f, number, STATE_IDENTIFIED);
}

static int commit_names(struct first_sight *f, struct entry *entry,
			const struct extract_result *extracted, struct meta *about)
{
	struct mw_error e;
	struct gsym_splits splits = {};
	int r = extract_take_splits(entry->writer.fd, extracted, &splits, &e);
	vec_foreach(split, &splits.list) {
		if (r == 0)
			r = meta_add_piece(about, split->address, split->start);
	}
	gsym_splits_deinit(&splits);
	meta_sort_pieces(about);
	if (r == -E2BIG) /* so many pieces that only their starts are lost */
		r = 0;
	struct store_commit commit = {
		.rank = extracted->source,
		.builder = NAMES_BUILDER,
		.source = symbol_source_name(extracted->source),
		.about = about,
	};
	if (r == 0)
		r = store_commit(f->o.store, &entry->writer, &commit, &e);
	entry->writer.fd = -1;
	if (r < 0)
		log_debug(f->o.log, "store: %s", e.msg);
	return r < 0 ? r : 0;
}

/* The child's names into the store. 0, or an error; in *ret_reason what the file is to have instead. */
static int keep_names(struct first_sight *f, struct entry *entry, const struct run_result *result,
		      enum mw_reason *ret_reason)
{
	struct meta about = {};
	int r = entry_describe(entry, &about);
	*ret_reason = MW_REASON_NONE;
	if (r < 0 || result->outcome != RUN_DONE ||
	    result->reply_size != sizeof(struct extract_result)) {
		log_debug(f->o.log, "%s: names: %s", entry->pin->path, result->error.msg);
		*ret_reason = entry_reason_of(result);
		r = result->outcome == RUN_FAILED ? result->value : -EBADMSG;
		if (!store_is_disk_error(r))
			note_failure(f, entry, *ret_reason, &about);
	} else {
		r = commit_names(f, entry, result->reply, &about);
		if (r < 0)
			*ret_reason = MW_REASON_EVICTED;
	}
	meta_deinit(&about);
	return r;
}

static int take_names(struct first_sight *f, uint32_t number, const struct run_result *result)
{
	struct entry *entry = f->entries.items[number];
	f->n_extracting--;
	bool is_another = result->outcome == RUN_FAILED && result->value == -ESTALE;
	if (is_another || pin_is_unchanged(entry->pin) != 1)
		return entry_open_again(f, number);
	enum mw_reason reason;
	bool began_elsewhere = entry->writer.is_elsewhere;
	int r = keep_names(f, entry, result, &reason);
	if (r < 0 && !began_elsewhere && entry_can_go_elsewhere(f, r)) {
		store_abort(f->o.store, &entry->writer);
		entry->writer.fd = -1;
		return entry_put_off(f, number, STATE_IDENTIFIED);
	}
	if (r == -ESTALE && ++entry->tries < MAX_TRIES) { /* another recording was faster with another content */
		r = choose_store_id(f, entry);
		return r < 0 ? r : entry_put_off(f, number, STATE_IDENTIFIED);
	}
	if (reason == MW_REASON_NONE)
		entries_rename(f, entry);
	f->counts.extracted += r >= 0;
	f->counts.failed += reason == MW_REASON_PARSER_FAILED || reason == MW_REASON_TIMEOUT;
	entry_finish(f, entry, reason);
	return 0;
}

int first_sight_take_result(struct first_sight *f, const struct run_result *result)
{
	struct entry *entry = f->entries.items[result->ticket];
	if (entry->state == STATE_IDENTIFYING)
		return take_identity(f, (uint32_t)result->ticket, result);
	if (entry->state == STATE_UNWINDING)
		return entry_take_table(f, (uint32_t)result->ticket, result);
	if (entry->state == STATE_EXTRACTING)
		return take_names(f, (uint32_t)result->ticket, result);
	return 0;
}
