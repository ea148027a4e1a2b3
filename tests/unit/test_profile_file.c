/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "base/io.h"
#include "lib/profile_builder.h"
#include "lib/test.h"
#include "output/output.h"
#include "output/report.h"
#include "profile/codec.h"
#include "profile/reader.h"
#include "profile/writer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#if HAVE_SECCOMP
#include <seccomp.h>
#endif

#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* ---- a directory of its own for each test ---------------------------------------------------- */

static char directory[64];
static char path[96];

static int make_directory(void **state)
{
	strcpy(directory, "/tmp/mwtest.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/p.mwp", directory);
	return 0;
}

static int remove_directory(void **state)
{
	char command[120];
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command);
}

static uint8_t *read_path(const char *name, size_t *ret_size)
{
	_cleanup_close_ int fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	uint8_t *data = malloc((size_t)st.st_size + 1);
	assert_int_equal(io_pread(fd, data, (size_t)st.st_size, 0), st.st_size);
	*ret_size = (size_t)st.st_size;
	return data;
}

static struct profile *read_profile(const char *name)
{
	struct profile *p;
	struct mw_error e;
	_cleanup_close_ int fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	int r = profile_open(fd, name, &p, &e);
	if (r < 0)
		fail_msg("%s", e.msg);
	if (r)
		fail_msg("%s", p->damage);
	return p;
}

static void save(struct profile *p)
{
	struct mw_error e;
	if (profile_save(path, p, &e) < 0)
		fail_msg("%s", e.msg);
}

/* The bytes of a small whole profile. */
static uint8_t *saved_bytes(size_t *ret_size)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	save(p);
	return read_path(path, ret_size);
}

static void sql(const char *statements)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	char *message = NULL;
	if (sqlite3_exec(db, statements, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s", message);
	sqlite3_close(db);
}

static int64_t sql_number(const char *file, const char *query)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, query, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		fail_msg("%s: %s", query, sqlite3_errmsg(db));
	int64_t n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

/* ---- what is written is read ----------------------------------------------------------------- */

static void a_saved_profile_opens_with_everything_in_it(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	save(p);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	assert_int_equal(q->total_count, 100);
	assert_int_equal(q->frames.n, p->frames.n);
	assert_int_equal(q->nodes.n, p->nodes.n);
	assert_string_equal(profile_fact(q, PROFILE_FACT_HOSTNAME), "anvil");
	assert_int_equal(profile_tally_sum(q, PROFILE_LOSS), 11);
	assert_null(q->damage);
	const struct sample s = {};
	assert_int_equal(profile_add_sample(q, &s), -EROFS);
}

static void the_tables_for_people_are_filled_at_close(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	save(p);
	assert_int_equal(sql_number(path, "SELECT sum(samples) FROM function"), 100);
	assert_int_equal(sql_number(path, "SELECT samples FROM function ORDER BY samples DESC"), 60);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM function WHERE reason IS NOT NULL "
					  "AND name IS NOT NULL"), 0);
	assert_int_equal(sql_number(path, "SELECT samples FROM function JOIN file ON "
					  "file = number WHERE function.reason = 'file-gone'"), 4);
	assert_int_equal(sql_number(path, "SELECT value FROM meta WHERE key = 'cpus'"), 2);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM file"), 3);
	assert_int_equal(sql_number(path, "SELECT count FROM tally WHERE name = 'ring-full'"), 8);
	assert_int_equal(sql_number(path, "PRAGMA application_id"), 0x6d777066);
	assert_int_equal(sql_number(path, "PRAGMA user_version"),
			 PROFILE_MAJOR << 16 | PROFILE_MINOR);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM sqlite_schema WHERE type='index' "
					  "AND sql IS NOT NULL"), 2);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM pragma_integrity_check "
					  "WHERE integrity_check <> 'ok'"), 0);
}

static void saving_what_was_read_gives_the_same_profile(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	save(p);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	assert_int_equal(profile_set_name(q, 0, "better", NULL, 0, 0), 0);
	save(q);
	_cleanup_(cleanup_profile_free) struct profile *r = read_profile(path);
	assert_int_equal(r->total_count, 100);
	assert_string_equal(profile_string(r, r->frames.items[0].name.name), "better");
	assert_string_equal(profile_fact(r, PROFILE_FACT_HOSTNAME), "anvil");
	for (size_t i = 1; i < p->frames.n; i++) /* the other names are still there */
		assert_string_equal(profile_string(r, r->frames.items[i].name.name),
				    profile_string(p, p->frames.items[i].name.name));
}

static uint32_t string_of(struct profile *p, const char *text)
{
	uint32_t number;
	assert_int_equal(profile_add_string(p, text, &number), 0);
	return number;
}

