/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/page_file.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* SQLite's lock byte for the one writer: others may read, and get "locked" if they want to write. */
#define RESERVED_BYTE 0x40000001

/* Offsets in the header on page 1 (SQLite's file format): what changes with each transaction. */
#define HEADER_COUNTER	     24 /* change counter, then the size in pages */
#define HEADER_COUNTER_END   32
#define HEADER_VALID_FOR     92 /* the counter that the size belongs to, then SQLite's version */
#define HEADER_VALID_FOR_END 100

struct held_page {
	uint64_t offset;
	uint8_t *data; /* owned, one page */
};

struct page_file {
	sqlite3_vfs vfs;
	char name[40];
	int fd;
	struct page_file_hooks hooks;
	VEC(struct held_page) held; /* pages of the open transaction */
	struct hash_index held_index;
	uint64_t size;      /* of the database as SQLite sees it, with the held pages */
	uint64_t disk_size; /* of the database in the file, without a redo block */
	uint64_t written;
	int error;  /* the first since it was asked for */
	int broken; /* an error after which the file must not change any more */
};

/* SQLite allocates this and hands it to the methods. */
struct handle {
	sqlite3_file base;
	struct page_file *f;
};

/* ---- redo block ------------------------------------------------------------------------------ */

/*
 * At the end of the file, directly behind the database:
 *   n pages | n page offsets / 4096 as u32 | tail
 * The checksum is zlib's crc32 over all of the block before it. Little endian.
 */
struct redo_tail {
	char magic[16];
	uint64_t database_size;
	uint32_t n;
	uint32_t crc;
};

static const char redo_magic[16] = "mapwright redo 1";

static uint64_t redo_size(uint64_t n)
{
	return n * (PAGE_FILE_PAGE + sizeof(uint32_t)) + sizeof(struct redo_tail);
}

static uint32_t checksum(const void *data, size_t size)
{
	return (uint32_t)crc32_z(0, data, size);
}

static bool redo_find(const uint8_t *data, size_t size, struct redo_tail *ret)
{
	if (size < sizeof *ret)
		return false;
	memcpy(ret, data + size - sizeof *ret, sizeof *ret);
	if (memcmp(ret->magic, redo_magic, sizeof redo_magic) != 0)
		return false;
	uint64_t block = redo_size(ret->n);
	if (block > size || ret->database_size != size - block)
		return false;
	return checksum(data + ret->database_size, block - sizeof ret->crc) == ret->crc;
}

bool redo_apply(uint8_t *data, size_t *size)
{
	struct redo_tail tail;
	if (!redo_find(data, *size, &tail))
		return false;
	const uint8_t *pages = data + tail.database_size;
	const uint8_t *numbers = pages + (size_t)tail.n * PAGE_FILE_PAGE;
	for (uint32_t i = 0; i < tail.n; i++) {
		uint32_t number;
		memcpy(&number, numbers + (size_t)i * sizeof number, sizeof number);
		uint64_t offset = (uint64_t)number * PAGE_FILE_PAGE;
		if (offset + PAGE_FILE_PAGE <= tail.database_size)
			memcpy(data + offset, pages + (size_t)i * PAGE_FILE_PAGE, PAGE_FILE_PAGE);
	}
	*size = tail.database_size;
	return true;
}

/* ---- held pages ------------------------------------------------------------------------------ */

static bool held_equal(const void *context, uint32_t entry, const void *key)
{
	const struct page_file *f = context;
	return f->held.items[entry].offset == *(const uint64_t *)key;
}

static struct held_page *held_find(const struct page_file *f, uint64_t offset)
{
	uint32_t at = hash_index_find(&f->held_index, hash_u64(offset), held_equal, f, &offset);
	return at == HASH_INDEX_NONE ? NULL : &f->held.items[at];
}

