/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/reader.h"

#include "base/cursor.h"
#include "base/error.h"
#include "base/io.h"
#include "profile/codec.h"
#include "profile/page_file.h"
#include "profile/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

/* Offsets in SQLite's file header. */
#define HEADER_SIZE	      100
#define HEADER_PAGE_SIZE      16 /* big endian, 1 stands for 65536 */
#define HEADER_WRITE_VERSION  18 /* 2 means WAL */
#define HEADER_READ_VERSION   19
#define HEADER_COUNTER	      24
#define HEADER_N_PAGES	      28
#define HEADER_USER_VERSION   60
#define HEADER_APPLICATION_ID 68
#define HEADER_VALID_FOR      92

/* All chunks together, unpacked: what a file may make a reader do. */
#define RAW_MAX (UINT64_C(16) << 30)
/* SQLite's instructions between two questions whether to go on, and how many in all. */
#define PROGRESS_STEP 100000
#define PROGRESS_MAX  20000

struct reader {
	const char *name;
	struct profile *p;
	struct codec_decoder decoder;
	sqlite3 *db;
	ZSTD_DCtx *zstd;
	uint8_t *raw; /* owned, SCHEMA_CHUNK_MAX at most */
	size_t raw_capacity;
	uint64_t raw_total;
	int progress;
	uint64_t n_bad; /* chunks that could not be used */
	char first_bad[160];
};

static const char sqlite_magic[16] = "SQLite format 3";

static uint32_t header_u32(const uint8_t *head, size_t at)
{
	struct cursor c = cursor_init(head + at, sizeof(uint32_t), true);
	return cursor_u32(&c);
}

bool profile_is_profile(const void *head, size_t size)
{
	return size >= HEADER_APPLICATION_ID + sizeof(uint32_t) &&
	       memcmp(head, sqlite_magic, sizeof sqlite_magic) == 0 &&
	       header_u32(head, HEADER_APPLICATION_ID) == SCHEMA_APPLICATION_ID;
}

static int add_damage(struct profile *p, const char *text)
{
	char *both;
	if (asprintf(&both, "%s%s%s", p->damage ? p->damage : "", p->damage ? "; " : "", text) < 0)
		return -ENOMEM;
	free(p->damage);
	p->damage = both;
	return 0;
}

/* ---- the database ---------------------------------------------------------------------------- */

/*
 * Puts right what may be wrong with a file that is otherwise good: the mark of WAL, which a tool may
 * have left, and a number of pages that a file cut short no longer has.
 */
static int mend_header(struct reader *rd, uint8_t *data, size_t *size, struct mw_error *e)
{
	uint32_t version = header_u32(data, HEADER_USER_VERSION);
	if (version >> 16 != PROFILE_MAJOR)
		return error_set(e, version >> 16 > PROFILE_MAJOR ? -ENOTSUP : -EBADMSG,
				 "%s: profile format %u.%u, this program reads %u.x", rd->name,
				 version >> 16, version & 0xffff, PROFILE_MAJOR);
	if (data[HEADER_PAGE_SIZE] != PAGE_FILE_PAGE >> 8 || data[HEADER_PAGE_SIZE + 1])
		return error_at(e, -EBADMSG, HEADER_PAGE_SIZE, "%s: page size is not %u", rd->name,
				PAGE_FILE_PAGE);
	data[HEADER_WRITE_VERSION] = data[HEADER_READ_VERSION] = 1;
	uint64_t claimed = (uint64_t)header_u32(data, HEADER_N_PAGES) * PAGE_FILE_PAGE;
	if (claimed > *size) {
		char text[120];
		snprintf(text, sizeof text, "cut short: %zu of %" PRIu64 " bytes are there", *size,
			 claimed);
		if (add_damage(rd->p, text) < 0)
			return -ENOMEM;
	}
	*size -= *size % PAGE_FILE_PAGE;
	uint32_t n = __builtin_bswap32((uint32_t)(MIN(claimed, *size) / PAGE_FILE_PAGE));
	memcpy(data + HEADER_N_PAGES, &n, sizeof n);
	memcpy(data + HEADER_VALID_FOR, data + HEADER_COUNTER, sizeof n);
	return 0;
}