static void set_lines(struct profile *p, uint32_t frame)
{
	const struct profile_line lines[] = {{string_of(p, "square"), string_of(p, "/src/b.h"), 2},
					     {0, string_of(p, "/src/a.c"), 9}};
	assert_int_equal(profile_set_lines(p, frame, lines, 2), 0);
}

static void expect_lines(const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames.items[frame];
	assert_int_equal(f->n_lines, 2);
	const struct profile_line *l = &p->lines.items[f->first_line];
	assert_string_equal(profile_string(p, l[0].name), "square");
	assert_string_equal(profile_string(p, l[0].file), "/src/b.h");
	assert_int_equal(l[0].line, 2);
	assert_int_equal(l[1].name, 0);
	assert_string_equal(profile_string(p, l[1].file), "/src/a.c");
	assert_int_equal(l[1].line, 9);
}

static void made_code_is_kept_with_the_time_it_was_valid(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct profile_writer *w;
	struct mw_error e;
	uint32_t number = 9;
	struct profile_code code = {.file = 0, .start = 0x7f0000001000, .end = 0x7f0000001100, .from = 5};
	assert_int_equal(profile_add_string(p, "JS:*f a.js:1", &code.name), 0);
	assert_int_equal(profile_add_code(p, &code, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(profile_set_code(p, 1, &code), -ENOENT);
	assert_int_equal(profile_writer_create(path, p, &w, &e), 0);
	assert_int_equal(profile_writer_flush(w, &e), 0);
	code.until = 77; /* learned later */
	assert_int_equal(profile_set_code(p, 0, &code), 0);
	assert_int_equal(profile_writer_close(w, &e), 0);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	assert_int_equal(q->codes.n, 1);
	const struct profile_code *c = &q->codes.items[0];
	assert_string_equal(profile_string(q, c->name), "JS:*f a.js:1");
	assert_int_equal(c->start, code.start);
	assert_int_equal(c->end, code.end);
	assert_int_equal(c->from, 5);
	assert_int_equal(c->until, 77);
	assert_int_equal(sql_number(path, "SELECT valid_until FROM code WHERE name LIKE 'JS:%'"), 77);
}

static void source_lines_are_kept_and_replaced(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	set_lines(p, 1);
	save(p);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	expect_lines(q, 1);
	assert_int_equal(q->frames.items[0].n_lines, 0);
	set_lines(q, 0);
	const struct profile_line none = {};
	assert_int_equal(profile_set_lines(q, 1, &none, 1), 0);

	/* As resymbolize writes: to a file that is open already. */
	struct mw_error e;
	char other[] = "/tmp/mw-lines-XXXXXX";
	int fd = mkstemp(other);
	assert_true(fd >= 0);
	assert_int_equal(profile_save_open(fd, "other", q, &e), 0);
	_cleanup_(cleanup_profile_free) struct profile *r = read_profile(other);
	expect_lines(r, 0);
	assert_int_equal(r->frames.items[1].n_lines, 1);
	assert_int_equal(r->lines.items[r->frames.items[1].first_line].line, 0);
	assert_int_equal(r->total_count, 100);
	assert_int_equal(sql_number(other, "SELECT sum(samples) FROM function"), 100);
	unlink(other);
}

static void names_by_an_id_of_several_contents_are_not_read(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	uint32_t n = 0;
	while (p->frames.items[n].at.kind != FRAME_FILE || !p->frames.items[n].name.name)
		n++;
	assert_int_equal(profile_set_file(p, p->frames.items[n].at.file, NULL, MW_REASON_ID_MISMATCH), 0);
	save(p);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	assert_int_equal(q->frames.items[n].name.name, 0);
	assert_int_equal(profile_frame_reason(q, &q->frames.items[n]), MW_REASON_ID_MISMATCH);
}

static void an_earlier_file_becomes_old(void **state)
{
	for (unsigned i = 1; i <= 3; i++) {
		_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
		build_samples(p, "a", 1, 0, i, FRAMES(FRAME_OF_RAW(1)));
		save(p);
	}
	char old[120];
	snprintf(old, sizeof old, "%s.old", path);
	_cleanup_(cleanup_profile_free) struct profile *now = read_profile(path);
	_cleanup_(cleanup_profile_free) struct profile *before = read_profile(old);
	assert_int_equal(now->total_count, 3);
	assert_int_equal(before->total_count, 2);
}

static void what_is_no_regular_file_is_not_replaced(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	struct mw_error e;
	char link[120];
	snprintf(link, sizeof link, "%s/link", directory);
	assert_int_equal(symlink("/dev/null", link), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	const char *const bad[] = {directory, path, link, "/dev/null", "/nowhere/x.mwp"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(profile_writer_create(bad[i], p, &w, &e) < 0);
		assert_non_null(strstr(e.msg, bad[i]));
	}
	struct stat st;
	assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
}

static int count_entries(void)
{
	char command[120];
	snprintf(command, sizeof command, "ls -A %s | wc -l", directory);
	FILE *f = popen(command, "r");
	int n = -1;
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void nothing_but_the_file_is_left_while_and_after_recording(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	struct profile_writer *w;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(profile_writer_flush(w, NULL), 0);
	assert_int_equal(count_entries(), 1);
	assert_true(profile_writer_bytes(w) > 8192);
	assert_int_equal(profile_writer_close(w, NULL), 0);
	assert_int_equal(count_entries(), 1);
}

static void a_recording_that_goes_on_can_be_read(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	for (unsigned i = 0; i < 20; i++) {
		_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
		assert_int_equal(q->total_count, 10 * i);
		build_samples(p, "a", i, i * 1000000000ull, 10, FRAMES(FRAME_OF_RAW(i + 1)));
		assert_int_equal(profile_writer_flush(w, NULL), 0);
		assert_int_equal(p->samples.n, 0);
	}
	profile_writer_free(w);
}

static void another_program_cannot_write_to_a_running_recording(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	_cleanup_(cleanup_profile_writer_free) struct profile_writer *w = NULL;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	assert_int_equal(profile_writer_flush(w, NULL), 0);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM chunk"), 1);
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM chunk", NULL, NULL, NULL), SQLITE_BUSY);
	sqlite3_close(db);
}

static void a_large_flush_is_several_chunks(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_compile(200000);
	save(p);
	assert_true(sql_number(path, "SELECT count(*) FROM chunk") > 1);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	assert_int_equal(q->total_count, 200000);
	assert_int_equal(q->unknown_references, 0);
	print_message("200,000 samples, %zu nodes: %lld bytes\n", p->nodes.n,
		      (long long)sql_number(path, "SELECT sum(length(data)) FROM chunk"));
}

/* ---- a recording that lasts ------------------------------------------------------------------------ */

/* Deep stacks, of which some come again each time and some are new; by tasks of both kinds. */
static void add_round(struct profile *p, unsigned i)
{
	if (i == 0)
		build_file(p, "/bin/prog", "gnu:0102", MW_REASON_NONE);
	for (unsigned k = 0; k < 40; k++) {
		unsigned where = k % 2 ? k : i * 40 + k;
		build_samples(p, "a", 1 + where, (i * 40 + k) * UINT64_C(10000000), 1 + k % 3,
			      FRAMES(FRAME_OF_FILE(0, where * 8), FRAME_OF_RAW(where), FRAME_OF_FILE(0, 4)));
	}
	for (uint32_t n = 0; n < p->frames.n; n++) {
		const struct frame *at = &p->frames.items[n].at;
		char name[40];
		snprintf(name, sizeof name, "f%llu", (unsigned long long)at->address);
		if (at->kind == FRAME_FILE && !p->frames.items[n].name.name)
			assert_int_equal(profile_set_name(p, n, name, NULL, at->address, 0), 0);
	}
}

static char *folded_of(const struct profile *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(output_format_find("folded")->write(p, out), 0);
	fclose(out);
	return text;
}

#define ROUNDS 12

/* What is forgotten while recording is missing nowhere in the file. */
static void tables_that_begin_anew_lose_nothing(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty(), *whole = build_empty();
	p->options.kept_bytes = 1;
	struct profile_writer *w;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		add_round(p, i);
		add_round(whole, i);
		assert_int_equal(profile_writer_forget(w, NULL), 0); /* not what is not written */
		assert_int_equal(profile_writer_flush(w, NULL), 0);
		if (i % 3 == 2) {
			assert_int_equal(profile_writer_forget(w, NULL), 1);
			assert_int_equal(p->frames.n + p->tasks.n, 0);
			assert_int_equal(p->nodes.n, 1);
		}
		_cleanup_(cleanup_profile_free) struct profile *now = read_profile(path);
		_cleanup_free_ char *folded = folded_of(now), *expected = folded_of(whole);
		assert_string_equal(folded, expected);
	}
	assert_int_equal(profile_writer_close(w, NULL), 0);
	assert_int_equal(sql_number(path, "SELECT sum(samples) FROM function"), whole->total_count);
	int64_t rows = sql_number(path, "SELECT count(*) FROM function");
	int64_t tasks = sql_number(path, "SELECT count(DISTINCT pid) FROM task");
	int64_t numbers = sql_number(path, "SELECT max(number) + 1 - count(*) FROM task");
	assert_int_equal(numbers, 0);
	save(whole);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM function"), rows);
	assert_int_equal(sql_number(path, "SELECT count(DISTINCT pid) FROM task"), tasks);
}

static void a_profile_without_room_for_more_does_not_begin_anew(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_sampler();
	assert_int_equal(profile_is_large(p), 0);
	p->options.kept_bytes = 1;
	assert_int_equal(profile_is_large(p), 2);
	p->forgotten_frames = PROFILE_FRAMES_MAX - 1;
	assert_int_equal(profile_is_large(p), 0);
}

/* ---- killed ---------------------------------------------------------------------------------- */

/*
 * A recording whose each flush adds ten samples and some two KiB that do not compress, so that the
 * B-tree of chunks grows fast.
 */
#define PER_FLUSH 10

static void add_second(struct profile *p, unsigned i, size_t noise)
{
	char name[4096];
	for (size_t k = 0; k + 1 < noise; k++)
		name[k] = (char)(1 + rand() % 255);
	name[noise - 1] = '\0';
	build_samples(p, "a", 1, i * UINT64_C(1000000000), PER_FLUSH, FRAMES(FRAME_OF_RAW(i + 1)));
	assert_int_equal(profile_set_name(p, (uint32_t)(p->frames.n - 1), name, NULL, 0, 0), 0);
}

struct crash {
	struct profile *p;
	unsigned flushes;      /* complete ones */
	bool closing;
	uint64_t start_size;   /* of the file when the flush began */
	unsigned in_place;     /* writes to existing pages so far in this flush */
	unsigned splits;       /* flushes that changed several existing pages */
	unsigned verified;
	unsigned writes;
};

static void begin_flush(struct crash *c)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	c->start_size = (uint64_t)st.st_size;
	c->in_place = 0;
}

/* The file as it lies there now, alone: it has all complete flushes, in order, and maybe this one. */
static void verify_as_if_killed(struct crash *c)
{
	size_t size;
	struct mw_error e;
	_cleanup_free_ uint8_t *data = read_path(path, &size);
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	int r = profile_open_memory(data, size, "killed", &q, &e);
	if (r != 0)
		fail_msg("flush %u, write %u: %s", c->flushes, c->writes, r < 0 ? e.msg : q->damage);
	unsigned n = (unsigned)(q->total_count / PER_FLUSH);
	assert_true(n == c->flushes || n == c->flushes + 1);
	assert_int_equal(q->total_count % PER_FLUSH, 0);
	for (size_t i = 0; i < q->samples.n; i++) {
		const struct profile_sample *s = &q->samples.items[i];
		assert_int_equal(s->bucket, i * 10);
		const struct profile_frame *f = &q->frames.items[q->nodes.items[s->stack].frame];
		assert_int_equal(f->at.address, i + 1);
		assert_int_equal(profile_frame_reason(q, f), MW_REASON_NONE);
	}
	c->verified++;
}

/* Every write of some flushes, and whatever is written in place after page 1 and another page. */
static bool worth_verifying(const struct crash *c)
{
	if (c->closing && !c->in_place)
		return c->writes % 32 == 0; /* new pages, and many of them */
	return c->closing || c->flushes < 30 || c->flushes % 199 == 0 || c->in_place >= 2;
}

static int before_write(void *data, uint64_t offset, size_t size)
{
	struct crash *c = data;
	if (!c->p)
		return 0; /* being created: it is not under its name yet */
	c->writes++;
	if (worth_verifying(c))
		verify_as_if_killed(c);
	if (offset < c->start_size && ++c->in_place == 3)
		c->splits++;
	return 0;
}

static int before_truncate(void *data, uint64_t size)
{
	return before_write(data, UINT64_MAX, 0);
}

static void a_kill_between_any_two_writes_loses_one_flush_at_most(void **state)
{
	struct crash c = {};
	const struct page_file_hooks hooks = {before_write, before_truncate, &c};
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	srand(1);
	assert_int_equal(profile_writer_create_hooked(path, p, &hooks, &w, NULL), 0);
	c.p = p;
	for (unsigned i = 0; i < 1500; i++) {
		begin_flush(&c);
		add_second(p, i, 2600);
		assert_int_equal(profile_writer_flush(w, NULL), 0);
		c.flushes++;
	}
	unsigned splits = c.splits;
	c.closing = true;
	begin_flush(&c);
	assert_int_equal(profile_writer_close(w, NULL), 0);
	c.flushes--; /* the last state has it all */
	verify_as_if_killed(&c);
	print_message("%u writes, %u states verified, %u splits of inner pages\n", c.writes,
		      c.verified, splits);
	assert_true(splits > 0); /* else the redo block was not tried */
	assert_int_equal(sql_number(path, "SELECT count(*) FROM pragma_integrity_check "
					  "WHERE integrity_check <> 'ok'"), 0);
}

/* Every write of a page is a place to die; the file of the child is then what the kill left. */
static void record_until_killed(volatile unsigned *flushes)
{
	struct profile *p = build_empty();
	struct profile_writer *w;
	if (profile_writer_create(path, p, &w, NULL) < 0)
		_exit(1);
	for (unsigned i = 0;; i++) {
		add_second(p, i, 2600);
		if (profile_writer_flush(w, NULL) < 0)
			_exit(1);
		++*flushes;
	}
}

static void check_killed(unsigned flushes)
{
	struct mw_error e;
	_cleanup_(cleanup_profile_free) struct profile *q = NULL;
	size_t size;
	_cleanup_free_ uint8_t *data = read_path(path, &size);
	int r = profile_open_memory(data, size, "killed", &q, &e);
	if (r != 0)
		fail_msg("after %u flushes: %s", flushes, r < 0 ? e.msg : q->damage);
	assert_true(q->total_count >= flushes * PER_FLUSH &&
		    q->total_count <= (flushes + 1) * PER_FLUSH);
	assert_int_equal(sql_number(path, "SELECT count(*) FROM chunk"),
			 q->total_count / PER_FLUSH);
}

static void kill_9_at_a_random_moment_loses_one_flush_at_most(void **state)
{
	volatile unsigned *flushes = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(flushes != MAP_FAILED);
	srand((unsigned)time(NULL));
	unsigned total = 0;
	for (int i = 0; i < 150; i++) {
		*flushes = 0;
		unlink(path);
		pid_t child = fork();
		if (child == 0)
			record_until_killed(flushes);
		while (*flushes == 0)
			usleep(100);
		usleep((unsigned)(rand() % 20000));
		kill(child, SIGKILL);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		check_killed(*flushes);
		total += *flushes;
	}
	print_message("150 kills, %u flushes\n", total);
	munmap((void *)flushes, 4096);
}

/* A transaction that failed for good may leave pages behind that nobody uses. */
static void assert_sound_but_for_unused_pages(void)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
	while (sqlite3_step(s) == SQLITE_ROW) {
		char *lines = strdup((const char *)sqlite3_column_text(s, 0)), *rest = lines, *line;
		while ((line = strsep(&rest, "\n"))) {
			if (strcmp(line, "ok") != 0 && !strstr(line, " is never used") &&
			    strncmp(line, "***", 3) != 0)
				fail_msg("%s", line);
		}
		free(lines);
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
}

/* ---- full disk ------------------------------------------------------------------------------- */

struct full {
	int left; /* writes that still succeed */
};

static int fail_when_full(void *data, uint64_t offset, size_t size)
{
	struct full *full = data;
	return full->left-- > 0 ? 0 : -ENOSPC;
}

static int cut_when_full(void *data, uint64_t size)
{
	return 0;
}

/* The disk is full from the n-th write of the second flush on, and has room again later. */
static void fill_disk(int n)
{
	struct full full = {.left = 1000000};
	const struct page_file_hooks hooks = {fail_when_full, cut_when_full, &full};
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	struct mw_error e;
	assert_int_equal(profile_writer_create_hooked(path, p, &hooks, &w, NULL), 0);
	add_second(p, 0, 3000);
	assert_int_equal(profile_writer_flush(w, NULL), 0);
	full.left = n;
	for (unsigned i = 1; i < 4; i++) {
		add_second(p, i, 3000);
		int r = profile_writer_flush(w, &e);
		if (r != 0 && r != -ENOSPC)
			fail_msg("room for %d writes, flush %u: %s", n, i, e.msg);
		if (r == -ENOSPC)
			assert_non_null(strstr(e.msg, "p.mwp: cannot write: No space left"));
		_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
		assert_true(q->total_count >= PER_FLUSH);
		assert_true(r < 0 || q->total_count == (i + 1) * PER_FLUSH);
	}
	full.left = 1000000;
	add_second(p, 4, 3000);
	int r = profile_writer_close(w, &e);
	if (r < 0)
		fail_msg("%s", e.msg);
	_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
	assert_int_equal(q->total_count, 5 * PER_FLUSH);
	assert_sound_but_for_unused_pages();
}

static void a_full_disk_is_an_error_and_loses_nothing_once_there_is_room(void **state)
{
	for (int n = 0; n < 12; n++)
		fill_disk(n);
}

static void a_disk_that_stays_full_leaves_what_was_written(void **state)
{
	for (int n = 0; n < 60; n++) {
		struct full full = {.left = 1000000};
		const struct page_file_hooks hooks = {fail_when_full, cut_when_full, &full};
		_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
		struct profile_writer *w;
		assert_int_equal(profile_writer_create_hooked(path, p, &hooks, &w, NULL), 0);
		add_second(p, 0, 3000);
		assert_int_equal(profile_writer_flush(w, NULL), 0);
		add_second(p, 1, 3000);
		full.left = n;
		int r = profile_writer_close(w, NULL);
		_cleanup_(cleanup_profile_free) struct profile *q = read_profile(path);
		assert_true(q->total_count == PER_FLUSH || q->total_count == 2 * PER_FLUSH);
		assert_true(r == -ENOSPC || q->total_count == 2 * PER_FLUSH);
	}
}

static void a_file_that_cannot_be_created_says_why(void **state)
{
	struct full full = {};
	const struct page_file_hooks hooks = {fail_when_full, cut_when_full, &full};
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	struct mw_error e;
	assert_int_equal(profile_writer_create_hooked(path, p, &hooks, &w, &e), -ENOSPC);
	assert_non_null(strstr(e.msg, "p.mwp: cannot create the profile: No space left on device"));
	assert_int_equal(count_entries(), 0);
}

/* ---- hostile and damaged files --------------------------------------------------------------- */

static void refuse(const void *data, size_t size, int code, const char *text)
{
	struct profile *p;
	struct mw_error e = {};
	int r = profile_open_memory(data, size, "bad.mwp", &p, &e);
	if (r >= 0)
		profile_free(p);
	assert_int_equal(r, code);
	if (!strstr(e.msg, text) || strncmp(e.msg, "bad.mwp: ", 9) != 0)
		fail_msg("%s", e.msg);
}

static void what_is_no_profile_is_called_so(void **state)
{
	refuse("", 0, -ENOMSG, "no mapwright profile");
	uint8_t zero[8192] = {};
	refuse(zero, sizeof zero, -ENOMSG, "no mapwright profile");
	sql("CREATE TABLE chunk(seq INTEGER PRIMARY KEY)");
	size_t size;
	_cleanup_free_ uint8_t *other = read_path(path, &size);
	refuse(other, size, -ENOMSG, "no mapwright profile");
	assert_false(profile_is_profile(other, size));
}

static void a_newer_major_version_is_refused_a_newer_minor_read(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *data = saved_bytes(&size);
	data[60 + 1] = PROFILE_MAJOR + 1;
	refuse(data, size, -ENOTSUP, "profile format 2.");
	data[60 + 1] = PROFILE_MAJOR;
	data[60 + 3] = 9;
	struct profile *p;
	assert_int_equal(profile_open_memory(data, size, "x", &p, NULL), 0);
	profile_free(p);
}

static void a_file_marked_as_wal_opens_alone(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *data = saved_bytes(&size);
	data[18] = data[19] = 2;
	struct profile *p;
	assert_int_equal(profile_open_memory(data, size, "x", &p, NULL), 0);
	assert_int_equal(p->total_count, 100);
	profile_free(p);
}

static void a_file_cut_anywhere_says_so(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	for (unsigned i = 0; i < 20; i++) {
		add_second(p, i, 2600);
		assert_int_equal(profile_writer_flush(w, NULL), 0);
	}
	assert_int_equal(profile_writer_close(w, NULL), 0);
	size_t size;
	_cleanup_free_ uint8_t *data = read_path(path, &size);
	uint64_t most = 0;
	for (size_t n = 0; n < size; n += n < 5000 ? 61 : 977) {
		struct profile *q = NULL;
		struct mw_error e = {};
		int r = profile_open_memory(data, n, "cut.mwp", &q, &e);
		assert_true(r == 1 || r == -EBADMSG || r == -ENOMSG);
		if (r == 1) {
			assert_non_null(strstr(q->damage, "cut short"));
			most = MAX(most, q->total_count);
		}
		profile_free(q);
	}
	assert_true(most >= 10 * PER_FLUSH); /* what is whole is used */
}

static void any_damaged_byte_of_the_database_is_survived(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *data = saved_bytes(&size);
	unsigned whole = 0, part = 0, none = 0;
	for (size_t i = 0; i < size; i += i < 700 ? 1 : 13) {
		struct profile *q = NULL;
		data[i] ^= 0xff;
		int r = profile_open_memory(data, size, "x", &q, NULL);
		data[i] ^= 0xff;
		r == 0 ? whole++ : r == 1 ? part++ : none++;
		assert_true(r >= 0 || r == -EBADMSG || r == -ENOMSG || r == -ENOTSUP);
		profile_free(q);
	}
	print_message("%u read whole, %u in part, %u refused\n", whole, part, none);
	assert_true(part > 0 && none > 0);
}

/* What a schema can do to whoever reads from it. */
static void a_schema_that_computes_is_refused(void **state)
{
	static const char *const schemas[] = {
		"DROP TABLE chunk; CREATE VIEW chunk AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL "
		"SELECT n + 1 FROM r) SELECT n AS seq, 1 AS kind, 1 AS raw_size, x'00' AS data FROM r",
		"DROP TABLE chunk; CREATE TABLE chunk(seq INTEGER PRIMARY KEY, kind INTEGER, raw_size "
		"INTEGER, data AS (zeroblob(60000000)), time); INSERT INTO chunk VALUES(1,1,9,0)",
		"DROP TABLE chunk; CREATE VIRTUAL TABLE chunk USING fts5(seq, kind, raw_size, data)",
		"DROP TABLE chunk; CREATE TABLE chunk(seq, kind, raw_size, data)",
		"DROP TABLE chunk",
	};
	for (size_t i = 0; i < ARRAY_SIZE(schemas); i++) {
		size_t size;
		free(saved_bytes(&size));
		sql(schemas[i]);
		_cleanup_free_ uint8_t *data = read_path(path, &size);
		struct profile *q = NULL;
		int r = profile_open_memory(data, size, "x", &q, NULL);
		assert_true(r == -EBADMSG || (r >= 0 && q->total_count == 0));
		profile_free(q);
	}
}

static void chunks_that_lie_about_their_size_are_counted_and_left_out(void **state)
{
	static const char *const lies[] = {
		"UPDATE chunk SET raw_size = -1", "UPDATE chunk SET raw_size = 1 << 40",
		"UPDATE chunk SET raw_size = raw_size + 1", "UPDATE chunk SET raw_size = 0",
		"UPDATE chunk SET raw_size = 'x'", "UPDATE chunk SET data = x''",
		"UPDATE chunk SET data = 'text'", "UPDATE chunk SET data = substr(data, 1, 90)",
		"UPDATE chunk SET data = zeroblob(5000)",
	};
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		size_t size;
		free(saved_bytes(&size));
		sql(lies[i]);
		_cleanup_free_ uint8_t *data = read_path(path, &size);
		struct profile *q = NULL;
		assert_int_equal(profile_open_memory(data, size, "x", &q, NULL), 1);
		assert_non_null(strstr(q->damage, "1 damaged chunks, the first is chunk 0: "));
		assert_int_equal(q->total_count, 0);
		profile_free(q);
	}
}

static void a_missing_chunk_is_counted_and_the_rest_read(void **state)
{
	_cleanup_(cleanup_profile_free) struct profile *p = build_empty();
	struct profile_writer *w;
	assert_int_equal(profile_writer_create(path, p, &w, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		add_second(p, i, 100);
		assert_int_equal(profile_writer_flush(w, NULL), 0);
	}
	assert_int_equal(profile_writer_close(w, NULL), 0);
	sql("DELETE FROM chunk WHERE seq = 2");
	size_t size;
	_cleanup_free_ uint8_t *data = read_path(path, &size);
	struct profile *q = NULL;
	assert_int_equal(profile_open_memory(data, size, "x", &q, NULL), 1);
	assert_int_equal(q->total_count, 4 * PER_FLUSH);
	assert_non_null(strstr(q->damage, "references to a part that is missing"));
	profile_free(q);
}

static void only_regular_files_are_read(void **state)
{
	struct profile *p;
	struct mw_error e;
	_cleanup_close_ int fd = open("/dev/zero", O_RDONLY);
	assert_int_equal(profile_open(fd, "/dev/zero", &p, &e), -EINVAL);
	assert_string_equal(e.msg, "/dev/zero: is no regular file");
	_cleanup_close_ int large = memfd_create("large", MFD_CLOEXEC);
	assert_int_equal(ftruncate(large, (off_t)PROFILE_FILE_MAX + 1), 0);
	assert_int_equal(profile_open(large, "large", &p, &e), -EFBIG);
}

/* A redo block is applied only if all of it is right. */
static void a_redo_block_that_is_not_whole_is_ignored(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *data = saved_bytes(&size);
	size_t with_block = size + 4096 + 4 + 32;
	_cleanup_free_ uint8_t *both = calloc(1, with_block);
	memcpy(both, data, size);
	struct {
		char magic[16];
		uint64_t database_size;
		uint32_t n, crc;
	} tail = {"", size, 1, 0};
	memcpy(tail.magic, "mapwright redo 1", 16);
	memcpy(both + with_block - sizeof tail, &tail, sizeof tail);
	size_t n = with_block;
	assert_false(redo_apply(both, &n));
	assert_int_equal(n, with_block);
	tail.n = UINT32_MAX;
	memcpy(both + with_block - sizeof tail, &tail, sizeof tail);
	assert_false(redo_apply(both, &n));
	struct profile *q = NULL;
	assert_int_equal(profile_open_memory(both, with_block, "x", &q, NULL), 0);
	assert_int_equal(q->total_count, 100);
	profile_free(q);
}

#if HAVE_SECCOMP
/*
 * Kills at whatever opens; without a sanitizer, which needs more, at all that a parser has no need
 * for.
 */
static void enter_sandbox(void)
{
	const int opening[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(creat)};
	const int needed[] = {
		SCMP_SYS(read),	 SCMP_SYS(pread64),    SCMP_SYS(write),	  SCMP_SYS(fstat),
		SCMP_SYS(brk),	 SCMP_SYS(newfstatat), SCMP_SYS(mmap),	  SCMP_SYS(munmap),
		SCMP_SYS(futex), SCMP_SYS(exit_group), SCMP_SYS(madvise), SCMP_SYS(mremap),
	};
	scmp_filter_ctx filter = seccomp_init(SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < ARRAY_SIZE(needed) && !SANITIZED; i++)
		seccomp_rule_add(filter, SCMP_ACT_ALLOW, needed[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(opening) && SANITIZED; i++)
		seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, opening[i], 0);
	if (seccomp_load(filter) < 0)
		_exit(2);
}

static int read_and_print(int fd, FILE *out)
{
	struct profile *p = NULL;
	if (profile_open(fd, "x", &p, NULL) != 0 || p->total_count != 100)
		return 3;
	if (report_write(p, &(struct report_options){.call_graph = true}, out) < 0)
		return 4;
	for (size_t i = 0; output_format_at(i); i++) {
		if (output_format_at(i)->write(p, out) < 0)
			return 5;
	}
	return 0;
}

static void opens_and_prints_in_a_sandbox_that_cannot_open_files(void **state)
{
	size_t size;
	free(saved_bytes(&size));
	int fd = open(path, O_RDONLY);
	pid_t child = fork();
	if (child == 0) {
		_cleanup_fclose_ FILE *out = fdopen(memfd_create("out", 0), "w");
		enter_sandbox();
		_exit(read_and_print(fd, out));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fd);
}
#endif

#define test_in_directory(f) cmocka_unit_test_setup_teardown(f, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
#if HAVE_SECCOMP
		test_in_directory(opens_and_prints_in_a_sandbox_that_cannot_open_files),
#endif
		test_in_directory(a_saved_profile_opens_with_everything_in_it),
		test_in_directory(the_tables_for_people_are_filled_at_close),
		test_in_directory(saving_what_was_read_gives_the_same_profile),
		test_in_directory(made_code_is_kept_with_the_time_it_was_valid),
		test_in_directory(names_by_an_id_of_several_contents_are_not_read),
		test_in_directory(source_lines_are_kept_and_replaced),
		test_in_directory(an_earlier_file_becomes_old),
		test_in_directory(what_is_no_regular_file_is_not_replaced),
		test_in_directory(nothing_but_the_file_is_left_while_and_after_recording),
		test_in_directory(a_recording_that_goes_on_can_be_read),
		test_in_directory(another_program_cannot_write_to_a_running_recording),
		test_in_directory(a_large_flush_is_several_chunks),
		test_in_directory(tables_that_begin_anew_lose_nothing),
		test_in_directory(a_profile_without_room_for_more_does_not_begin_anew),
		test_in_directory(a_kill_between_any_two_writes_loses_one_flush_at_most),
		test_in_directory(kill_9_at_a_random_moment_loses_one_flush_at_most),
		test_in_directory(a_full_disk_is_an_error_and_loses_nothing_once_there_is_room),
		test_in_directory(a_disk_that_stays_full_leaves_what_was_written),
		test_in_directory(a_file_that_cannot_be_created_says_why),
		test_in_directory(what_is_no_profile_is_called_so),
		test_in_directory(a_newer_major_version_is_refused_a_newer_minor_read),
		test_in_directory(a_file_marked_as_wal_opens_alone),
		test_in_directory(a_file_cut_anywhere_says_so),
		test_in_directory(any_damaged_byte_of_the_database_is_survived),
		test_in_directory(a_schema_that_computes_is_refused),
		test_in_directory(chunks_that_lie_about_their_size_are_counted_and_left_out),
		test_in_directory(a_missing_chunk_is_counted_and_the_rest_read),
		test_in_directory(only_regular_files_are_read),
		test_in_directory(a_redo_block_that_is_not_whole_is_ignored),
	};
	cmocka_set_test_filter(getenv("T"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
