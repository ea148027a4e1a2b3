/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state file is two lines, written once but for the twenty digits:
 *
 *	mapwright-store 1
 *	bytes 00000000000001234567
 *
 * Locks are open-file-description locks on bytes of it far behind its end: gate, store, account,
 * and one for each entry by the hash of its id (two ids of one hash merely wait for each other).
 * The gate is held for as long as one waits for the store lock, so that upkeep, which wants it
 * alone, is not kept out for ever by writers who come and go.
 */
#include "store/root.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file_id.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define STATE_NAME       "mapwright-store"
#define TEMPORARIES_NAME "temporary"
#define VERSION          1
#define BYTES_AT         24 /* of the digits in the state file */
#define BYTES_DIGITS     20
#define LOCK_WAIT_MS     2000

const char *const root_kinds[] = {"gnu", "go", "htl", "gnu-padded", NULL};

/* The kinds of file ids count from 1. */
#define kind_name(kind) (root_kinds[(kind) - MW_FILE_ID_GNU])
_Static_assert(MW_FILE_ID_GNU == 1 && MW_FILE_ID_GO == 2 && MW_FILE_ID_HTL == 3 &&
		       MW_FILE_ID_GNU_PADDED == 4,
	       "root_kinds is in this order");

/* ---- locks ----------------------------------------------------------------------------------- */

#define LOCK_GATE    (INT64_C(1) << 40)
#define LOCK_STORE   (LOCK_GATE + 1)
#define LOCK_ACCOUNT (LOCK_GATE + 2)
#define LOCK_ENTRIES (INT64_C(1) << 41)

