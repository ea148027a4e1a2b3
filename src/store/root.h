/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The directory in which a store lies: making and checking it, its locks, its account of bytes, its
 * temporary files, and the place of each file id in it. What entries contain is store.c's business.
 *
 *	ROOT/mapwright-store            makes it a store; version and account; locks lie on it
 *	ROOT/temporary/RANDOM           files that are being written
 *	ROOT/gnu/93/ac61ecf00d5b7e/     an entry: kind, first byte and other bytes of the id
 *
 * The hexadecimal form is safe as a file name whatever an id contains, no two ids share one, and
 * with the first byte apart the longest id (128 bytes) still fits in NAME_MAX.
 */
#ifndef STORE_ROOT_H
#define STORE_ROOT_H

#include <mapwright/mapwright.h>

#include <stdbool.h>

struct root {
	int fd;
	int state;       /* the file mapwright-store */
	int temporaries; /* the directory temporary */
	bool read_only;
	char *path;      /* owned, for people */
};

/* Makes what is missing. -EROFS and -EACCES are the caller's hint to try again with read_only. */
int root_open(const char *path, bool read_only, struct root *ret, struct mw_error *e);
/* Takes a struct whose descriptors are -1, too. */
void root_close(struct root *root);

/* ---- locks ----------------------------------------------------------------------------------- */

enum root_lock {
	ROOT_SHARED,    /* around every change of an entry */
	ROOT_EXCLUSIVE, /* around upkeep: nobody is changing anything */
};

/*
 * All waits are bounded: a process that was stopped while it held a lock must not stop a recorder.
 * 0, or -EBUSY after some seconds. Locks belong to the open root, not to the process, and end with
 * it.
 */
int root_lock(const struct root *root, enum root_lock kind, struct mw_error *e);
/* ROOT_EXCLUSIVE if it can be had at once; false if not. */
bool root_try_lock(const struct root *root);
void root_unlock(const struct root *root);
/* One writer per entry, inside ROOT_SHARED; or a reader who wants to see no writer at work. */
int root_lock_entry(const struct root *root, const struct mw_file_id *id, struct mw_error *e);
void root_unlock_entry(const struct root *root, const struct mw_file_id *id);

/* ---- account --------------------------------------------------------------------------------- */

/*
 * An account that is damaged counts as ROOT_BYTES_UNKNOWN, more than any limit: upkeep counts anew.
 */
#define ROOT_BYTES_UNKNOWN (UINT64_MAX / 4)

int root_bytes(const struct root *root, uint64_t *ret);
int root_add_bytes(const struct root *root, int64_t change);
int root_set_bytes(const struct root *root, uint64_t bytes);

/* ---- files ----------------------------------------------------------------------------------- */

#define ROOT_TEMPORARY_MAX 24 /* bytes of a temporary file's name, with its NUL */

/*
 * Makes an empty temporary file, open for reading and writing and locked for as long as its
 * descriptor lives: an unlocked one is left over. Taken inside ROOT_SHARED. Returns the descriptor.
 */
int root_make_temporary(const struct root *root, char name[ROOT_TEMPORARY_MAX], struct mw_error *e);
/* Removes left-over temporary files; how many, or -errno. Taken inside ROOT_EXCLUSIVE. */
int root_clean_temporaries(const struct root *root);
bool root_has_temporaries(const struct root *root);

/* Bytes of the longest relative path of an entry, with its NUL. */
#define ROOT_ENTRY_MAX 288
/* "gnu/93/ac61ec"; -EINVAL if it is no id. */
int root_entry_path(const struct mw_file_id *id, char ret[ROOT_ENTRY_MAX]);
/* The way back; -EINVAL if no id has this path. */
int root_entry_id(const char *kind, const char *first, const char *rest, struct mw_file_id *ret);
/*
 * Opens an entry's directory, and makes it if asked. The descriptor, or -ENOENT, or another -errno.
 */
int root_open_entry(const struct root *root, const struct mw_file_id *id, bool make);

/* The directories under which entries lie, by kind; NULL at the end. */
extern const char *const root_kinds[];

#endif
