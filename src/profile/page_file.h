/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A database file that is whole after each single write.
 *
 * SQLite's own journals lie beside the database; a .mwp must open without them, whenever its writer
 * was killed. So this is a SQLite VFS for one file on one descriptor that holds back the pages of a
 * transaction until SQLite has handed over all of them, and then writes them so that the file is a
 * valid database before and after each write, in the state before or after the transaction:
 *
 *   1. new pages, behind the end that the header on page 1 states. Nobody refers to them yet.
 *   2. if more than one of the existing pages besides page 1 changes (when an inner page of a B-tree
 *      is split, every 15 minutes of recording or so, and at close): a redo block behind the new
 *      pages, that holds these pages and a checksum. A reader that finds a complete one at the end
 *      of the file applies it (redo_apply()).
 *   3. page 1: the number of pages now includes the new ones.
 *   4. the other existing pages. In nearly each transaction it is one: the rightmost leaf of the
 *      chunk table, or its parent that takes a new leaf in. A write of one page is not divided by a
 *      kill.
 *   5. the redo block is cut off.
 *
 * Why not WAL and ordered checkpoints: each byte would be written twice, a split would need the redo
 * block all the same, and the copied file would claim to have a WAL. SQLite itself rolls back from
 * its in-memory journal (journal_mode=MEMORY) if a transaction fails before step 3; what steps 1 and 2
 * wrote is cut off again. A power cut is not a kill: for that the file is synced at close only.
 */
#ifndef PROFILE_PAGE_FILE_H
#define PROFILE_PAGE_FILE_H

#include <mapwright/mapwright.h>

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE_FILE_PAGE 4096

/* For tests: called before each change of the file. Not 0 (a negative errno) makes it fail. */
struct page_file_hooks {
	int (*before_write)(void *data, uint64_t offset, size_t size);
	int (*before_truncate)(void *data, uint64_t size);
	void *data;
};

struct page_file;

/*
 * Registers a VFS for the file behind fd (empty, read-write), which is owned from then on. Open the
 * database with page_file_vfs_name(); close it before page_file_free().
 */
/* On failure fd stays with the caller. */
int page_file_new(int fd, const struct page_file_hooks *hooks, struct page_file **ret);
void page_file_free(struct page_file *f);
const char *page_file_vfs_name(const struct page_file *f);
/* The first error of the file system since the last call: -errno, or 0. */
int page_file_take_error(struct page_file *f);
uint64_t page_file_bytes_written(const struct page_file *f);
int page_file_sync(struct page_file *f);

/*
 * If the bytes of a database end in a complete redo block, applies it and takes it off *size.
 * Returns true if there was one.
 */
bool redo_apply(uint8_t *data, size_t *size);

#endif
