/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An entry is a directory (root.h says where) with `meta` and up to four parts, `names.gsym`,
 * `lines.gsym`, `unwind` and `code`. An entry without a meta is none.
 *
 * Readers take no lock: every file is replaced by rename, so each is whole, old or new. What can
 * disagree for a moment is a part and the meta that describes it. The meta holds the part's size
 * and a check of its head and tail; a reader to whom these do not fit looks again under the entry's
 * lock, and if they still do not fit (somebody was killed between the two renames, or the disk lost
 * what was not yet written) the part counts as absent and is built again.
 *
 * Writers: a part is written to a temporary file by whoever builds it. store_commit() holds the
 * store's lock shared and the entry's lock, writes the new meta to another temporary file, then
 * renames the part, then the meta. The account is raised before and lowered after, so that a kill
 * in between leaves it too high, never too low; a store that seems over its limit is counted anew.
 *
 * Temporary files have names, rather than O_TMPFILE: a file without a name would need one before it
 * can replace another anyway, and one way is better tested than two. They are locked while they are
 * in use, so left-over ones are told apart and go at the next opening.
 */
#include "store/store.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/io.h"
#include "store/evict.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

_Static_assert(sizeof((struct store_writer){}.name) == ROOT_TEMPORARY_MAX, "names fit");

#define META_NAME  "meta"
#define CHECK_SIZE 4096 /* bytes at either end of a part that its check covers */

static const char *const part_files[STORE_N_PARTS] = {
	[STORE_NAMES] = "names.gsym",
	[STORE_LINES] = "lines.gsym",
	[STORE_UNWIND] = "unwind",
	[STORE_CODE] = "code",
};

struct store {
	struct root root;
	uint64_t size_limit;
	const struct log *log;
	bool temporary; /* goes with the last close */
	struct store *elsewhere; /* NULL as long as this one can be written */
	int elsewhere_cause;
};

DEFINE_CLEANUP(struct store *, store_close)

/* ---- opening --------------------------------------------------------------------------------- */