static int hold_page(struct page_file *f, uint64_t offset, const void *data)
{
	struct held_page *page = held_find(f, offset);
	if (page) {
		memcpy(page->data, data, PAGE_FILE_PAGE);
		return 0;
	}
	_cleanup_free_ uint8_t *copy = malloc(PAGE_FILE_PAGE);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, PAGE_FILE_PAGE);
	int r = vec_reserve(&f->held, f->held.n + 1);
	if (r == 0)
		r = hash_index_add(&f->held_index, hash_u64(offset), (uint32_t)f->held.n);
	if (r == 0)
		f->held.items[f->held.n++] = (struct held_page){offset, take_ptr(copy)};
	return r;
}

static void drop_held(struct page_file *f)
{
	vec_foreach(page, &f->held)
		free(page->data);
	f->held.n = 0;
	hash_index_deinit(&f->held_index);
	f->size = f->disk_size;
}

/* ---- commit ---------------------------------------------------------------------------------- */

static int write_page(struct page_file *f, uint64_t offset, const void *data, size_t size)
{
	int r = f->hooks.before_write ? f->hooks.before_write(f->hooks.data, offset, size) : 0;
	if (r < 0)
		return r;
	size_t done = 0;
	while (done < size) {
		ssize_t n = pwrite(f->fd, (const char *)data + done, size - done,
				   (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	f->written += size;
	return 0;
}

static int cut(struct page_file *f, uint64_t size)
{
	int r = f->hooks.before_truncate ? f->hooks.before_truncate(f->hooks.data, size) : 0;
	if (r < 0)
		return r;
	return ftruncate(f->fd, (off_t)size) < 0 ? -errno : 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct held_page *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int write_new_pages(struct page_file *f)
{
	vec_foreach(page, &f->held) {
		int r = page->offset < f->disk_size
				? 0
				: write_page(f, page->offset, page->data, PAGE_FILE_PAGE);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool only_header_changed(const uint8_t *before, const uint8_t *after)
{
	uint8_t same[PAGE_FILE_PAGE];
	memcpy(same, before, sizeof same);
	memcpy(same + HEADER_COUNTER, after + HEADER_COUNTER, HEADER_COUNTER_END - HEADER_COUNTER);
	memcpy(same + HEADER_VALID_FOR, after + HEADER_VALID_FOR,
	       HEADER_VALID_FOR_END - HEADER_VALID_FOR);
	return memcmp(same, after, sizeof same) == 0;
}

typedef VEC(const struct held_page *) page_list;

/*
 * The existing pages whose bytes change, page 1 first. *ret_atomic: at most one of them does, besides
 * counter and size on page 1, so that writing them in this order needs no redo block.
 */
static int find_changed(const struct page_file *f, page_list *ret, bool *ret_atomic)
{
	size_t n = 0;
	vec_foreach(page, &f->held) {
		uint8_t before[PAGE_FILE_PAGE];
		if (page->offset >= f->disk_size)
			continue;
		ssize_t r = io_pread(f->fd, before, sizeof before, page->offset);
		if (r < 0)
			return (int)r;
		if (r == sizeof before && memcmp(before, page->data, sizeof before) == 0)
			continue;
		if (r != sizeof before || page->offset || !only_header_changed(before, page->data))
			n++;
		if (vec_push(ret, page) < 0)
			return -ENOMEM;
	}
	*ret_atomic = n <= 1;
	return 0;
}

static int write_redo(struct page_file *f, const page_list *pages)
{
	uint64_t size = redo_size(pages->n);
	_cleanup_free_ uint8_t *block = calloc(1, size);
	if (!block)
		return -ENOMEM;
	uint8_t *number_at = block + pages->n * PAGE_FILE_PAGE;
	for (size_t i = 0; i < pages->n; i++) {
		uint32_t number = (uint32_t)(pages->items[i]->offset / PAGE_FILE_PAGE);
		memcpy(block + i * PAGE_FILE_PAGE, pages->items[i]->data, PAGE_FILE_PAGE);
		memcpy(number_at + i * sizeof number, &number, sizeof number);
	}
	struct redo_tail tail = {.database_size = f->size, .n = (uint32_t)pages->n};
	memcpy(tail.magic, redo_magic, sizeof tail.magic);
	memcpy(block + size - sizeof tail, &tail, sizeof tail);
	tail.crc = checksum(block, size - sizeof tail.crc);
	memcpy(block + size - sizeof tail, &tail, sizeof tail);
	for (uint64_t done = 0; done < size; done += PAGE_FILE_PAGE) {
		size_t n = MIN(size - done, (uint64_t)PAGE_FILE_PAGE);
		int r = write_page(f, f->size + done, block + done, n);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Steps 1 and 2: nothing that is referred to changes. */
static int prepare(struct page_file *f, page_list *changed, bool *ret_atomic)
{
	qsort(f->held.items, f->held.n, sizeof *f->held.items, by_offset);
	int r = find_changed(f, changed, ret_atomic);
	if (r == 0)
		r = write_new_pages(f);
	if (r == 0 && !*ret_atomic)
		r = write_redo(f, changed);
	return r;
}

/* Steps 3 to 5. */
static int apply(struct page_file *f, const page_list *changed, bool atomic)
{
	for (size_t i = 0; i < changed->n; i++) {
		const struct held_page *page = changed->items[i];
		int r = write_page(f, page->offset, page->data, PAGE_FILE_PAGE);
		if (r < 0)
			return r;
		if (page->offset == 0) /* its header counts the new pages */
			f->disk_size = MAX(f->disk_size, f->size);
	}
	return atomic && f->size >= f->disk_size ? 0 : cut(f, f->size);
}

/*
 * A failure in steps 1 and 2 takes back what they wrote. After that, a redo block that is complete
 * must stay untouched, since the pages before it may be half new: the file takes no more changes.
 */
static int commit_pages(struct page_file *f)
{
	page_list changed = {};
	bool atomic = true;
	int r = f->broken;
	if (r == 0 && f->held.n) {
		r = prepare(f, &changed, &atomic);
		if (r < 0 && cut(f, f->disk_size) < 0)
			f->broken = r;
	}
	if (r == 0) {
		r = apply(f, &changed, atomic);
		if (r < 0 && !atomic)
			f->broken = r;
	}
	if (r == 0)
		f->disk_size = f->size;
	vec_deinit(&changed);
	drop_held(f);
	return r;
}

/* Remembers what happened, which SQLite's codes do not tell. */
static int to_sqlite(struct page_file *f, int r, int otherwise)
{
	if (r >= 0)
		return SQLITE_OK;
	if (!f->error)
		f->error = r;
	if (r == -ENOMEM)
		return SQLITE_NOMEM;
	return r == -ENOSPC || r == -EDQUOT ? SQLITE_FULL : otherwise;
}

/* ---- methods of the file --------------------------------------------------------------------- */

static struct page_file *file_of(sqlite3_file *file)
{
	return ((struct handle *)file)->f;
}

static int file_close(sqlite3_file *file)
{
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *buf, int size, sqlite3_int64 offset)
{
	struct page_file *f = file_of(file);
	uint64_t in_page = (uint64_t)offset % PAGE_FILE_PAGE;
	const struct held_page *page = held_find(f, (uint64_t)offset - in_page);
	if (page && in_page + (uint64_t)size <= PAGE_FILE_PAGE) {
		memcpy(buf, page->data + in_page, (size_t)size);
		return SQLITE_OK;
	}
	ssize_t r = io_pread(f->fd, buf, (size_t)size, (uint64_t)offset);
	if (r < 0)
		return to_sqlite(f, (int)r, SQLITE_IOERR_READ);
	if (r == size)
		return SQLITE_OK;
	memset((char *)buf + r, 0, (size_t)(size - r));
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *buf, int size, sqlite3_int64 offset)
{
	struct page_file *f = file_of(file);
	if (size != PAGE_FILE_PAGE || offset % PAGE_FILE_PAGE)
		return to_sqlite(f, -EINVAL, SQLITE_IOERR_WRITE);
	int r = hold_page(f, (uint64_t)offset, buf);
	if (r == 0)
		f->size = MAX(f->size, (uint64_t)offset + PAGE_FILE_PAGE);
	return to_sqlite(f, r, SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct page_file *f = file_of(file);
	size_t kept = 0;
	hash_index_deinit(&f->held_index);
	vec_foreach(page, &f->held) {
		if (page->offset >= (uint64_t)size) {
			free(page->data);
			continue;
		}
		f->held.items[kept] = *page;
		if (hash_index_add(&f->held_index, hash_u64(page->offset), (uint32_t)kept++) < 0)
			return SQLITE_NOMEM;
	}
	f->held.n = kept;
	f->size = (uint64_t)size;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)file_of(file)->size;
	return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	return SQLITE_OK; /* page_file_sync() is called once, at close */
}

static int file_lock(sqlite3_file *file, int level)
{
	return SQLITE_OK; /* one connection has the file */
}

static int file_check_reserved(sqlite3_file *file, int *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

/* SQLite announces here that it has handed over all pages of a transaction, also without syncing. */
static int file_control(sqlite3_file *file, int op, void *argument)
{
	struct page_file *f = file_of(file);
	if (op != SQLITE_FCNTL_SYNC)
		return SQLITE_NOTFOUND;
	return to_sqlite(f, commit_pages(f), SQLITE_IOERR_WRITE);
}

static int file_sector_size(sqlite3_file *file)
{
	return PAGE_FILE_PAGE;
}

static int file_characteristics(sqlite3_file *file)
{
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_check_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
};

/* ---- methods of the VFS: it holds the one file and nothing beside it ------------------------- */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		    int *ret_flags)
{
	struct handle *h = (struct handle *)file;
	h->base.pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	h->base.pMethods = &methods;
	h->f = vfs->pAppData;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	snprintf(ret, (size_t)size, "%s", name);
	return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *ret)
{
	sqlite3_vfs *system = sqlite3_vfs_find("unix");
	return system ? system->xRandomness(system, size, ret) : 0;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	return 0;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
	sqlite3_vfs *system = sqlite3_vfs_find("unix");
	return system ? system->xCurrentTime(system, ret) : SQLITE_ERROR;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *ret)
{
	return 0;
}

int page_file_new(int fd, const struct page_file_hooks *hooks, struct page_file **ret)
{
	struct page_file *f = calloc(1, sizeof *f);
	if (!f)
		return -ENOMEM;
	f->fd = fd;
	if (hooks)
		f->hooks = *hooks;
	snprintf(f->name, sizeof f->name, "mapwright-%p", (void *)f);
	f->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct handle),
		.mxPathname = 64,
		.zName = f->name,
		.pAppData = f,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_path,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
		.xGetLastError = vfs_last_error,
	};
	if (sqlite3_vfs_register(&f->vfs, 0) != SQLITE_OK) {
		free(f);
		return -ENOMEM;
	}
	struct flock lock = {.l_type = F_WRLCK, .l_start = RESERVED_BYTE, .l_len = 1};
	fcntl(fd, F_OFD_SETLK, &lock); /* a help where the file system has locks, no more */
	*ret = f;
	return 0;
}

void page_file_free(struct page_file *f)
{
	if (!f)
		return;
	sqlite3_vfs_unregister(&f->vfs);
	drop_held(f);
	vec_deinit(&f->held);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

const char *page_file_vfs_name(const struct page_file *f)
{
	return f->name;
}

int page_file_take_error(struct page_file *f)
{
	int error = f->error;
	f->error = 0;
	return error;
}

uint64_t page_file_bytes_written(const struct page_file *f)
{
	return f->written;
}

int page_file_sync(struct page_file *f)
{
	return fdatasync(f->fd) < 0 ? -errno : 0;
}
