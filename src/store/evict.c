/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/evict.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ENTRIES_MAX (1 << 22)
#define BLOCK       4096

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static DIR *open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* The next name but "." and "..". */
static const char *next_name(DIR *dir)
{
	for (;;) {
		struct dirent *d = readdir(dir);
		if (!d)
			return NULL;
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return d->d_name;
	}
}

/* By size, not by blocks: some file systems know the blocks only after a while. */
uint64_t evict_bytes_of(const struct stat *st)
{
	return ((uint64_t)st->st_size + BLOCK - 1) / BLOCK * BLOCK;
}

uint64_t evict_file_bytes(int dir, const char *name)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return evict_bytes_of(&st);
}

/* ---- walk ------------------------------------------------------------------------------------ */

static int measure(DIR *dir, struct walk_entry *entry)
{
	struct stat st;
	if (fstat(dirfd(dir), &st) < 0)
		return -errno;
	/* A clock that was ahead once must not make an entry young for ever. */
	entry->used_sec = MIN((int64_t)st.st_mtim.tv_sec, (int64_t)time(NULL));
	entry->used_nsec = st.st_mtim.tv_nsec;
	for (const char *name; (name = next_name(dir));) {
		entry->bytes += evict_file_bytes(dirfd(dir), name);
		entry->whole |= strcmp(name, "meta") == 0;
	}
	return 0;
}

static int walk_one(struct walk *walk, int first_fd, const char *kind, const char *first,
		    const char *rest, const struct log *log)
{
	struct mw_file_id id;
	if (root_entry_id(kind, first, rest, &id) < 0) {
		log_debug(log, "store: %s/%s/%s is no entry, left alone", kind, first, rest);
		return 0;
	}
	_cleanup_(close_dir) DIR *dir = open_dir(first_fd, rest);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	if (walk->entries.n == ENTRIES_MAX || walk->paths.n > UINT32_MAX - ROOT_ENTRY_MAX)
		return -E2BIG;
	struct walk_entry entry = {.path = (uint32_t)walk->paths.n};
	int r = measure(dir, &entry);
	if (r < 0)
		return r;
	buffer_printf(&walk->paths, "%s/%s/%s", kind, first, rest);
	buffer_u8(&walk->paths, 0);
	walk->bytes += entry.bytes;
	return walk->paths.failed ? -ENOMEM : vec_push(&walk->entries, entry);
}

static int walk_first(struct walk *walk, int kind_fd, const char *kind, const char *first,
		      const struct log *log)
{
	_cleanup_(close_dir) DIR *dir = open_dir(kind_fd, first);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	for (const char *rest; (rest = next_name(dir));) {
		int r = walk_one(walk, dirfd(dir), kind, first, rest, log);
		if (r < 0)
			return r;
	}
	return 0;
}

static int walk_kind(struct walk *walk, const struct root *root, const char *kind,
		     const struct log *log)
{
	_cleanup_(close_dir) DIR *dir = open_dir(root->fd, kind);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (const char *first; (first = next_name(dir));) {
		int r = walk_first(walk, dirfd(dir), kind, first, log);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_use(const void *a, const void *b)
{
	const struct walk_entry *x = a, *y = b;
	if (x->used_sec != y->used_sec)
		return x->used_sec < y->used_sec ? -1 : 1;
	return (x->used_nsec > y->used_nsec) - (x->used_nsec < y->used_nsec);
}

int walk_init(const struct root *root, const struct log *log, struct walk *ret, struct mw_error *e)
{
	*ret = (struct walk){};
	for (size_t i = 0; root_kinds[i]; i++) {
		int r = walk_kind(ret, root, root_kinds[i], log);
		if (r < 0) {
			walk_deinit(ret);
			return error_errno(e, r, "%s/%s", root->path, root_kinds[i]);
		}
	}
	if (ret->entries.n)
		qsort(ret->entries.items, ret->entries.n, sizeof *ret->entries.items, compare_use);
	return 0;
}

void walk_deinit(struct walk *walk)
{
	vec_deinit(&walk->entries);
	buffer_deinit(&walk->paths);
}

static const char *path_of(const struct walk *walk, const struct walk_entry *entry)
{
	return (const char *)walk->paths.data + entry->path;
}

int walk_entry_id(const struct walk *walk, const struct walk_entry *entry, struct mw_file_id *ret)
{
	char path[ROOT_ENTRY_MAX];
	snprintf(path, sizeof path, "%s", path_of(walk, entry));
	char *first = strchr(path, '/');
	char *rest = strrchr(path, '/');
	*first++ = '\0';
	*rest++ = '\0';
	return root_entry_id(path, first, rest, ret);
}

/* ---- removal --------------------------------------------------------------------------------- */

int evict_entry(const struct root *root, const char *path)
{
	_cleanup_(close_dir) DIR *dir = open_dir(root->fd, path);
	if (!dir)
		return -errno;
	if (unlinkat(dirfd(dir), "meta", 0) < 0 && errno != ENOENT)
		return -errno;
	for (const char *name; (name = next_name(dir));)
		unlinkat(dirfd(dir), name, 0);
	return unlinkat(root->fd, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static bool remove_logged(const struct root *root, const char *path, const char *why,
			  const struct log *log)
{
	int r = evict_entry(root, path);
	if (r < 0)
		log_debug(log, "store: cannot remove %s (%s): %s", path, why, strerrorname_np(-r));
	else
		log_debug(log, "store: removed %s (%s)", path, why);
	return r == 0;
}

static void evict_walk(const struct root *root, const struct walk *walk, uint64_t limit,
		       const struct log *log, struct store_usage *usage)
{
	bool over = walk->bytes > limit;
	uint64_t aim = limit - limit / 10;
	usage->bytes = walk->bytes;
	vec_foreach(entry, &walk->entries) {
		const char *path = path_of(walk, entry);
		bool evict = entry->whole && over && usage->bytes > aim;
		const char *why = entry->whole ? "the store is over its limit" : "it has no meta";
		if ((evict || !entry->whole) && remove_logged(root, path, why, log)) {
			usage->bytes -= entry->bytes;
			usage->evicted += evict;
			usage->cleaned += !evict;
		} else {
			usage->entries += entry->whole;
		}
	}
}

int evict_run(const struct root *root, uint64_t limit, const struct log *log,
	      struct store_usage *ret, struct mw_error *e)
{
	struct store_usage usage = {};
	int r = root_clean_temporaries(root);
	if (r < 0)
		return error_errno(e, r, "%s: cannot clean temporary files", root->path);
	usage.cleaned = (uint64_t)r;
	struct walk walk;
	r = walk_init(root, log, &walk, e);
	if (r < 0)
		return r;
	evict_walk(root, &walk, limit, log, &usage);
	walk_deinit(&walk);
	r = root_set_bytes(root, usage.bytes);
	if (r < 0)
		return error_errno(e, r, "%s: cannot keep account", root->path);
	if (ret)
		*ret = usage;
	return 0;
}
