/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Unwinding tables of files that are seen: taken from the store, or made by a child before its names
 * are, since the next samples already need them. Whoever asked for tables is told of each file number
 * once it is known where its table is, or that there is none.
 */
#include "agent/first_sight_entry.h"

#include "base/cleanup.h"
#include "unwind/extract_unwind.h"

#include <errno.h>
#include <time.h>

int job_unwind(const int *fds, size_t n_fds, const void *args, size_t args_size, void *reply,
	       size_t reply_size, struct mw_error *e)
{
	/* The file, the table to be written, and what may be its debug files. */
	return extract_unwind(fds[0], fds + 2, n_fds - 2, fds[1], reply, e);
}

static void tell(struct first_sight *f, const struct entry *entry)
{
	if (entry->sampler_number && entry->table != TABLE_UNDECIDED)
		f->o.on_table(f->o.data, entry->sampler_number,
			      entry->table == TABLE_IN_STORE ? &entry->store_id : NULL);
}

static void decide(struct first_sight *f, struct entry *entry, enum table_state state)
{
	entry->table = state;
	if (state == TABLE_IN_STORE)
		entry_reserve_number(f, entry); /* if it fails, the first sample announces the file */
	tell(f, entry);
}

void entry_set_sampler_number(struct first_sight *f, struct entry *entry, uint32_t sampler_number)
{
	entry->sampler_number = sampler_number;
	entry->is_reserved = false;
	if (f->o.on_table)
		tell(f, entry);
}

void entry_look_for_table(struct first_sight *f, struct entry *entry)
{
	struct meta meta = {};
	if (!f->o.on_table || entry->table != TABLE_UNDECIDED ||
	    store_lookup(f->o.store, &entry->store_id, &meta, NULL) != 1)
		return;
	const struct meta_part *part = &meta.parts[STORE_UNWIND];
	const struct meta_failure *failure = &meta.failures[STORE_UNWIND];
	if (part->present && part->builder >= EXTRACT_UNWIND_BUILDER)
		decide(f, entry, TABLE_IN_STORE);
	else if (failure->reason != MW_REASON_NONE && failure->builder >= EXTRACT_UNWIND_BUILDER)
		decide(f, entry, TABLE_ABSENT);
	meta_deinit(&meta);
}

bool entry_needs_table(const struct first_sight *f, const struct entry *entry)
{
	return f->o.on_table && entry->table == TABLE_UNDECIDED;
}

/* Nothing more comes of the file: what the store does not have by its id is not there. */
void entry_give_up_table(struct first_sight *f, struct entry *entry)
{
	if (!entry_needs_table(f, entry))
		return;
	if (entry->store_id.kind != MW_FILE_ID_NONE)
		entry_look_for_table(f, entry);
	if (entry->table == TABLE_UNDECIDED)
		decide(f, entry, TABLE_ABSENT);
}

int entry_start_table(struct first_sight *f, uint32_t number)
{
	struct entry *entry = f->entries.items[number];
	if (entry_begin(f, entry, STORE_UNWIND) < 0) {
		decide(f, entry, TABLE_ABSENT);
		return entry_put_off(f, number, STATE_IDENTIFIED);
	}
	int r = entry_submit(f, number, JOB_UNWIND);
	if (r == 0)
		entry->state = STATE_UNWINDING;
	return r;
}

static int commit_table(struct first_sight *f, struct entry *entry, struct meta *about)
{
	struct store_commit commit = {
		.rank = 1,
		.builder = EXTRACT_UNWIND_BUILDER,
		.source = "cfi",
		.about = about,
	};
	struct mw_error e;
	int r = store_commit(f->o.store, &entry->writer, &commit, &e);
	entry->writer.fd = -1;
	if (r < 0)
		log_debug(f->o.log, "store: %s", e.msg);
	return r < 0 ? r : 0;
}

static void note_absence(struct first_sight *f, struct entry *entry,
			 const struct run_result *result, struct meta *about)
{
	struct mw_error e;
	bool has_none = result->outcome == RUN_FAILED && result->value == -ENODATA;
	enum mw_reason reason = has_none ? MW_REASON_NO_TABLE : entry_reason_of(result);
	f->counts.failed += !has_none;
	about->failures[STORE_UNWIND] = (struct meta_failure){
		.reason = reason, .builder = EXTRACT_UNWIND_BUILDER, .when = time(NULL)};
	if (store_update(f->o.store, &entry->store_id, about, &e) < 0)
		log_debug(f->o.log, "store: %s", e.msg);
}

/* 0, or negative if there is no table. */
static int keep_table(struct first_sight *f, struct entry *entry, const struct run_result *result)
{
	struct meta about = {};
	int r = entry_describe(entry, &about);
	if (r == 0 && result->outcome == RUN_DONE) {
		r = commit_table(f, entry, &about);
	} else if (r == 0) {
		log_debug(f->o.log, "%s: unwinding table: %s", entry->pin->path, result->error.msg);
		r = result->outcome == RUN_FAILED ? result->value : -EBADMSG;
		if (!store_is_disk_error(r))
			note_absence(f, entry, result, &about);
	}
	meta_deinit(&about);
	if (entry->writer.fd >= 0)
		store_abort(f->o.store, &entry->writer);
	entry->writer.fd = -1;
	return r;
}

int entry_take_table(struct first_sight *f, uint32_t number, const struct run_result *result)
{
	struct entry *entry = f->entries.items[number];
	if (pin_is_unchanged(entry->pin) != 1)
		return entry_open_again(f, number);
	bool began_elsewhere = entry->writer.is_elsewhere;
	int r = keep_table(f, entry, result);
	if (r < 0 && !began_elsewhere && entry_can_go_elsewhere(f, r))
		return entry_put_off(f, number, STATE_IDENTIFIED); /* once more */
	f->counts.tables += r == 0;
	decide(f, entry, r == 0 ? TABLE_IN_STORE : TABLE_ABSENT);
	return entry_put_off(f, number, STATE_IDENTIFIED);
}

void first_sight_want_table(struct first_sight *f, uint32_t sampler_number)
{
	uint32_t file = first_sight_profile_file(f, sampler_number);
	if (!f->o.on_table || file >= f->by_file.n)
		return;
	if (f->by_file.items[file] != NO_ENTRY)
		tell(f, f->entries.items[f->by_file.items[file]]);
	else
		f->o.on_table(f->o.data, sampler_number, NULL);
}