static int set_lock(const struct root *root, int64_t at, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
	return fcntl(root->state, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

static int wait_for_lock(const struct root *root, int64_t at, short type)
{
	struct timespec pause = {.tv_nsec = 100000};
	for (int64_t waited = 0; waited < LOCK_WAIT_MS * INT64_C(1000000);
	     waited += pause.tv_nsec) {
		int r = set_lock(root, at, type);
		if (r != -EAGAIN && r != -EACCES)
			return r;
		nanosleep(&pause, NULL);
		pause.tv_nsec = MIN(pause.tv_nsec * 2, 10 * 1000000);
	}
	return -EBUSY;
}

static int lock_failed(const struct root *root, int r, struct mw_error *e)
{
	if (r == -EBUSY)
		return error_set(e, r, "%s: another process holds the lock", root->path);
	return error_errno(e, r, "%s: cannot lock", root->path);
}

int root_lock(const struct root *root, enum root_lock kind, struct mw_error *e)
{
	if (root->read_only)
		return error_set(e, -EROFS, "%s: the store is open for reading only", root->path);
	short type = kind == ROOT_EXCLUSIVE ? F_WRLCK : F_RDLCK;
	int r = wait_for_lock(root, LOCK_GATE, type);
	if (r == 0)
		r = wait_for_lock(root, LOCK_STORE, type);
	set_lock(root, LOCK_GATE, F_UNLCK);
	return r < 0 ? lock_failed(root, r, e) : 0;
}

bool root_try_lock(const struct root *root)
{
	return !root->read_only && set_lock(root, LOCK_STORE, F_WRLCK) == 0;
}

void root_unlock(const struct root *root)
{
	set_lock(root, LOCK_STORE, F_UNLCK);
}

static int64_t entry_lock(const struct mw_file_id *id)
{
	return LOCK_ENTRIES + (int64_t)(file_id_hash(id) >> 24);
}

int root_lock_entry(const struct root *root, const struct mw_file_id *id, struct mw_error *e)
{
	int r = wait_for_lock(root, entry_lock(id), F_WRLCK);
	return r < 0 ? lock_failed(root, r, e) : 0;
}

void root_unlock_entry(const struct root *root, const struct mw_file_id *id)
{
	set_lock(root, entry_lock(id), F_UNLCK);
}

/* ---- account --------------------------------------------------------------------------------- */

static bool read_digits(const char *digits, uint64_t *ret)
{
	uint64_t value = 0;
	for (size_t i = 0; i < BYTES_DIGITS; i++) {
		if (digits[i] < '0' || digits[i] > '9' ||
		    __builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value))
			return false;
	}
	*ret = value;
	return true;
}

int root_bytes(const struct root *root, uint64_t *ret)
{
	char digits[BYTES_DIGITS];
	ssize_t n = io_pread(root->state, digits, sizeof digits, BYTES_AT);
	if (n < 0)
		return (int)n;
	if (n != sizeof digits || !read_digits(digits, ret) || *ret > ROOT_BYTES_UNKNOWN)
		*ret = ROOT_BYTES_UNKNOWN;
	return 0;
}

int root_set_bytes(const struct root *root, uint64_t bytes)
{
	char digits[BYTES_DIGITS + 1];
	snprintf(digits, sizeof digits, "%0*" PRIu64, BYTES_DIGITS, MIN(bytes, ROOT_BYTES_UNKNOWN));
	ssize_t n = pwrite(root->state, digits, BYTES_DIGITS, BYTES_AT);
	if (n < 0)
		return -errno;
	return n == BYTES_DIGITS ? 0 : -ENOSPC;
}

int root_add_bytes(const struct root *root, int64_t change)
{
	int r = wait_for_lock(root, LOCK_ACCOUNT, F_WRLCK);
	if (r < 0)
		return r;
	uint64_t bytes = 0;
	r = root_bytes(root, &bytes);
	if (r == 0 && bytes != ROOT_BYTES_UNKNOWN) {
		uint64_t less = change < 0 ? MIN(bytes, -(uint64_t)change) : 0;
		r = root_set_bytes(root, change < 0 ? bytes - less : bytes + (uint64_t)change);
	}
	set_lock(root, LOCK_ACCOUNT, F_UNLCK);
	return r;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Only we (or root) may own it or write to it: everything in it is believed. */
static int check_owner(const struct root *root, struct mw_error *e)
{
	struct stat st;
	if (fstat(root->fd, &st) < 0)
		return error_errno(e, -errno, "%s", root->path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(e, -EPERM, "%s: belongs to user %u, not to us", root->path,
				 st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(e, -EPERM, "%s: others may write to it (mode %o)", root->path,
				 st.st_mode & 07777);
	return 0;
}

/* Each directory of the path that is missing, the last one too. */
static int make_directories(const char *path)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	if (n == 0)
		return -ENOENT;
	if (n >= sizeof part)
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST) {
			int code = -errno;
			struct stat st; /* a directory that is there may answer EROFS or EACCES */
			if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode))
				return code;
		}
	}
	return 0;
}

/*
 * A link in its place is followed only if it is ours or root's: in /tmp others can make some, too.
 */
static int open_directory(const char *path, struct mw_error *e)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return error_errno(e, -errno, "%s", path);
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	if (!S_ISLNK(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()))
		flags |= O_NOFOLLOW;
	int fd = open(path, flags);
	return fd < 0 ? error_errno(e, -errno, "%s", path) : fd;
}

/* 1 or 0; -errno. A file system of its own has a lost+found. */
static int is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir) {
		int code = -errno;
		if (copy >= 0)
			close(copy);
		return code;
	}
	int empty = 1;
	for (struct dirent *d; empty && (d = readdir(dir));)
		empty = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
			strcmp(d->d_name, "lost+found") == 0;
	closedir(dir);
	return empty;
}