/* Only what reading a plain table needs: no functions, no pragmas, no recursion. */
static int authorize(void *data, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static int on_progress(void *data)
{
	struct reader *rd = data;
	return ++rd->progress > PROGRESS_MAX;
}

static int bad_database(struct reader *rd, struct mw_error *e)
{
	int r = sqlite3_errcode(rd->db) == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
	return error_set(e, r, "%s: damaged profile: %s", rd->name, sqlite3_errmsg(rd->db));
}

static int open_database(struct reader *rd, uint8_t *data, size_t size, struct mw_error *e)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(":memory:", &rd->db, flags, NULL) != SQLITE_OK)
		return error_set(e, -ENOMEM, "%s: cannot start SQLite", rd->name);
	sqlite3_db_config(rd->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(rd->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(rd->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(rd->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(rd->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(rd->db, SQLITE_LIMIT_LENGTH, (int)(SCHEMA_CHUNK_MAX + 4096));
	sqlite3_limit(rd->db, SQLITE_LIMIT_SQL_LENGTH, 10000);
	sqlite3_limit(rd->db, SQLITE_LIMIT_COLUMN, 100);
	sqlite3_limit(rd->db, SQLITE_LIMIT_EXPR_DEPTH, 20);
	sqlite3_limit(rd->db, SQLITE_LIMIT_VDBE_OP, 25000);
	sqlite3_limit(rd->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_progress_handler(rd->db, PROGRESS_STEP, on_progress, rd);
	int code = sqlite3_deserialize(rd->db, "main", data, (sqlite3_int64)size,
				       (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY);
	if (code == SQLITE_OK) /* only now: deserializing attaches, inside */
		code = sqlite3_set_authorizer(rd->db, authorize, NULL);
	return code == SQLITE_OK ? 0 : bad_database(rd, e);
}

static int prepare(struct reader *rd, const char *sql, sqlite3_stmt **ret, struct mw_error *e)
{
	return sqlite3_prepare_v2(rd->db, sql, -1, ret, NULL) == SQLITE_OK ? 0
									    : bad_database(rd, e);
}

/* `chunk` must be a table, not a virtual one, which has no pages. */
static int check_schema(struct reader *rd, struct mw_error *e)
{
	sqlite3_stmt *s = NULL;
	int r = prepare(rd, "SELECT type, rootpage FROM sqlite_schema WHERE name = 'chunk'", &s, e);
	if (r == 0) {
		const char *type = sqlite3_step(s) == SQLITE_ROW
					   ? (const char *)sqlite3_column_text(s, 0)
					   : NULL;
		if (!type || strcmp(type, "table") != 0 || sqlite3_column_int64(s, 1) <= 0)
			r = error_set(e, -EBADMSG, "%s: damaged profile: it has no table of chunks",
				      rd->name);
	}
	sqlite3_finalize(s);
	return r;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int reserve_raw(struct reader *rd, size_t size)
{
	if (size <= rd->raw_capacity)
		return 0;
	uint8_t *raw = realloc(rd->raw, size);
	if (!raw)
		return -ENOMEM;
	rd->raw = raw;
	rd->raw_capacity = size;
	return 0;
}

static int unpack_chunk(struct reader *rd, sqlite3_stmt *s, size_t *ret_size, struct mw_error *e)
{
	sqlite3_int64 claimed = sqlite3_column_int64(s, 2);
	const void *data = sqlite3_column_blob(s, 3);
	int n = sqlite3_column_bytes(s, 3);
	if (claimed < 0 || (uint64_t)claimed > SCHEMA_CHUNK_MAX)
		return error_set(e, -EBADMSG, "claims %lld bytes", (long long)claimed);
	rd->raw_total += (uint64_t)claimed;
	if (rd->raw_total > RAW_MAX)
		return error_set(e, -EFBIG, "more data than a profile can have");
	int r = reserve_raw(rd, (size_t)claimed + 1);
	if (r < 0)
		return r;
	size_t size = ZSTD_decompressDCtx(rd->zstd, rd->raw, (size_t)claimed, data, (size_t)n);
	if (ZSTD_isError(size))
		return error_set(e, -EBADMSG, "%s", ZSTD_getErrorName(size));
	if (size != (size_t)claimed)
		return error_set(e, -EBADMSG, "has %zu bytes and claims %lld", size,
				 (long long)claimed);
	*ret_size = size;
	return 0;
}

/* -EBADMSG: this chunk is of no use, the next may be. Any other error ends the reading. */
static int read_chunk(struct reader *rd, sqlite3_stmt *s, struct mw_error *e)
{
	if (sqlite3_column_int64(s, 1) != SCHEMA_CHUNK_RECORDS)
		return 0; /* from a later minor version */
	size_t size = 0;
	int r = unpack_chunk(rd, s, &size, e);
	return r < 0 ? r : codec_decode(&rd->decoder, rd->raw, size, e);
}

static int end_of_chunks(struct reader *rd, int code)
{
	char text[200];
	if (code == SQLITE_NOMEM)
		return -ENOMEM;
	if (code != SQLITE_DONE) {
		snprintf(text, sizeof text, "the rest cannot be read: %s", sqlite3_errmsg(rd->db));
		return add_damage(rd->p, text);
	}
	return 0;
}

static int read_chunks(struct reader *rd, struct mw_error *e)
{
	sqlite3_stmt *s = NULL;
	int code, r = prepare(rd, "SELECT seq, kind, raw_size, data FROM chunk ORDER BY seq", &s, e);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct mw_error cause = {};
		r = read_chunk(rd, s, &cause);
		if (r == -EBADMSG || r == -EFBIG) {
			if (rd->n_bad++ == 0)
				snprintf(rd->first_bad, sizeof rd->first_bad, "chunk %lld: %.100s",
					 (long long)sqlite3_column_int64(s, 0), cause.msg);
			r = r == -EFBIG ? 1 : 0;
		}
	}
	if (r == 0)
		r = end_of_chunks(rd, code);
	sqlite3_finalize(s);
	if (r >= 0 && rd->n_bad) {
		char text[240];
		snprintf(text, sizeof text, "%" PRIu64 " damaged chunks, the first is %s",
			 rd->n_bad, rd->first_bad);
		r = add_damage(rd->p, text);
	}
	return r < 0 ? r : 0;
}

static int read_all(struct reader *rd, uint8_t *data, size_t size, struct mw_error *e)
{
	rd->zstd = ZSTD_createDCtx();
	if (!rd->zstd)
		return -ENOMEM;
	redo_apply(data, &size);
	int r = mend_header(rd, data, &size, e);
	if (r == 0)
		r = open_database(rd, data, size, e);
	if (r == 0)
		r = check_schema(rd, e);
	if (r == 0)
		r = read_chunks(rd, e);
	return r == 0 ? codec_decode_end(&rd->decoder) : r;
}

/*
 * A name that was given by a file id which turned out to be that of several contents was taken back; but
 * a recorder that had forgotten the frame by then could only say so of the file.
 */
static void drop_withdrawn_names(struct profile *p)
{
	vec_foreach(f, &p->frames) {
		if (f->at.kind == FRAME_FILE && f->at.file < p->files.n && f->name.name &&
		    p->files.items[f->at.file].reason == MW_REASON_ID_MISMATCH)
			f->name = (struct profile_name){.reason = MW_REASON_ID_MISMATCH};
	}
}

static int finish(struct reader *rd)
{
	struct profile *p = rd->p;
	uint64_t bucket_ns = profile_fact_number(p, PROFILE_FACT_BUCKET, 0);
	if (bucket_ns)
		p->options.bucket_ns = bucket_ns;
	vec_foreach(s, &p->samples)
		p->last_time = MAX(p->last_time, s->bucket * p->options.bucket_ns);
	drop_withdrawn_names(p);
	p->read_only = true;
	p->changed_facts = false;
	if (p->unknown_references) {
		char text[120];
		snprintf(text, sizeof text, "%" PRIu64 " references to a part that is missing",
			 p->unknown_references);
		if (add_damage(p, text) < 0)
			return -ENOMEM;
	}
	return p->damage ? 1 : 0;
}

/* Takes the bytes, which it changes. */
static int open_bytes(uint8_t *data, size_t size, const char *name, struct profile **ret,
		      struct mw_error *e)
{
	if (size < HEADER_SIZE || !profile_is_profile(data, size))
		return error_set(e, -ENOMSG, "%s: is no mapwright profile", name);
	_cleanup_(cleanup_profile_free) struct profile *p = NULL;
	int r = profile_new(NULL, &p);
	if (r < 0)
		return r;
	struct reader rd = {.name = name, .p = p, .decoder = {.p = p}};
	r = read_all(&rd, data, size, e);
	sqlite3_close(rd.db);
	ZSTD_freeDCtx(rd.zstd);
	codec_decoder_deinit(&rd.decoder);
	free(rd.raw);
	if (r == 0)
		r = finish(&rd);
	if (r >= 0)
		*ret = take_ptr(p);
	return r;
}

int profile_open_memory(const void *data, size_t size, const char *name, struct profile **ret,
			struct mw_error *e)
{
	_cleanup_free_ uint8_t *copy = malloc(size ? size : 1);
	int r = -ENOMEM;
	if (copy) {
		memcpy(copy, data, size);
		r = open_bytes(copy, size, name, ret, e);
	}
	return r == -ENOMEM ? error_errno(e, r, "%s", name) : r;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_file(int fd, const char *name, uint8_t **ret, size_t *ret_size, struct mw_error *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return error_errno(e, -errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, "%s: is no regular file", name);
	if ((uint64_t)st.st_size > PROFILE_FILE_MAX)
		return error_set(e, -EFBIG, "%s: %lld bytes, at most %llu are read", name,
				 (long long)st.st_size, (unsigned long long)PROFILE_FILE_MAX);
	_cleanup_free_ uint8_t *data = malloc((size_t)st.st_size + 1);
	if (!data)
		return -ENOMEM;
	ssize_t n = io_pread(fd, data, (size_t)st.st_size, 0);
	if (n < 0)
		return error_errno(e, (int)n, "%s", name);
	*ret = take_ptr(data);
	*ret_size = (size_t)n;
	return 0;
}

/* True if a writer changed the file while it was being read. */
static bool moved_on(int fd, const uint8_t *data, size_t size)
{
	uint8_t head[HEADER_SIZE];
	return size >= sizeof head && io_pread(fd, head, sizeof head, 0) == sizeof head &&
	       memcmp(head, data, sizeof head) != 0;
}

int profile_open(int fd, const char *name, struct profile **ret, struct mw_error *e)
{
	int r = 0;
	/* A recording that goes on is written to once a second, and read in less. */
	for (int tries = 5; r == 0 && tries; tries--) {
		_cleanup_free_ uint8_t *data = NULL;
		size_t size = 0;
		r = read_file(fd, name, &data, &size, e);
		if (!data || (moved_on(fd, data, size) && tries > 1))
			continue;
		r = open_bytes(data, size, name, ret, e);
		break;
	}
	return r == -ENOMEM ? error_errno(e, r, "%s", name) : r;
}