static int default_directory(char ret[PATH_MAX], struct mw_error *e)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;
	if (geteuid() == 0)
		n = snprintf(ret, PATH_MAX, "/var/cache/mapwright");
	else if (cache && cache[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/mapwright", cache);
	else if (home && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.cache/mapwright", home);
	if (n < 0)
		return error_set(e, -ENOENT,
				 "no place for a store: neither XDG_CACHE_HOME nor HOME is set");
	return n < PATH_MAX ? 0 : error_set(e, -ENAMETOOLONG, "the store's path is too long");
}

static bool is_unwritable(int code)
{
	return code == -EROFS || code == -EACCES || code == -EPERM;
}

/* Counts if the account is not known, cleans if something was left over and nobody is at work. */
static int tidy(struct store *store, struct mw_error *e)
{
	uint64_t bytes;
	int r = root_bytes(&store->root, &bytes);
	if (r < 0)
		return error_errno(e, r, "%s", store->root.path);
	if (bytes == ROOT_BYTES_UNKNOWN)
		return store_gc(store, NULL, e);
	if (root_has_temporaries(&store->root) && root_try_lock(&store->root)) {
		root_clean_temporaries(&store->root);
		root_unlock(&store->root);
	}
	return 0;
}

int store_open(const struct store_options *options, struct store **ret, struct mw_error *e)
{
	char path[PATH_MAX];
	int r = options->directory ? 0 : default_directory(path, e);
	if (r < 0)
		return r;
	_cleanup_(cleanup_store_close) struct store *store = calloc(1, sizeof *store);
	if (!store)
		return error_set(e, -ENOMEM, "no memory for a store");
	store->root = (struct root){.fd = -1, .state = -1, .temporaries = -1};
	store->size_limit = options->size_limit ? options->size_limit : STORE_SIZE_LIMIT;
	store->log = options->log;
	const char *directory = options->directory ? options->directory : path;
	r = root_open(directory, options->read_only, &store->root, e);
	if (is_unwritable(r) && options->allow_read_only)
		r = root_open(directory, true, &store->root, e);
	if (r == 0 && !store->root.read_only)
		r = tidy(store, e);
	if (r < 0)
		return r;
	*ret = take_ptr(store);
	return 0;
}

int store_open_temporary(const struct store_options *options, struct store **ret,
			 struct mw_error *e)
{
	const char *places[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
	int r = -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char path[PATH_MAX];
		if (!places[i] || places[i][0] != '/' ||
		    snprintf(path, sizeof path, "%s/mapwright-XXXXXX", places[i]) >= PATH_MAX)
			continue;
		if (!mkdtemp(path)) {
			r = error_errno(e, -errno, "%s: cannot make a temporary store", places[i]);
			continue;
		}
		struct store_options here = *options;
		here.directory = path;
		here.allow_read_only = false;
		struct store *store = NULL;
		r = store_open(&here, &store, e);
		if (r == 0 && store) {
			store->temporary = true;
			*ret = store;
			return 0;
		}
		rmdir(path);
	}
	return r;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store_close(store->elsewhere);
	if (store->temporary)
		nftw(store->root.path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	root_close(&store->root);
	free(store);
}

/* ---- when its disk is full --------------------------------------------------------------------- */

/* Of what a recording may put into /tmp or into memory. */
#define ELSEWHERE_SIZE_LIMIT (UINT64_C(64) << 20)

bool store_is_disk_error(int code)
{
	return code == -ENOSPC || code == -EDQUOT || code == -EROFS;
}

int store_go_elsewhere(struct store *store, int cause, struct mw_error *e)
{
	if (store->elsewhere)
		return 0;
	store->elsewhere_cause = cause;
	const struct store_options options = {.size_limit = ELSEWHERE_SIZE_LIMIT, .log = store->log};
	return store_open_temporary(&options, &store->elsewhere, e);
}

int store_elsewhere_cause(const struct store *store)
{
	return store->elsewhere ? store->elsewhere_cause : 0;
}

const char *store_directory(const struct store *store)
{
	return store->root.path;
}

bool store_is_read_only(const struct store *store)
{
	return store->root.read_only;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void log_entry(const struct store *store, const struct mw_file_id *id, const char *what)
{
	char text[MW_FILE_ID_TEXT_MAX];
	if (!log_wanted(store->log))
		return;
	mw_file_id_to_text(id, text, sizeof text);
	log_debug(store->log, "store: %s: %s", text, what);
}

/*
 * What io_read_text() says of something that is no file of ours, rather than of trouble on the way.
 */
static bool is_damage(int code)
{
	return code == -EBADMSG || code == -EFBIG || code == -EISDIR || code == -ELOOP ||
	       code == -ENXIO;
}

/* 1: read, 0: there is none, or it is damaged or of another id (logged), or -errno. */
static int read_meta(const struct store *store, int entry, const struct mw_file_id *id,
		     struct meta *ret)
{
	*ret = (struct meta){};
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = io_read_text(entry, META_NAME, META_TEXT_MAX, &text, &size);
	if (r == -ENOENT)
		return 0;
	struct mw_error why = {.msg = "meta is no file"};
	if (r == 0)
		r = meta_parse(text, size, ret, &why);
	if (r == 0 && !mw_file_id_equal(&ret->id, id)) {
		meta_deinit(ret);
		r = error_set(&why, -EBADMSG, "meta is of another file id");
	}
	if (is_damage(r)) {
		log_entry(store, id, why.msg);
		return 0;
	}
	return r < 0 ? r : 1;
}

static void touch(int entry)
{
	struct stat st;
	time_t now = time(NULL);
	if (fstat(entry, &st) == 0 &&
	    (st.st_mtime > now || now - st.st_mtime >= EVICT_FRESH_SECONDS))
		futimens(entry, NULL); /* best effort: a store of somebody else cannot be touched */
}

static int entry_failed(const struct store *store, int r, struct mw_error *e)
{
	return error_errno(e, r, "%s: an entry", store->root.path);
}

int store_lookup(struct store *store, const struct mw_file_id *id, struct meta *ret,
		 struct mw_error *e)
{
	if (store->elsewhere && store_lookup(store->elsewhere, id, ret, NULL) == 1)
		return 1;
	*ret = (struct meta){};
	_cleanup_close_ int entry = root_open_entry(&store->root, id, false);
	if (entry == -ENOENT)
		return 0;
	if (entry < 0)
		return entry_failed(store, entry, e);
	int r = read_meta(store, entry, id, ret);
	if (r < 0)
		return entry_failed(store, r, e);
	if (r > 0)
		touch(entry);
	return r;
}

static int check_of(int fd, uint64_t size, uint64_t *ret)
{
	uint8_t bytes[CHECK_SIZE];
	ssize_t n = io_pread(fd, bytes, sizeof bytes, 0);
	if (n < 0)
		return (int)n;
	uint64_t hash = hash_bytes(bytes, (size_t)n, size);
	n = io_pread(fd, bytes, sizeof bytes, size > CHECK_SIZE ? size - CHECK_SIZE : 0);
	if (n < 0)
		return (int)n;
	*ret = hash_bytes(bytes, (size_t)n, hash);
	return 0;
}

/*
 * The descriptor, -ENOENT if none is described, -ESTALE if the file is not the one described, or
 * another -errno.
 */
static int open_described(int entry, enum store_part part, const struct meta_part *described)
{
	if (!described->present)
		return -ENOENT;
	_cleanup_close_ int fd = openat(entry, part_files[part],
					O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? -ESTALE : -errno;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	uint64_t check = 0;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != described->size)
		return -ESTALE;
	int r = check_of(fd, described->size, &check);
	if (r < 0)
		return r;
	return check == described->check ? take_fd(fd) : -ESTALE;
}

/* Meta and part that belong together. The descriptor, or as open_described(). */
static int open_pair(const struct store *store, int entry, const struct mw_file_id *id,
		     enum store_part part, struct meta *ret)
{
	int r = read_meta(store, entry, id, ret);
	if (r < 0)
		return r;
	int fd = r > 0 ? open_described(entry, part, &ret->parts[part]) : -ENOENT;
	if (fd < 0)
		meta_deinit(ret);
	return fd;
}

/* The same, while nobody is between his two renames. */
static int open_pair_locked(struct store *store, int entry, const struct mw_file_id *id,
			    enum store_part part, struct meta *ret)
{
	int r = root_lock_entry(&store->root, id, NULL);
	if (r < 0)
		return r;
	int fd = open_pair(store, entry, id, part, ret);
	root_unlock_entry(&store->root, id);
	return fd;
}

int store_open_part(struct store *store, const struct mw_file_id *id, enum store_part part,
		    struct meta *ret, struct mw_error *e)
{
	if (store->elsewhere) {
		int there = store_open_part(store->elsewhere, id, part, ret, NULL);
		if (there >= 0)
			return there;
	}
	_cleanup_close_ int entry = root_open_entry(&store->root, id, false);
	if (entry == -ENOENT)
		return -ENOENT;
	if (entry < 0)
		return entry_failed(store, entry, e);
	struct meta meta;
	int fd = open_pair(store, entry, id, part, &meta);
	if (fd == -ESTALE && !store->root.read_only)
		fd = open_pair_locked(store, entry, id, part, &meta);
	if (fd == -ESTALE)
		log_entry(store, id, "a part is not the one that its meta describes");
	if (fd == -ENOENT || fd == -ESTALE)
		return error_set(e, -ENOENT, "no %s in the store", store_part_name(part));
	if (fd < 0)
		return entry_failed(store, fd, e);
	touch(entry);
	if (ret)
		*ret = meta;
	else
		meta_deinit(&meta);
	return fd;
}

static bool has_meta(const struct store *store, const struct mw_file_id *id)
{
	char path[ROOT_ENTRY_MAX + sizeof "/" META_NAME];
	if (root_entry_path(id, path) < 0)
		return false;
	strcat(path, "/" META_NAME);
	return faccessat(store->root.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (store->elsewhere && has_meta(store->elsewhere, id));
}

int store_complete_id(struct store *store, const struct mw_file_id *padded, struct mw_file_id *ret)
{
	if (padded->kind != MW_FILE_ID_GNU_PADDED || padded->size != 20)
		return -EINVAL;
	struct mw_file_id candidate = *padded;
	candidate.kind = MW_FILE_ID_GNU;
	int found = 0;
	for (;; candidate.size--) {
		if (has_meta(store, &candidate)) {
			*ret = candidate;
			found++;
		}
		if (candidate.size == 1 || candidate.bytes[candidate.size - 1] != 0)
			break;
	}
	return found == 1 ? 0 : found ? -ENOTUNIQ : -ENOENT;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool store_wants(const struct meta *meta, enum store_part part, uint32_t rank, uint32_t builder)
{
	const struct meta_part *old = &meta->parts[part];
	return !old->present || rank > old->rank || (rank == old->rank && builder > old->builder);
}

int store_begin(struct store *store, const struct mw_file_id *id, enum store_part part,
		struct store_writer *ret, struct mw_error *e)
{
	char path[ROOT_ENTRY_MAX];
	if (store->elsewhere) {
		int there = store_begin(store->elsewhere, id, part, ret, e);
		ret->is_elsewhere = true;
		return there;
	}
	*ret = (struct store_writer){.id = *id, .part = part, .fd = -1};
	if ((unsigned)part >= STORE_N_PARTS || root_entry_path(id, path) < 0)
		return error_set(e, -EINVAL, "no such part, or no file id");
	int r = root_lock(&store->root, ROOT_SHARED, e);
	if (r < 0)
		return r;
	ret->fd = root_make_temporary(&store->root, ret->name, e);
	root_unlock(&store->root);
	return MIN(ret->fd, 0);
}

void store_abort(struct store *store, struct store_writer *writer)
{
	if (writer->fd < 0)
		return;
	if (writer->is_elsewhere)
		store = store->elsewhere;
	unlinkat(store->root.temporaries, writer->name, 0);
	close(take_fd(writer->fd));
}

/* A change of an entry, from its locking to its unlocking. */
struct change {
	struct store *store;
	const struct mw_file_id *id;
	int entry; /* directory */
	struct meta meta;
	struct buffer old_text; /* of the meta as it was, empty if there was none */
};

static int read_old(struct change *change)
{
	int r = read_meta(change->store, change->entry, change->id, &change->meta);
	if (r < 0)
		return r;
	if (r > 0)
		return meta_format(&change->meta, &change->old_text);
	change->meta.id = *change->id;
	return 0;
}

/* Locks the entry, makes it if there is none, reads its meta. */
static int change_begin(struct change *change, struct store *store, const struct mw_file_id *id,
			struct mw_error *e)
{
	*change = (struct change){.store = store, .id = id, .entry = -1};
	int r = root_lock(&store->root, ROOT_SHARED, e);
	if (r < 0)
		return r;
	r = root_lock_entry(&store->root, id, e);
	if (r < 0) {
		root_unlock(&store->root);
		return r;
	}
	change->entry = root_open_entry(&store->root, id, true);
	r = change->entry < 0 ? change->entry : read_old(change);
	return r < 0 ? entry_failed(store, r, e) : 0;
}

/* Also after a change_begin() that failed. */
static void change_end(struct change *change)
{
	if (change->entry >= 0)
		close(change->entry);
	root_unlock_entry(&change->store->root, change->id);
	root_unlock(&change->store->root);
	meta_deinit(&change->meta);
	buffer_deinit(&change->old_text);
}

/* Writes the meta to a temporary file. 1 and its name, or 0 if it would be the same as before. */
static int write_meta(struct change *change, char name[ROOT_TEMPORARY_MAX], uint64_t *ret_bytes,
		      struct mw_error *e)
{
	const struct root *root = &change->store->root;
	struct buffer text = {};
	int r = meta_format(&change->meta, &text);
	if (r == 0 && text.n && text.n == change->old_text.n &&
	    memcmp(text.data, change->old_text.data, text.n) == 0) {
		buffer_deinit(&text);
		return 0;
	}
	_cleanup_close_ int fd = r < 0 ? -1 : root_make_temporary(root, name, e);
	if (fd >= 0) {
		r = io_write(fd, text.data, text.n);
		if (r < 0)
			unlinkat(root->temporaries, name, 0);
	}
	buffer_deinit(&text);
	if (r < 0)
		return error_errno(e, r, "%s: cannot write a meta", root->path);
	if (fd < 0)
		return fd;
	*ret_bytes = evict_file_bytes(root->temporaries, name);
	return 1;
}

static int put_in_place(const struct change *change, const char *temporary, const char *name,
			struct mw_error *e)
{
	const struct root *root = &change->store->root;
	if (renameat(root->temporaries, temporary, change->entry, name) == 0)
		return 0;
	return error_errno(e, -errno, "%s: cannot replace a %s", root->path, name);
}

/*
 * Puts the new meta in place, and before it the part that the writer has written, if there is one.
 * The account holds old and new in between.
 */
static int change_apply(struct change *change, const struct store_writer *writer,
			uint64_t part_bytes, struct mw_error *e)
{
	const struct root *root = &change->store->root;
	const char *part_file = writer ? part_files[writer->part] : NULL;
	char meta_name[ROOT_TEMPORARY_MAX];
	uint64_t meta_bytes = 0;
	int written = write_meta(change, meta_name, &meta_bytes, e);
	if (written < 0 || (!written && !writer))
		return written;
	uint64_t old_bytes = written ? evict_file_bytes(change->entry, META_NAME) : 0;
	old_bytes += writer ? evict_file_bytes(change->entry, part_file) : 0;
	int r = root_add_bytes(root, (int64_t)(part_bytes + meta_bytes));
	if (r < 0)
		error_errno(e, r, "%s: cannot keep account", root->path);
	if (r == 0 && writer)
		r = put_in_place(change, writer->name, part_file, e);
	if (r == 0 && written)
		r = put_in_place(change, meta_name, META_NAME, e);
	if (r < 0 && written)
		unlinkat(root->temporaries, meta_name, 0);
	if (r == 0)
		root_add_bytes(root, -(int64_t)old_bytes); /* else the next count puts it right */
	return r;
}

static bool is_over(const struct store *store)
{
	uint64_t bytes;
	return root_bytes(&store->root, &bytes) == 0 && bytes > store->size_limit;
}

/* What cannot be evicted now is at the next commit; the commit that brought us here is done. */
static void evict_if_over(struct store *store)
{
	struct mw_error why;
	if (!is_over(store))
		return;
	int r = root_lock(&store->root, ROOT_EXCLUSIVE, &why);
	if (r == 0 && is_over(store)) /* still, after whoever held the lock */
		r = evict_run(&store->root, store->size_limit, store->log, NULL, &why);
	if (r < 0)
		log_debug(store->log, "store: cannot evict: %s", why.msg);
	root_unlock(&store->root);
}

static int describe(const struct store *store, const struct store_writer *writer,
		    const struct store_commit *commit, struct meta_part *ret, uint64_t *ret_bytes,
		    struct mw_error *e)
{
	struct stat st;
	if (writer->fd < 0 || !meta_source_is_valid(commit->source))
		return error_set(e, -EINVAL, "no part, or no valid source");
	if (fstat(writer->fd, &st) < 0)
		return error_errno(e, -errno, "%s: a new part", store->root.path);
	*ret = (struct meta_part){.present = true,
				  .rank = commit->rank,
				  .builder = commit->builder,
				  .size = (uint64_t)st.st_size};
	*ret_bytes = evict_bytes_of(&st);
	strcpy(ret->source, commit->source);
	if (ret->size > STORE_PART_MAX || *ret_bytes > store->size_limit / 2)
		return error_set(e, -EFBIG, "a part of %llu bytes is too large for the store",
				 (unsigned long long)ret->size);
	int r = check_of(writer->fd, ret->size, &ret->check);
	return r < 0 ? error_errno(e, r, "%s: a new part", store->root.path) : 0;
}

/* Pieces tell of the names, and of these names only. */
static int replace_pieces(struct meta *meta, const struct meta *about)
{
	meta->pieces.n = 0;
	if (!about || !about->pieces.n)
		return 0;
	int r = vec_reserve(&meta->pieces, about->pieces.n);
	if (r < 0)
		return r;
	memcpy(meta->pieces.items, about->pieces.items,
	       about->pieces.n * sizeof *about->pieces.items);
	meta->pieces.n = about->pieces.n;
	meta_sort_pieces(meta);
	return 0;
}

/* An entry is of one content: of another one with the same id nothing is taken. */
static int merge(struct meta *meta, const struct meta *about)
{
	return meta_is_of_another(meta, about) ? -ESTALE : meta_merge(meta, about);
}

/* A part whose file is not what the meta says must not stand in the way of a new one. */
static void forget_broken_part(struct change *change, enum store_part part)
{
	struct meta_part *described = &change->meta.parts[part];
	_cleanup_close_ int fd = open_described(change->entry, part, described);
	if (fd == -ESTALE)
		*described = (struct meta_part){};
}

/* 1: the part is wanted, and the meta describes it; 0: only `about` was merged. */
static int prepare_meta(struct change *change, enum store_part part,
			const struct meta_part *described, const struct meta *about)
{
	struct meta *meta = &change->meta;
	int r = about ? merge(meta, about) : 0;
	if (r < 0)
		return r;
	forget_broken_part(change, part);
	if (!store_wants(meta, part, described->rank, described->builder))
		return 0;
	meta->parts[part] = *described;
	meta->failures[part] = (struct meta_failure){};
	r = part == STORE_NAMES ? replace_pieces(meta, about) : 0;
	return r < 0 ? r : 1;
}

static int commit_locked(struct store *store, struct store_writer *writer,
			 const struct store_commit *commit, struct mw_error *e)
{
	struct meta_part described = {};
	uint64_t bytes = 0;
	int r = describe(store, writer, commit, &described, &bytes, e);
	if (r < 0)
		return r;
	struct change change;
	r = change_begin(&change, store, &writer->id, e);
	if (r < 0) {
		change_end(&change);
		return r;
	}
	int wanted = prepare_meta(&change, writer->part, &described, commit->about);
	if (wanted < 0)
		r = error_errno(e, wanted, "%s: an entry", store->root.path);
	else
		r = change_apply(&change, wanted ? writer : NULL, wanted ? bytes : 0, e);
	change_end(&change);
	return r < 0 ? r : wanted;
}

int store_commit(struct store *store, struct store_writer *writer,
		 const struct store_commit *commit, struct mw_error *e)
{
	if (writer->is_elsewhere) {
		writer->is_elsewhere = false;
		return store_commit(store->elsewhere, writer, commit, e);
	}
	int r = commit_locked(store, writer, commit, e);
	store_abort(store, writer); /* after a commit the name is gone, and this only closes */
	if (r >= 0)
		evict_if_over(store);
	return r;
}

int store_update(struct store *store, const struct mw_file_id *id, const struct meta *about,
		 struct mw_error *e)
{
	struct change change;
	if (store->elsewhere)
		return store_update(store->elsewhere, id, about, e);
	int r = change_begin(&change, store, id, e);
	if (r == 0) {
		r = merge(&change.meta, about);
		r = r < 0 ? error_errno(e, r, "%s: an entry", store->root.path)
			  : change_apply(&change, NULL, 0, e);
	}
	change_end(&change);
	if (r >= 0)
		evict_if_over(store);
	return MIN(r, 0);
}

/* ---- upkeep ---------------------------------------------------------------------------------- */

int store_gc(struct store *store, struct store_usage *ret, struct mw_error *e)
{
	int r = root_lock(&store->root, ROOT_EXCLUSIVE, e);
	if (r < 0)
		return r;
	r = evict_run(&store->root, store->size_limit, store->log, ret, e);
	root_unlock(&store->root);
	return r;
}

int store_bytes(struct store *store, uint64_t *ret, struct mw_error *e)
{
	int r = root_bytes(&store->root, ret);
	return r < 0 ? error_errno(e, r, "%s", store->root.path) : 0;
}

int store_remove(struct store *store, const struct mw_file_id *id, struct mw_error *e)
{
	char path[ROOT_ENTRY_MAX];
	int r = root_entry_path(id, path);
	if (r < 0)
		return error_set(e, r, "no file id");
	struct change change;
	if (!has_meta(store, id))
		return 0;
	r = change_begin(&change, store, id, e);
	if (r == 0) {
		uint64_t bytes = evict_file_bytes(change.entry, META_NAME);
		for (size_t i = 0; i < STORE_N_PARTS; i++)
			bytes += evict_file_bytes(change.entry, part_files[i]);
		r = evict_entry(&store->root, path);
		if (r == 0)
			r = root_add_bytes(&store->root, -(int64_t)bytes);
		if (r < 0)
			entry_failed(store, r, e);
	}
	change_end(&change);
	return r < 0 ? r : 1;
}

int store_each(struct store *store, int (*fn)(void *data, const struct store_entry *entry),
	       void *data, struct mw_error *e)
{
	struct walk walk;
	int r = walk_init(&store->root, store->log, &walk, e);
	if (r < 0)
		return r;
	vec_foreach(item, &walk.entries) {
		struct store_entry entry = {.bytes = item->bytes, .used = item->used_sec};
		if (!item->whole || walk_entry_id(&walk, item, &entry.id) < 0)
			continue;
		r = fn(data, &entry);
		if (r != 0)
			break;
	}
	walk_deinit(&walk);
	return r;
}
