/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a profile to a .mwp file while it is being recorded.
 *
 * The file is a SQLite database (docs/FORMAT.md). Each flush is one transaction that appends what is
 * new in the profile since the last one, so that after kill -9 at any moment the file alone opens and
 * lacks only what came after the last flush. How that holds without a journal beside the file:
 * profile/page_file.h.
 */
#ifndef PROFILE_WRITER_H
#define PROFILE_WRITER_H

#include "profile/page_file.h"
#include "profile/profile.h"

struct profile_writer;

/*
 * Creates the file under a temporary name and renames it to path once it is a valid, empty profile; a
 * file that was there becomes PATH.old. What exists there and is no regular file is refused. The
 * writer borrows the profile until close or free.
 */
int profile_writer_create(const char *path, struct profile *p, struct profile_writer **ret,
			  struct mw_error *e);
/* The same with hooks around each write to the file, for tests; hooks may be NULL. */
int profile_writer_create_hooked(const char *path, struct profile *p,
				 const struct page_file_hooks *hooks, struct profile_writer **ret,
				 struct mw_error *e);
/*
 * Appends what is new and drops the samples from the profile. On failure (-ENOSPC, ...) what was
 * written before stays readable, and the next flush tries again with everything.
 */
int profile_writer_flush(struct profile_writer *w, struct mw_error *e);
/*
 * After a flush, if the profile is large: what the file has is put into the tables for people and
 * forgotten in memory. 1 if that was done, 0 if there was no need; -errno as of a flush.
 */
int profile_writer_forget(struct profile_writer *w, struct mw_error *e);
/*
 * Flushes, fills the tables for people and syncs the file to the disk. The writer
 * is gone afterwards, whatever the outcome; after a failure the file holds what was flushed.
 */
int profile_writer_close(struct profile_writer *w, struct mw_error *e);
/* Gives up without writing more. The file keeps what was flushed. */
void profile_writer_free(struct profile_writer *w);
DEFINE_CLEANUP(struct profile_writer *, profile_writer_free)

/* Bytes written to the file so far, rewritten ones counted again. */
uint64_t profile_writer_bytes(const struct profile_writer *w);

/*
 * The same of a profile that was read, to an open, empty file, from a sandbox: nothing is opened or
 * synced. fd is closed, unless it fails before the first write. `name` is for messages.
 */
/* Before the sandbox: SQLite opens a device when it needs its first random number. */
void profile_save_prepare(void);
int profile_save_open(int fd, const char *name, struct profile *p, struct mw_error *e);
/* A whole profile to a new file: create and close. The samples move into the file. */
int profile_save(const char *path, struct profile *p, struct mw_error *e);

#endif