static int open_state(struct root *root, struct mw_error *e)
{
	int flags = (root->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	root->state = openat(root->fd, STATE_NAME, flags);
	if (root->state >= 0)
		return 0;
	if (errno != ENOENT || root->read_only)
		return error_errno(e, -errno, "%s/" STATE_NAME, root->path);
	int empty = is_empty(root->fd);
	if (empty < 0)
		return error_errno(e, empty, "%s", root->path);
	/* Not empty may also mean that somebody has just made it a store: then it opens now. */
	root->state = openat(root->fd, STATE_NAME, flags | (empty ? O_CREAT : 0), 0600);
	if (root->state < 0 && errno == ENOENT)
		return error_set(e, -ENOTEMPTY, "%s: is no store, and has other things in it",
				 root->path);
	if (root->state < 0)
		return error_errno(e, -errno, "%s/" STATE_NAME, root->path);
	return 0;
}

static int write_state(const struct root *root, struct mw_error *e)
{
	char text[64];
	int n = snprintf(text, sizeof text, "mapwright-store %d\nbytes %0*" PRIu64 "\n", VERSION,
			 BYTES_DIGITS, ROOT_BYTES_UNKNOWN);
	ssize_t r = pwrite(root->state, text, (size_t)n, 0);
	if (r != n)
		return error_errno(e, r < 0 ? -errno : -ENOSPC, "%s/" STATE_NAME, root->path);
	return 0;
}

/* Reads the version. A file that is new or damaged is written, and all is to be counted. */
static int check_state(const struct root *root, struct mw_error *e)
{
	struct stat st;
	if (fstat(root->state, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(e, -ENOTEMPTY, "%s/" STATE_NAME ": is no file", root->path);
	char text[64] = "";
	ssize_t n = io_pread(root->state, text, sizeof text - 1, 0);
	if (n < 0)
		return error_errno(e, (int)n, "%s/" STATE_NAME, root->path);
	unsigned version = 0;
	int end = 0;
	bool valid = sscanf(text, "mapwright-store %u\nbytes %n", &version, &end) == 1 &&
		     end == BYTES_AT;
	if (version > VERSION)
		return error_set(e, -EPROTONOSUPPORT,
				 "%s: its format %u is newer than this program", root->path,
				 version);
	if ((valid && version == VERSION) || root->read_only)
		return 0;
	return write_state(root, e);
}

static int open_temporaries(struct root *root, struct mw_error *e)
{
	if (root->read_only)
		return 0;
	if (mkdirat(root->fd, TEMPORARIES_NAME, 0700) < 0 && errno != EEXIST)
		return error_errno(e, -errno, "%s/" TEMPORARIES_NAME, root->path);
	root->temporaries = openat(root->fd, TEMPORARIES_NAME,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (root->temporaries < 0)
		return error_errno(e, -errno, "%s/" TEMPORARIES_NAME, root->path);
	return 0;
}

static int open_parts(struct root *root, struct mw_error *e)
{
	int r = root->read_only ? 0 : make_directories(root->path);
	if (r < 0)
		return error_errno(e, r, "%s: cannot make the store", root->path);
	root->fd = open_directory(root->path, e);
	if (root->fd < 0)
		return root->fd;
	r = check_owner(root, e);
	if (r == 0)
		r = open_state(root, e);
	if (r < 0)
		return r;
	/* Under the account's lock, so that of two who make it one writes it. */
	if (!root->read_only) {
		r = wait_for_lock(root, LOCK_ACCOUNT, F_WRLCK);
		if (r < 0)
			return lock_failed(root, r, e);
	}
	r = check_state(root, e);
	set_lock(root, LOCK_ACCOUNT, F_UNLCK);
	return r < 0 ? r : open_temporaries(root, e);
}

int root_open(const char *path, bool read_only, struct root *ret, struct mw_error *e)
{
	*ret = (struct root){.fd = -1, .state = -1, .temporaries = -1, .read_only = read_only};
	ret->path = strdup(path);
	int r = ret->path ? open_parts(ret, e) : error_set(e, -ENOMEM, "no memory for a store");
	if (r < 0)
		root_close(ret);
	return r;
}

void root_close(struct root *root)
{
	int *fds[] = {&root->fd, &root->state, &root->temporaries};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	free(take_ptr(root->path));
}

/* ---- temporary files ------------------------------------------------------------------------- */

int root_make_temporary(const struct root *root, char name[ROOT_TEMPORARY_MAX], struct mw_error *e)
{
	for (int attempt = 0; attempt < 16; attempt++) {
		uint64_t number;
		if (getrandom(&number, sizeof number, 0) != sizeof number)
			return error_errno(e, -errno, "no random number");
		snprintf(name, ROOT_TEMPORARY_MAX, "%016" PRIx64, number);
		int fd = openat(root->temporaries, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
				0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			break;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		int code = -errno;
		close(fd);
		unlinkat(root->temporaries, name, 0);
		return error_errno(e, code, "%s/" TEMPORARIES_NAME "/%s", root->path, name);
	}
	return error_errno(e, -errno, "%s/" TEMPORARIES_NAME, root->path);
}

/* A regular file that is locked is being written; everything else has no business here. */
static bool is_left_over(const struct root *root, const char *name)
{
	_cleanup_close_ int fd = openat(root->temporaries, name,
					O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static DIR *list_temporaries(const struct root *root)
{
	int copy = openat(root->temporaries, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir && copy >= 0)
		close(copy);
	return dir;
}

bool root_has_temporaries(const struct root *root)
{
	return root->temporaries >= 0 && is_empty(root->temporaries) == 0;
}

int root_clean_temporaries(const struct root *root)
{
	DIR *dir = list_temporaries(root);
	if (!dir)
		return -errno;
	int cleaned = 0;
	for (struct dirent *d; (d = readdir(dir));) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    !is_left_over(root, d->d_name))
			continue;
		cleaned += unlinkat(root->temporaries, d->d_name, 0) == 0 ||
			   unlinkat(root->temporaries, d->d_name, AT_REMOVEDIR) == 0;
	}
	closedir(dir);
	return cleaned;
}

/* ---- places of entries ----------------------------------------------------------------------- */

/* What stands for the rest of an id of one byte. */
#define NO_REST "-"

int root_entry_path(const struct mw_file_id *id, char ret[ROOT_ENTRY_MAX])
{
	if (id->kind < MW_FILE_ID_GNU || id->kind > MW_FILE_ID_GNU_PADDED || id->size == 0 ||
	    id->size > MW_FILE_ID_MAX)
		return -EINVAL;
	int n = snprintf(ret, ROOT_ENTRY_MAX, "%s/%02x/", kind_name(id->kind), id->bytes[0]);
	if (id->size == 1)
		snprintf(ret + n, ROOT_ENTRY_MAX - (size_t)n, NO_REST);
	for (size_t i = 1; i < id->size; i++)
		n += snprintf(ret + n, ROOT_ENTRY_MAX - (size_t)n, "%02x", id->bytes[i]);
	return 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int append_hex(const char *text, struct mw_file_id *id)
{
	for (; *text; text += 2) {
		int high = hex_value(text[0]);
		int low = high < 0 ? -1 : hex_value(text[1]);
		if (low < 0 || id->size == MW_FILE_ID_MAX)
			return -EINVAL;
		id->bytes[id->size++] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

int root_entry_id(const char *kind, const char *first, const char *rest, struct mw_file_id *ret)
{
	*ret = (struct mw_file_id){};
	for (uint8_t i = MW_FILE_ID_GNU; i <= MW_FILE_ID_GNU_PADDED; i++) {
		if (strcmp(kind, kind_name(i)) == 0)
			ret->kind = i;
	}
	if (ret->kind == MW_FILE_ID_NONE || strlen(first) != 2 || append_hex(first, ret) < 0)
		return -EINVAL;
	if (strcmp(rest, NO_REST) == 0)
		return 0;
	return *rest ? append_hex(rest, ret) : -EINVAL;
}

/* Makes the directories of a relative path, one after the other. */
static int make_entry(const struct root *root, const char *path)
{
	char part[ROOT_ENTRY_MAX];
	for (size_t i = 1; i <= strlen(path); i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdirat(root->fd, part, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int root_open_entry(const struct root *root, const struct mw_file_id *id, bool make)
{
	char path[ROOT_ENTRY_MAX];
	int r = root_entry_path(id, path);
	if (r < 0)
		return r;
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(root->fd, path, flags);
	if (fd < 0 && errno == ENOENT && make) {
		r = make_entry(root, path);
		if (r < 0)
			return r;
		fd = openat(root->fd, path, flags);
	}
	return fd < 0 ? -errno : fd;
}
