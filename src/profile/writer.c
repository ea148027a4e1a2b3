/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/writer.h"

#include "base/error.h"
#include "profile/codec.h"
#include "profile/schema.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#define ZSTD_LEVEL 3

struct profile_writer {
	struct profile *p; /* borrowed */
	struct page_file *file;
	sqlite3 *db;
	sqlite3_stmt *insert_chunk;
	ZSTD_CCtx *zstd;
	struct codec_mark mark;
	VEC(struct profile_frame) functions; /* of forgotten frames: one for each row of `function` */
	struct buffer raw;
	struct buffer packed;
	char *path;
	char *temporary; /* owned; as long as the file is not under its name */
	int64_t sequence;
};

/*
 * While recording, rows go only to `chunk`; the rest is filled at close, for people and for tools
 * that know SQLite and not our records. Everything is created empty at once, so that all roots lie at
 * the start of the file: one that is cut short still has a schema.
 */
static const char schema[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE chunk(seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, time INTEGER NOT NULL,"
	" raw_size INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE TABLE event(number INTEGER PRIMARY KEY, name TEXT, unit TEXT, period INTEGER,"
	" frequency INTEGER);"
	"CREATE TABLE file(number INTEGER PRIMARY KEY, id TEXT, path TEXT, device TEXT,"
	" inode INTEGER, reason TEXT);"
	"CREATE TABLE task(number INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
	" start_time INTEGER, exec_count INTEGER, command TEXT);"
	"CREATE TABLE cgroup(number INTEGER PRIMARY KEY, id INTEGER, path TEXT);"
	"CREATE TABLE container(number INTEGER PRIMARY KEY, runtime TEXT, id TEXT, name TEXT,"
	" image TEXT, pod TEXT, namespace TEXT, rootfs TEXT, layers TEXT);"
	"CREATE TABLE code(number INTEGER, file INTEGER, name TEXT, start INTEGER, end INTEGER,"
	" valid_from INTEGER, valid_until INTEGER);"
	"CREATE TABLE place(cgroup INTEGER, mount_namespace INTEGER, container INTEGER);"
	"CREATE TABLE tally(kind TEXT, name TEXT, count INTEGER);"
	"CREATE TABLE function(name TEXT, module TEXT, file INTEGER, reason TEXT,"
	" samples INTEGER, value INTEGER);"
	"CREATE INDEX file_id ON file(id);"
	"CREATE INDEX function_samples ON function(samples);";

/* ---- SQLite, with our errors ----------------------------------------------------------------- */

static int sql_error(struct profile_writer *w, const char *doing, struct mw_error *e)
{
	int code = sqlite3_errcode(w->db);
	int r = page_file_take_error(w->file);
	if (r < 0)
		return error_errno(e, r, "%s: cannot %s", w->path, doing);
	r = code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_FULL ? -ENOSPC : -EIO;
	return error_set(e, r, "%s: cannot %s: %s", w->path, doing, sqlite3_errmsg(w->db));
}

static int sql_run(struct profile_writer *w, const char *sql, const char *doing,
		   struct mw_error *e)
{
	page_file_take_error(w->file);
	if (sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	int r = sql_error(w, doing, e);
	if (!sqlite3_get_autocommit(w->db))
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static int sql_prepare(struct profile_writer *w, const char *sql, sqlite3_stmt **ret,
		       struct mw_error *e)
{
	if (sqlite3_prepare_v2(w->db, sql, -1, ret, NULL) == SQLITE_OK)
		return 0;
	return sql_error(w, "prepare the file", e);
}

static int sql_step(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int code = sqlite3_step(s);
	int r = code == SQLITE_DONE ? 0 : sql_error(w, "write", e);
	sqlite3_reset(s);
	return r;
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *s, int at, uint64_t n)
{
	sqlite3_bind_int64(s, at, (sqlite3_int64)n);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Refuses what is no regular file: as root, renaming /dev/null would be a poor surprise. */
static int check_target(const char *path, bool *ret_exists, struct mw_error *e)
{
	struct stat st;
	*ret_exists = false;
	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			return error_errno(e, -errno, "%s: cannot create the profile", path);
		*ret_exists = lstat(path, &st) == 0; /* a link that leads nowhere */
		return 0;
	}
	*ret_exists = true;
	if (S_ISREG(st.st_mode))
		return 0;
	return error_set(e, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "%s: %s", path,
			 S_ISDIR(st.st_mode) ? "is a directory" : "is no regular file");
}

static int make_file(struct profile_writer *w, const struct page_file_hooks *hooks,
		     struct mw_error *e)
{
	if (asprintf(&w->temporary, "%s.XXXXXX", w->path) < 0) {
		w->temporary = NULL;
		return -ENOMEM;
	}
	_cleanup_close_ int fd = mkostemp(w->temporary, O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;
		free(take_ptr(w->temporary));
		return error_errno(e, r, "%s: cannot create the profile", w->path);
	}
	int r = page_file_new(fd, hooks, &w->file);
	if (r == 0)
		take_fd(fd);
	return r;
}

static int make_database(struct profile_writer *w, struct mw_error *e)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2("profile", &w->db, flags, page_file_vfs_name(w->file)) != SQLITE_OK)
		return sql_error(w, "create the profile", e);
	char sql[sizeof schema + 400];
	snprintf(sql, sizeof sql,
		 "PRAGMA page_size=%d; PRAGMA auto_vacuum=NONE; PRAGMA journal_mode=MEMORY;"
		 "PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_spill=OFF;"
		 "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d; %s COMMIT;",
		 PAGE_FILE_PAGE, SCHEMA_APPLICATION_ID, PROFILE_MAJOR << 16 | PROFILE_MINOR, schema);
	int r = sql_run(w, sql, "create the profile", e);
	if (r == 0)
		r = sql_prepare(w, "INSERT INTO chunk VALUES(?,?,?,?,?)", &w->insert_chunk, e);
	return r;
}

static int put_under_its_name(struct profile_writer *w, bool exists, struct mw_error *e)
{
	_cleanup_free_ char *old = NULL;
	if (asprintf(&old, "%s.old", w->path) < 0)
		return -ENOMEM;
	if (exists && rename(w->path, old) < 0)
		return error_errno(e, -errno, "%s: cannot rename the earlier file to %s", w->path,
				   old);
	if (rename(w->temporary, w->path) < 0)
		return error_errno(e, -errno, "%s: cannot create the profile", w->path);
	free(take_ptr(w->temporary));
	return 0;
}

int profile_writer_create_hooked(const char *path, struct profile *p,
				 const struct page_file_hooks *hooks, struct profile_writer **ret,
				 struct mw_error *e)
{
	bool exists;
	int r = check_target(path, &exists, e);
	if (r < 0)
		return r;
	_cleanup_(cleanup_profile_writer_free) struct profile_writer *w = calloc(1, sizeof *w);
	if (!w)
		return error_errno(e, -ENOMEM, "%s", path);
	w->p = p;
	w->path = strdup(path);
	w->zstd = ZSTD_createCCtx();
	if (!w->path || !w->zstd)
		return error_errno(e, -ENOMEM, "%s", path);
	r = profile_set_fact_number(p, PROFILE_FACT_BUCKET, p->options.bucket_ns);
	if (r == 0)
		r = make_file(w, hooks, e);
	if (r == 0)
		r = make_database(w, e);
	if (r == 0)
		r = put_under_its_name(w, exists, e);
	if (r == -ENOMEM)
		return error_errno(e, r, "%s", path);
	if (r < 0)
		return r;
	*ret = take_ptr(w);
	return 0;
}

int profile_writer_create(const char *path, struct profile *p, struct profile_writer **ret,
			  struct mw_error *e)
{
	return profile_writer_create_hooked(path, p, NULL, ret, e);
}

void profile_writer_free(struct profile_writer *w)
{
	if (!w)
		return;
	sqlite3_finalize(w->insert_chunk);
	sqlite3_close(w->db);
	page_file_free(w->file);
	if (w->temporary)
		unlink(w->temporary);
	free(w->temporary);
	free(w->path);
	ZSTD_freeCCtx(w->zstd);
	buffer_deinit(&w->raw);
	buffer_deinit(&w->packed);
	vec_deinit(&w->functions);
	free(w);
}

uint64_t profile_writer_bytes(const struct profile_writer *w)
{
	return page_file_bytes_written(w->file);
}

/* ---- flush ----------------------------------------------------------------------------------- */

static int pack(struct profile_writer *w, struct mw_error *e)
{
	size_t bound = ZSTD_compressBound(w->raw.n);
	w->packed.n = 0;
	if (w->raw.failed || !buffer_extend(&w->packed, bound))
		return error_errno(e, -ENOMEM, "%s", w->path);
	size_t n = ZSTD_compressCCtx(w->zstd, w->packed.data, bound, w->raw.data, w->raw.n,
				     ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return error_set(e, -ENOMEM, "%s: %s", w->path, ZSTD_getErrorName(n));
	w->packed.n = n;
	return 0;
}

static int insert_chunk(struct profile_writer *w, int64_t sequence, struct mw_error *e)
{
	int r = pack(w, e);
	if (r < 0)
		return r;
	sqlite3_stmt *s = w->insert_chunk;
	sqlite3_bind_int64(s, 1, sequence);
	sqlite3_bind_int(s, 2, SCHEMA_CHUNK_RECORDS);
	bind_number(s, 3, w->p->last_time);
	bind_number(s, 4, w->raw.n);
	sqlite3_bind_blob64(s, 5, w->packed.data, w->packed.n, SQLITE_STATIC);
	return sql_step(w, s, e);
}

/* What the model no longer has to keep, since the file has it. */
static void forget_changes(struct profile_writer *w, const struct codec_mark *written)
{
	w->mark = *written;
	w->mark.changed_files = w->mark.changed_cgroups = w->mark.changed_names = 0;
	w->mark.changed_containers = w->mark.changed_places = w->mark.samples = 0;
	w->mark.changed_codes = 0;
	w->mark.changed_lines = 0;
	w->mark.facts = false;
	w->p->changed_files.n = w->p->changed_cgroups.n = w->p->changed_names.n = 0;
	w->p->changed_containers.n = w->p->changed_places.n = 0;
	w->p->changed_codes.n = 0;
	w->p->changed_lines.n = 0;
	w->p->changed_facts = false;
	profile_drop_samples(w->p);
}

int profile_writer_flush(struct profile_writer *w, struct mw_error *e)
{
	struct codec_mark mark = w->mark;
	w->raw.n = 0;
	if (!codec_encode(w->p, &mark, &w->raw))
		return w->raw.failed ? error_errno(e, -ENOMEM, "%s", w->path) : 0;
	int r = sql_run(w, "BEGIN", "write", e);
	if (r < 0)
		return r;
	int64_t sequence = w->sequence;
	do {
		r = insert_chunk(w, sequence++, e);
		w->raw.n = 0;
	} while (r == 0 && codec_encode(w->p, &mark, &w->raw));
	if (r < 0) {
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	r = sql_run(w, "COMMIT", "write", e);
	if (r < 0)
		return r;
	w->sequence = sequence;
	forget_changes(w, &mark);
	return 0;
}

/* ---- close: tables for people ---------------------------------------------------------------- */

static const char *reason_text(uint8_t reason)
{
	return reason ? mw_reason_name(reason) : NULL;
}

static int fill_meta(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->facts.n && r == 0; i++) {
		bind_text(s, 1, profile_string(w->p, w->p->facts.items[i].key));
		bind_text(s, 2, profile_string(w->p, w->p->facts.items[i].value));
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_event(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->events.n && r == 0; i++) {
		const struct profile_event *event = &w->p->events.items[i];
		bind_number(s, 1, i);
		bind_text(s, 2, profile_string(w->p, event->name));
		bind_text(s, 3, profile_string(w->p, event->unit));
		bind_number(s, 4, event->period);
		bind_number(s, 5, event->frequency);
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_file(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->files.n && r == 0; i++) {
		const struct profile_file *f = &w->p->files.items[i];
		char id[MW_FILE_ID_TEXT_MAX], device[32];
		mw_file_id_to_text(&f->id, id, sizeof id);
		snprintf(device, sizeof device, "%u:%u", f->device >> 20, f->device & 0xfffff);
		bind_number(s, 1, i);
		bind_text(s, 2, f->id.kind ? id : NULL);
		bind_text(s, 3, profile_string(w->p, f->path));
		bind_text(s, 4, device);
		bind_number(s, 5, f->inode);
		bind_text(s, 6, reason_text(f->reason));
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_task(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->tasks.n && r == 0; i++) {
		const struct profile_task *t = &w->p->tasks.items[i];
		bind_number(s, 1, i + w->p->forgotten_tasks);
		bind_number(s, 2, t->key.pid);
		bind_number(s, 3, t->key.tid);
		bind_number(s, 4, t->key.start_time);
		bind_number(s, 5, t->key.exec_count);
		bind_text(s, 6, profile_string(w->p, t->command));
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_cgroup(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->cgroups.n && r == 0; i++) {
		const struct profile_cgroup *c = &w->p->cgroups.items[i];
		bind_number(s, 1, i);
		bind_number(s, 2, c->id);
		bind_text(s, 3, c->path ? profile_string(w->p, c->path) : NULL);
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_container(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->containers.n && r == 0; i++) {
		const struct profile_container *c = &w->p->containers.items[i];
		bind_number(s, 1, i);
		for (int k = 0; k < PROFILE_CONTAINER_N_TEXTS; k++)
			bind_text(s, 2 + k, c->text[k] ? profile_string(w->p, c->text[k]) : NULL);
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_place(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->places.n && r == 0; i++) {
		const struct profile_place *place = &w->p->places.items[i];
		bind_number(s, 1, place->cgroup);
		bind_number(s, 2, place->mount_namespace);
		bind_number(s, 3, place->container);
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_code(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = 0;
	for (size_t i = 0; i < w->p->codes.n && r == 0; i++) {
		const struct profile_code *code = &w->p->codes.items[i];
		bind_number(s, 1, i);
		bind_number(s, 2, code->file);
		bind_text(s, 3, profile_string(w->p, code->name));
		bind_number(s, 4, code->start);
		bind_number(s, 5, code->end);
		bind_number(s, 6, code->from);
		bind_number(s, 7, code->until);
		r = sql_step(w, s, e);
	}
	return r;
}

static int fill_tally(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	static const char *const kinds[] = {"loss", "skipped", "counter"};
	int r = 0;
	for (size_t i = 0; i < w->p->tallies.n && r == 0; i++) {
		const struct profile_tally *t = &w->p->tallies.items[i];
		bind_text(s, 1, t->kind < ARRAY_SIZE(kinds) ? kinds[t->kind] : NULL);
		bind_text(s, 2, profile_string(w->p, t->name));
		bind_number(s, 3, t->count);
		r = sql_step(w, s, e);
	}
	return r;
}

/* Orders frames so that those of one row of `function` lie together. */
static int by_function(const void *a, const void *b, void *context)
{
	const struct profile *p = context;
	const struct profile_frame *x = a, *y = b;
	const uint64_t keys[][2] = {
		{x->name.name, y->name.name},
		{x->name.module, y->name.module},
		{x->at.kind, y->at.kind},
		{x->at.file, y->at.file},
		{profile_frame_reason(p, x), profile_frame_reason(p, y)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	}
	return 0;
}

static int insert_function(struct profile_writer *w, sqlite3_stmt *s,
			   const struct profile_frame *f, struct mw_error *e)
{
	const struct profile_name *n = &f->name;
	bind_text(s, 1, n->name ? profile_string(w->p, n->name) : NULL);
	bind_text(s, 2, f->at.kind != FRAME_KERNEL ? NULL
			: n->module		   ? profile_string(w->p, n->module)
						   : "kernel");
	if (frame_has_file(&f->at))
		bind_number(s, 3, f->at.file);
	else
		sqlite3_bind_null(s, 3);
	bind_text(s, 4, reason_text((uint8_t)profile_frame_reason(w->p, f)));
	bind_number(s, 5, f->self_count);
	bind_number(s, 6, f->self_value);
	return sql_step(w, s, e);
}

/* One entry for each row of `function`, of the frames there are now and of those that were forgotten. */
static int sum_functions(struct profile_writer *w)
{
	vec_foreach(f, &w->p->frames) {
		if (f->self_count && vec_push(&w->functions, *f) < 0)
			return -ENOMEM;
	}
	if (!w->functions.n)
		return 0;
	qsort_r(w->functions.items, w->functions.n, sizeof *w->functions.items, by_function, w->p);
	struct profile_frame *row = w->functions.items;
	for (size_t i = 1; i < w->functions.n; i++) {
		const struct profile_frame *f = &w->functions.items[i];
		if (by_function(row, f, w->p) != 0) {
			*++row = *f;
			continue;
		}
		row->self_count += f->self_count;
		row->self_value += f->self_value;
	}
	w->functions.n = (size_t)(row - w->functions.items) + 1;
	return 0;
}

/* Where the samples' own frames lie, by function or, without a name, by file and reason. */
static int fill_function(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e)
{
	int r = sum_functions(w);
	for (size_t i = 0; i < w->functions.n && r == 0; i++)
		r = insert_function(w, s, &w->functions.items[i], e);
	return r;
}

#define TABLE_TASK 3 /* the only one that is filled before the end */

static const struct table {
	const char *sql;
	int (*fill)(struct profile_writer *w, sqlite3_stmt *s, struct mw_error *e);
} tables[] = {
	{"INSERT OR REPLACE INTO meta VALUES(?,?)", fill_meta},
	{"INSERT INTO event VALUES(?,?,?,?,?)", fill_event},
	{"INSERT INTO file VALUES(?,?,?,?,?,?)", fill_file},
	[TABLE_TASK] = {"INSERT INTO task VALUES(?,?,?,?,?,?)", fill_task},
	{"INSERT INTO cgroup VALUES(?,?,?)", fill_cgroup},
	{"INSERT INTO container VALUES(?,?,?,?,?,?,?,?,?)", fill_container},
	{"INSERT INTO place VALUES(?,?,?)", fill_place},
	{"INSERT INTO code VALUES(?,?,?,?,?,?,?)", fill_code},
	{"INSERT INTO tally VALUES(?,?,?)", fill_tally},
	{"INSERT INTO function VALUES(?,?,?,?,?,?)", fill_function},
};

static int fill_table(struct profile_writer *w, const struct table *table, struct mw_error *e)
{
	sqlite3_stmt *s = NULL;
	int r = sql_prepare(w, table->sql, &s, e);
	if (r == 0)
		r = table->fill(w, s, e);
	sqlite3_finalize(s);
	return r;
}

static int fill_tables(struct profile_writer *w, const struct table *first, size_t n,
		       struct mw_error *e)
{
	int r = sql_run(w, "BEGIN", "write", e);
	for (size_t i = 0; i < n && r == 0; i++)
		r = fill_table(w, &first[i], e);
	if (r == 0)
		return sql_run(w, "COMMIT", "write", e);
	if (!sqlite3_get_autocommit(w->db))
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int profile_writer_forget(struct profile_writer *w, struct mw_error *e)
{
	if (!profile_is_large(w->p) || w->p->samples.n)
		return 0;
	int r = fill_tables(w, &tables[TABLE_TASK], 1, e);
	if (r == 0)
		r = sum_functions(w);
	if (r < 0)
		return r == -ENOMEM ? error_errno(e, r, "%s", w->path) : r;
	profile_forget(w->p);
	w->mark.tasks = w->mark.frames = 0;
	w->mark.nodes = 1;
	return 1;
}

int profile_writer_close(struct profile_writer *writer, struct mw_error *e)
{
	_cleanup_(cleanup_profile_writer_free) struct profile_writer *w = writer;
	int r = profile_writer_flush(w, e);
	if (r == 0)
		r = fill_tables(w, tables, ARRAY_SIZE(tables), e);
	if (r == -ENOMEM)
		return error_errno(e, r, "%s", w->path);
	if (r < 0)
		return r;
	r = page_file_sync(w->file);
	return r < 0 ? error_errno(e, r, "%s: cannot sync", w->path) : 0;
}

/* All that a reader filled in behind the tables' ends counts as new. */
static int mark_all(struct profile *p)
{
	int r = 0;
	p->changed_facts = true;
	p->changed_names.n = p->changed_lines.n = 0;
	for (size_t i = 0; i < p->frames.n && r == 0; i++) {
		r = vec_push(&p->changed_names, (uint32_t)i);
		if (r == 0 && p->frames.items[i].n_lines)
			r = vec_push(&p->changed_lines, (uint32_t)i);
	}
	return r;
}

int profile_save(const char *path, struct profile *p, struct mw_error *e)
{
	struct profile_writer *w = NULL;
	p->changed_facts = true;
	int r = p->read_only ? mark_all(p) : 0;
	if (r < 0)
		return error_errno(e, r, "%s", path);
	r = profile_writer_create(path, p, &w, e);
	return w ? profile_writer_close(w, e) : r;
}

void profile_save_prepare(void)
{
	char random;
	sqlite3_initialize();
	sqlite3_randomness(sizeof random, &random);
}

int profile_save_open(int fd, const char *name, struct profile *p, struct mw_error *e)
{
	_cleanup_(cleanup_profile_writer_free) struct profile_writer *w = calloc(1, sizeof *w);
	if (!w)
		return error_errno(e, -ENOMEM, "%s", name);
	w->p = p;
	w->path = strdup(name);
	w->zstd = ZSTD_createCCtx();
	int r = w->path && w->zstd ? mark_all(p) : -ENOMEM;
	if (r == 0)
		r = page_file_new(fd, NULL, &w->file);
	if (r < 0)
		return error_errno(e, r, "%s", name);
	r = make_database(w, e);
	if (r == 0)
		r = profile_writer_flush(w, e);
	if (r == 0)
		r = fill_tables(w, tables, ARRAY_SIZE(tables), e);
	return r == -ENOMEM ? error_errno(e, r, "%s", name) : r;
}
