/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The store: what is known of file contents, one directory per file id, bounded, shared by any
 * number of processes. It knows no format of a part. How it lies on disk is described in store.c.
 *
 * A store that cannot be used (unwritable, full, foreign) is an error of store_open(); the caller
 * may go on with store_open_temporary(), which lasts as long as the process. Errors of single
 * operations (-ENOSPC, -EROFS, -EBUSY) cost that operation only; if its disk is full, the caller may
 * store_go_elsewhere(). A meta or a part that is damaged
 * is as if it were not there, and is replaced by the next one that is written.
 *
 * One store object, one thread, one process: a child of fork() opens its own.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/log.h"
#include "store/meta.h"

#define STORE_SIZE_LIMIT (UINT64_C(2) << 30)
#define STORE_PART_MAX   UINT64_C(0xffffffff) /* bytes of a part; nor over half the store */

struct store_options {
	const char *directory; /* NULL: /var/cache/mapwright for root; for others mapwright in
				  $XDG_CACHE_HOME or ~/.cache */
	uint64_t size_limit;   /* bytes of all files, in whole blocks; 0: STORE_SIZE_LIMIT */
	bool allow_read_only;  /* what cannot be written is opened for reading, not refused */
	bool read_only;        /* opened for reading; -ENOENT if there is none */
	const struct log *log; /* may be NULL; must live as long as the store */
};

struct store;

/*
 * Opens the store, makes it if there is none. Refuses a directory that others own or can write,
 * that is of a newer format, or that has other things in it.
 */
int store_open(const struct store_options *options, struct store **ret, struct mw_error *e);
/* A store in $TMPDIR, /tmp or /dev/shm that store_close() removes. */
int store_open_temporary(const struct store_options *options, struct store **ret,
			 struct mw_error *e);
void store_close(struct store *store);
/* Whether this error of a write means that the store's disk takes nothing more. */
bool store_is_disk_error(int code);
/*
 * From here on whatever is written goes to a temporary store, which is asked before this one when
 * something is read. `cause` is the error of the write that failed. 0 (also if that was done before),
 * or why there can be none.
 */
int store_go_elsewhere(struct store *store, int cause, struct mw_error *e);
/* The cause, or 0 as long as this store is written to. */
int store_elsewhere_cause(const struct store *store);
/* The path, for people. */
const char *store_directory(const struct store *store);
bool store_is_read_only(const struct store *store);

/* ---- reading --------------------------------------------------------------------------------- */

/* 1 and the meta (meta_deinit() it), or 0: nothing is known of this content. Counts as a use. */
int store_lookup(struct store *store, const struct mw_file_id *id, struct meta *ret,
		 struct mw_error *e);
/*
 * Opens a part for reading. Returns the descriptor, which stays good whatever happens to the entry,
 * or -ENOENT if there is no such part. `ret` (may be NULL) gets the meta that belongs to exactly
 * this part; it is filled on success only.
 */
int store_open_part(struct store *store, const struct mw_file_id *id, enum store_part part,
		    struct meta *ret, struct mw_error *e);
/*
 * The single id in the store that is equal to this one after padding with zeros to 20 bytes. 0,
 * -ENOENT, or -ENOTUNIQ if there are several; an id that is not MW_FILE_ID_GNU_PADDED is -EINVAL.
 */
int store_complete_id(struct store *store, const struct mw_file_id *padded, struct mw_file_id *ret);

/* ---- writing --------------------------------------------------------------------------------- */

/* A part that is being built. Owned by the caller until commit or abort; none is {.fd = -1}. */
struct store_writer {
	struct mw_file_id id;
	enum store_part part;
	int fd;        /* open for reading and writing; hand it to the child that builds */
	bool is_elsewhere; /* begun in the temporary store */
	char name[24]; /* of the temporary file */
};

struct store_commit {
	uint32_t rank;
	uint32_t builder;
	const char *source;       /* see struct meta_part */
	const struct meta *about; /* merged into the meta; its pieces replace the entry's if the
				     part is STORE_NAMES and is taken. NULL: no more is known */
};

/* Whether a part of this rank and builder would be taken over what is there now. */
bool store_wants(const struct meta *meta, enum store_part part, uint32_t rank, uint32_t builder);
int store_begin(struct store *store, const struct mw_file_id *id, enum store_part part,
		struct store_writer *ret, struct mw_error *e);
/*
 * Makes the part visible, at once and whole: 1; or 0 if the entry has one of higher rank, or of
 * equal rank and no older builder (`about` is merged all the same, without pieces); -ESTALE if the
 * entry is of another content. Ends the writer
 * in every case. Evicts other entries if the store is over its limit.
 */
int store_commit(struct store *store, struct store_writer *writer,
		 const struct store_commit *commit, struct mw_error *e);
void store_abort(struct store *store, struct store_writer *writer);
/* Merges into the meta of an entry, and makes the entry if there is none. -ESTALE as above. */
int store_update(struct store *store, const struct mw_file_id *id, const struct meta *about,
		 struct mw_error *e);

/* ---- upkeep ---------------------------------------------------------------------------------- */

struct store_usage {
	uint64_t bytes;   /* after */
	uint64_t entries; /* after */
	uint64_t evicted; /* entries removed for room */
	uint64_t cleaned; /* broken entries and left-over temporary files removed */
};

/* Removes what is broken or left over, counts anew, evicts if over the limit. */
int store_gc(struct store *store, struct store_usage *ret, struct mw_error *e);
/* Bytes as accounted, without a walk. */
int store_bytes(struct store *store, uint64_t *ret, struct mw_error *e);
/* 1: removed; 0: there was none. Parts that somebody has open stay good. */
int store_remove(struct store *store, const struct mw_file_id *id, struct mw_error *e);

struct store_entry {
	struct mw_file_id id;
	uint64_t bytes;
	int64_t used; /* seconds since 1970 */
};
/*
 * Calls fn for each entry, least recently used first, until it returns other than 0; returns that.
 */
int store_each(struct store *store, int (*fn)(void *data, const struct store_entry *entry),
	       void *data, struct mw_error *e);

#endif
