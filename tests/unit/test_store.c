/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A part's content in these tests tells what it is: `rank` bytes more than a page, each of them
 * `rank`, so that a part and a meta that do not belong together are seen.
 */
#include "base/io.h"
#include "lib/test.h"
#include "store/root.h"
#include "store/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define BASE_SIZE 4000

/* ---- helpers --------------------------------------------------------------------------------- */

static char directory[64];

static int make_directory(void **state)
{
	strcpy(directory, "/tmp/mw-store-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int remove_directory(void **state)
{
	return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct store *open_store(uint64_t limit)
{
	struct store_options options = {.directory = directory, .size_limit = limit};
	struct store *store = NULL;
	struct mw_error e = {};
	if (store_open(&options, &store, &e) < 0)
		fail_msg("%s", e.msg);
	return store;
}

static struct mw_file_id id_of(const char *text)
{
	struct mw_file_id id;
	assert_int_equal(mw_file_id_from_text(text, &id), 0);
	return id;
}

static struct mw_file_id numbered_id(unsigned number)
{
	char text[64];
	snprintf(text, sizeof text, "gnu:%02x%06x", number & 0xff, number);
	return id_of(text);
}

/* Begins, writes `size` bytes of `rank`, commits. */
static int put_bytes(struct store *store, const struct mw_file_id *id, enum store_part part,
		     size_t size, uint8_t rank, uint32_t builder, const struct meta *about,
		     struct mw_error *e)
{
	struct store_writer writer;
	int r = store_begin(store, id, part, &writer, e);
	if (r < 0)
		return r;
	_cleanup_free_ uint8_t *bytes = malloc(size);
	memset(bytes, rank, size);
	r = io_write(writer.fd, bytes, size);
	if (r < 0) {
		store_abort(store, &writer);
		return r;
	}
	struct store_commit commit = {
		.rank = rank, .builder = builder, .source = "test", .about = about};
	return store_commit(store, &writer, &commit, e);
}

static int put(struct store *store, const struct mw_file_id *id, uint8_t rank)
{
	return put_bytes(store, id, STORE_NAMES, BASE_SIZE + rank, rank, 1, NULL, NULL);
}

/*
 * The rank of the part in the store, after a look at every byte of it; or what store_open_part()
 * says.
 */
static int rank_of(struct store *store, const struct mw_file_id *id, enum store_part part)
{
	struct meta meta;
	_cleanup_close_ int fd = store_open_part(store, id, part, &meta, NULL);
	if (fd < 0)
		return fd;
	uint32_t rank = meta.parts[part].rank;
	meta_deinit(&meta);
	uint8_t bytes[BASE_SIZE + 300];
	ssize_t n = io_pread(fd, bytes, sizeof bytes, 0);
	if (n != BASE_SIZE + (ssize_t)rank)
		return -EIO;
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] != rank)
			return -EIO;
	}
	return (int)rank;
}

static bool is_there(struct store *store, unsigned number)
{
	struct mw_file_id id = numbered_id(number);
	struct meta meta;
	int r = store_lookup(store, &id, &meta, NULL);
	assert_true(r >= 0);
	meta_deinit(&meta);
	return r > 0;
}

static int count_entry(void *data, const struct store_entry *entry)
{
	++*(unsigned *)data;
	return 0;
}

static unsigned count_entries(struct store *store)
{
	unsigned n = 0;
	assert_int_equal(store_each(store, count_entry, &n, NULL), 0);
	return n;
}

static void path_in(char ret[256], const char *inside)
{
	snprintf(ret, 256, "%s/%s", directory, inside);
}

static unsigned count_temporaries(void)
{
	char command[300];
	snprintf(command, sizeof command, "ls %s/temporary | wc -l", directory);
	FILE *f = popen(command, "r");
	unsigned n = 999;
	assert_int_equal(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

static void set_age(unsigned number, int seconds)
{
	struct mw_file_id id = numbered_id(number);
	char entry[ROOT_ENTRY_MAX], path[400];
	assert_int_equal(root_entry_path(&id, entry), 0);
	snprintf(path, sizeof path, "%s/%s", directory, entry);
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds},
				    {.tv_sec = time(NULL) - seconds}};
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void write_file(const char *inside, const void *data, size_t size)
{
	char path[256];
	path_in(path, inside);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, data, size), 0);
}

/* What is accounted must never be less than what is there. */
static void assert_account_covers_all(struct store *store, bool exactly)
{
	uint64_t accounted;
	struct store_usage usage;
	assert_int_equal(store_bytes(store, &accounted, NULL), 0);
	assert_int_equal(store_gc(store, &usage, NULL), 0);
	assert_true(accounted >= usage.bytes);
	if (exactly)
		assert_int_equal(accounted, usage.bytes);
}

static int wait_for(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void a_part_comes_back_with_what_is_known(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = id_of("gnu:93ac61ec");
	struct meta meta, about = {.elf_type = 3, .elf_machine = 62, .file_size = 1000};
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 0);
	assert_int_equal(store_open_part(store, &id, STORE_NAMES, NULL, NULL), -ENOENT);

	struct store_segment segment = {0x1000, 0x1000, 0x200, 0x200, 5};
	assert_int_equal(meta_add_segment(&about, &segment), 0);
	assert_int_equal(meta_add_path(&about, "/usr/bin/program"), 0);
	assert_int_equal(meta_add_piece(&about, 0x1010, 0x1000), 0);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 20, 20, 1, &about, NULL),
			 1);
	meta_deinit(&about);

	assert_int_equal(rank_of(store, &id, STORE_NAMES), 20);
	assert_int_equal(rank_of(store, &id, STORE_LINES), -ENOENT);
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 1);
	assert_int_equal(meta.segments.n, 1);
	assert_string_equal(meta.paths.items[0], "/usr/bin/program");
	assert_int_equal(meta_piece_start(&meta, 0x1010), 0x1000);
	assert_string_equal(meta.parts[STORE_NAMES].source, "test");
	meta_deinit(&meta);
	store_close(store);

	store = open_store(0); /* and for the next process */
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 20);
	assert_account_covers_all(store, true);
	store_close(store);
}

static void only_a_better_part_replaces(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	assert_int_equal(put(store, &id, 20), 1);
	assert_int_equal(put(store, &id, 10), 0);
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 20);
	assert_int_equal(put(store, &id, 20), 0);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 20, 20, 0, NULL, NULL), 0);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 10, 10, 99, NULL, NULL), 0);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 20, 20, 2, NULL, NULL), 1);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 30, 30, 0, NULL, NULL), 1);
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 30);
	assert_int_equal(put_bytes(store, &id, STORE_CODE, BASE_SIZE + 1, 1, 1, NULL, NULL), 1);
	assert_int_equal(rank_of(store, &id, STORE_CODE), 1);
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 30);
	assert_int_equal(count_temporaries(), 0);
	assert_account_covers_all(store, true);
	store_close(store);
}

static void pieces_change_with_the_names_and_only_with_them(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	struct meta meta, about = {};
	assert_int_equal(meta_add_piece(&about, 0x20, 0x10), 0);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 20, 20, 1, &about, NULL),
			 1);
	about.pieces.items[0].start = 0x11;
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 10, 10, 1, &about, NULL),
			 0);
	assert_int_equal(put_bytes(store, &id, STORE_CODE, BASE_SIZE + 10, 10, 1, &about, NULL), 1);
	assert_int_equal(store_update(store, &id, &about, NULL), 0);
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 1);
	assert_int_equal(meta_piece_start(&meta, 0x20), 0x10);
	meta_deinit(&meta);
	assert_int_equal(put(store, &id, 30), 1);
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 1);
	assert_int_equal(meta.pieces.n, 0);
	meta_deinit(&meta);
	meta_deinit(&about);
	store_close(store);
}

static void an_entry_takes_nothing_of_another_content(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	struct meta meta, one = {.has_content = true, .content = "one"},
			  other = {.has_content = true, .content = "other", .file_size = 77};
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 20, 20, 1, &one, NULL), 1);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 30, 30, 1, &other, NULL),
			 -ESTALE);
	assert_int_equal(put_bytes(store, &id, STORE_CODE, BASE_SIZE + 30, 30, 1, &other, NULL),
			 -ESTALE);
	assert_int_equal(store_update(store, &id, &other, NULL), -ESTALE);
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 1);
	assert_int_equal(meta.parts[STORE_NAMES].rank, 20);
	assert_false(meta.parts[STORE_CODE].present);
	assert_int_equal(meta.file_size, 0);
	meta_deinit(&meta);
	/* Who does not know the content says nothing of it. */
	assert_int_equal(put(store, &id, 30), 1);
	store_close(store);
}

static void a_failure_is_remembered_until_the_part_is_built(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	struct meta meta, about = {.failures[STORE_NAMES] = {MW_REASON_TIMEOUT, 1, 1700000000}};
	assert_int_equal(store_update(store, &id, &about, NULL), 0);
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 1);
	assert_int_equal(meta.failures[STORE_NAMES].reason, MW_REASON_TIMEOUT);
	meta_deinit(&meta);
	assert_int_equal(put(store, &id, 1), 1);
	assert_int_equal(store_lookup(store, &id, &meta, NULL), 1);
	assert_int_equal(meta.failures[STORE_NAMES].reason, MW_REASON_NONE);
	meta_deinit(&meta);
	store_close(store);
}

static void an_aborted_part_leaves_nothing(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	struct store_writer writer;
	assert_int_equal(store_begin(store, &id, STORE_NAMES, &writer, NULL), 0);
	assert_int_equal(count_temporaries(), 1);
	store_abort(store, &writer);
	store_abort(store, &writer);
	assert_int_equal(count_temporaries(), 0);
	assert_int_equal(count_entries(store), 0);
	struct store_commit commit = {.source = "test"};
	assert_int_equal(store_commit(store, &writer, &commit, NULL), -EINVAL);
	assert_int_equal(store_begin(store, &id, STORE_NAMES, &writer, NULL), 0);
	commit.source = "no/source";
	assert_int_equal(store_commit(store, &writer, &commit, NULL), -EINVAL);
	assert_int_equal(count_temporaries(), 0);
	store_close(store);
}

static void an_open_part_outlives_its_entry(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	assert_int_equal(put(store, &id, 7), 1);
	_cleanup_close_ int fd = store_open_part(store, &id, STORE_NAMES, NULL, NULL);
	assert_int_equal(store_remove(store, &id, NULL), 1);
	assert_int_equal(store_remove(store, &id, NULL), 0);
	assert_int_equal(rank_of(store, &id, STORE_NAMES), -ENOENT);
	char byte;
	assert_int_equal(pread(fd, &byte, 1, BASE_SIZE), 1);
	assert_int_equal(byte, 7);
	assert_account_covers_all(store, true);
	store_close(store);
}

static void what_the_disk_does_not_take_goes_elsewhere(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id before = id_of("gnu:aa01"), after = id_of("gnu:aa02");
	assert_int_equal(put(store, &before, 10), 1);
	struct store_writer begun;
	assert_int_equal(store_begin(store, &after, STORE_NAMES, &begun, NULL), 0);

	assert_int_equal(store_elsewhere_cause(store), 0);
	assert_int_equal(store_go_elsewhere(store, -ENOSPC, NULL), 0);
	assert_int_equal(store_go_elsewhere(store, -EROFS, NULL), 0); /* it is there already */
	assert_int_equal(store_elsewhere_cause(store), -ENOSPC);
	store_abort(store, &begun); /* belongs to the first place */

	assert_int_equal(put(store, &after, 20), 1);
	assert_int_equal(put(store, &before, 30), 1);
	assert_int_equal(rank_of(store, &after, STORE_NAMES), 20);
	assert_int_equal(rank_of(store, &before, STORE_NAMES), 30);
	store_close(store);

	store = open_store(0);
	assert_int_equal(rank_of(store, &after, STORE_NAMES), -ENOENT);
	assert_int_equal(rank_of(store, &before, STORE_NAMES), 10);
	assert_account_covers_all(store, true);
	store_close(store);
}

static void a_part_too_large_for_the_store_is_refused(void **state)
{
	struct store *store = open_store(1 << 20);
	struct mw_file_id id = numbered_id(1);
	struct mw_error e = {};
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, (1 << 19) + 1, 1, 1, NULL, &e), -EFBIG);
	assert_non_null(strstr(e.msg, "too large"));
	assert_int_equal(count_temporaries(), 0);
	struct store_writer writer; /* a file with a hole is as large as it says */
	assert_int_equal(store_begin(store, &id, STORE_NAMES, &writer, NULL), 0);
	assert_int_equal(ftruncate(writer.fd, (off_t)1 << 33), 0);
	struct store_commit commit = {.source = "test"};
	assert_int_equal(store_commit(store, &writer, &commit, NULL), -EFBIG);
	store_close(store);
}

/* ---- names ----------------------------------------------------------------------------------- */

struct seen {
	const struct mw_file_id *ids;
	size_t n;
	bool *found;
};

static int find_id(void *data, const struct store_entry *entry)
{
	struct seen *seen = data;
	for (size_t i = 0; i < seen->n; i++) {
		if (mw_file_id_equal(&entry->id, &seen->ids[i])) {
			seen->found[i] = true;
			return 0;
		}
	}
	return -ENOENT;
}

static void hostile_ids_are_safe_and_never_collide(void **state)
{
	static const char *const texts[] = {
		"go:..",
		"go:.",
		"go:/",
		"go:../../../../etc/passwd",
		"go:a/b",
		"go:a%2Fb%00",
		"go:a",
		"go:A",
		"go:-",
		"go:%00",
		"go:%2F%00",
		"go:meta",
		"go:aa/meta",
		"gnu:2f",
		"gnu:61",
		"gnu:2e2e",
		"htl:00112233445566778899aabbccddeeff",
		"gnu:00112233445566778899aabbccddeeff",
		"gnu-padded:0011223300000000000000000000000000000000",
		"gnu:0011223300000000000000000000000000000000",
		"gnu:00112233",
		"go:%0A%0Aid gnu:61",
	};
	struct mw_file_id ids[ARRAY_SIZE(texts) + 4];
	size_t n = 0;
	for (; n < ARRAY_SIZE(texts); n++)
		ids[n] = id_of(texts[n]);
	for (uint8_t kind = MW_FILE_ID_GNU; kind <= MW_FILE_ID_GNU_PADDED; kind++, n++) {
		ids[n] = (struct mw_file_id){.kind = kind, .size = MW_FILE_ID_MAX};
		memset(ids[n].bytes, '/', MW_FILE_ID_MAX); /* the longest there can be */
	}
	struct store *store = open_store(0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(put(store, &ids[i], (uint8_t)(i + 1)), 1);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rank_of(store, &ids[i], STORE_NAMES), i + 1);
	bool found[ARRAY_SIZE(ids)] = {false};
	struct seen seen = {ids, n, found};
	assert_int_equal(store_each(store, find_id, &seen, NULL), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(found[i]);
	assert_account_covers_all(store, true);
	store_close(store);
}

static void ids_that_are_none_are_refused(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id none = {}, empty = {.kind = MW_FILE_ID_GNU},
			  odd = {.kind = 77, .size = 1};
	struct mw_file_id *ids[] = {&none, &empty, &odd};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct store_writer writer;
		struct meta meta = {};
		assert_int_equal(store_begin(store, ids[i], STORE_NAMES, &writer, NULL), -EINVAL);
		assert_int_equal(store_update(store, ids[i], &meta, NULL), -EINVAL);
		assert_int_equal(store_lookup(store, ids[i], &meta, NULL), -EINVAL);
		assert_int_equal(store_open_part(store, ids[i], STORE_NAMES, NULL, NULL), -EINVAL);
	}
	store_close(store);
}

static void a_padded_id_finds_its_only_completion(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id padded = id_of("gnu-padded:aabb000000000000000000000000000000000000"),
			  found;
	struct mw_file_id two = id_of("gnu:aabb"), three = id_of("gnu:aabb00"),
			  other = id_of("gnu:aabbcc");
	assert_int_equal(store_complete_id(store, &padded, &found), -ENOENT);
	assert_int_equal(put(store, &other, 1), 1);
	assert_int_equal(put(store, &padded, 1), 1); /* not a completion of itself */
	assert_int_equal(store_complete_id(store, &padded, &found), -ENOENT);
	assert_int_equal(put(store, &two, 1), 1);
	assert_int_equal(store_complete_id(store, &padded, &found), 0);
	assert_true(mw_file_id_equal(&found, &two));
	assert_int_equal(put(store, &three, 1), 1);
	assert_int_equal(store_complete_id(store, &padded, &found), -ENOTUNIQ);
	assert_int_equal(store_remove(store, &two, NULL), 1);
	assert_int_equal(store_complete_id(store, &padded, &found), 0);
	assert_true(mw_file_id_equal(&found, &three));

	struct mw_file_id full = id_of("gnu:0102030405060708090a0b0c0d0e0f1011121300");
	struct mw_file_id short_one = id_of("gnu:0102030405060708090a0b0c0d0e0f10111213");
	padded = full;
	padded.kind = MW_FILE_ID_GNU_PADDED;
	assert_int_equal(put(store, &full, 1), 1);
	assert_int_equal(store_complete_id(store, &padded, &found), 0);
	assert_true(mw_file_id_equal(&found, &full));
	assert_int_equal(put(store, &short_one, 1), 1);
	assert_int_equal(store_complete_id(store, &padded, &found), -ENOTUNIQ);
	assert_int_equal(store_complete_id(store, &two, &found), -EINVAL);
	store_close(store);
}

/* ---- damage ---------------------------------------------------------------------------------- */

#define META_PATH "gnu/01/000001/meta"
#define NAMES_PATH "gnu/01/000001/names.gsym"

static void a_damaged_meta_is_never_trusted_and_is_rebuilt(void **state)
{
	static const char other[] = "mapwright-meta 2\nid gnu:02000002\nelf 0 0\nsize 0\n"
				    "part names 200 9 4000 0000000000000000 a\nend\n";
	static const char *const damaged[] = {"", "garbage", "mapwright-meta 9\nend\n", other};
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct meta meta;
		assert_int_equal(put(store, &id, 20), 1);
		write_file(META_PATH, damaged[i], strlen(damaged[i]));
		assert_int_equal(store_lookup(store, &id, &meta, NULL), 0);
		assert_int_equal(rank_of(store, &id, STORE_NAMES), -ENOENT);
		assert_int_equal(put(store, &id, 5), 1); /* though what lay there was of rank 20 */
		assert_int_equal(rank_of(store, &id, STORE_NAMES), 5);
		assert_int_equal(store_remove(store, &id, NULL), 1);
	}
	store_close(store);
}

static void things_in_the_place_of_a_meta_are_no_meta(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	char path[256];
	path_in(path, META_PATH);
	for (int i = 0; i < 2; i++) {
		struct meta meta;
		assert_int_equal(put(store, &id, 20), 1);
		assert_int_equal(unlink(path), 0);
		if (i == 0)
			assert_int_equal(mkfifo(path, 0600), 0);
		else
			assert_int_equal(symlink("/etc/passwd", path), 0);
		assert_int_equal(store_lookup(store, &id, &meta, NULL), 0);
		assert_int_equal(put(store, &id, 5), 1);
		assert_int_equal(rank_of(store, &id, STORE_NAMES), 5);
		assert_int_equal(store_remove(store, &id, NULL), 1);
	}
	store_close(store);
}

static void a_part_that_its_meta_does_not_describe_is_absent(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	char path[256], bytes[BASE_SIZE + 20];
	path_in(path, NAMES_PATH);
	memset(bytes, 20, sizeof bytes);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(put(store, &id, 20), 1);
		if (i == 0)
			assert_int_equal(truncate(path, 100), 0);
		else if (i == 1)
			assert_int_equal(unlink(path), 0);
		else if (i == 2)
			assert_int_equal(truncate(path, 0) | truncate(path, BASE_SIZE + 20), 0);
		else if (i == 3)
			assert_int_equal(unlink(path) | symlink("/etc/passwd", path), 0);
		else
			write_file(NAMES_PATH, "x", 1);
		assert_int_equal(rank_of(store, &id, STORE_NAMES), -ENOENT);
		assert_int_equal(put(store, &id, 5), 1); /* and does not stand in the way */
		assert_int_equal(rank_of(store, &id, STORE_NAMES), 5);
		assert_int_equal(store_remove(store, &id, NULL), 1);
	}
	store_close(store);
}

static void what_lies_about_is_left_alone_or_cleaned(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id one = numbered_id(1), two = numbered_id(2);
	assert_int_equal(put(store, &one, 1), 1);
	assert_int_equal(put(store, &two, 1), 1);
	char path[256];
	path_in(path, "gnu/zz");
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(path, "gnu/01/not-hex");
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(path, "gnu/02/0000ff");
	assert_int_equal(symlink("/etc", path), 0);
	path_in(path, "gnu/02/file");
	write_file("gnu/02/0000fe", "x", 1);
	write_file("README", "x", 1);
	path_in(path, META_PATH);
	assert_int_equal(unlink(path), 0); /* an entry without a meta is none */
	struct store_usage usage;
	assert_int_equal(store_gc(store, &usage, NULL), 0);
	assert_int_equal(usage.entries, 1);
	assert_int_equal(usage.cleaned, 1);
	assert_int_equal(count_entries(store), 1);
	path_in(path, NAMES_PATH);
	assert_int_equal(access(path, F_OK), -1);
	path_in(path, "README");
	assert_int_equal(access(path, F_OK), 0);
	path_in(path, "gnu/01/not-hex");
	assert_int_equal(access(path, F_OK), 0);
	store_close(store);
}

static void left_over_temporary_files_go_and_live_ones_stay(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	struct store_writer writer;
	assert_int_equal(store_begin(store, &id, STORE_NAMES, &writer, NULL), 0);
	write_file("temporary/0123456789abcdef", "left over", 9);
	char path[256];
	path_in(path, "temporary/fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	struct store *other = open_store(0); /* another process, as far as locks are concerned */
	assert_int_equal(count_temporaries(), 1);
	assert_int_equal(store_gc(other, NULL, NULL), 0);
	assert_int_equal(count_temporaries(), 1);
	store_close(other);
	struct store_commit commit = {.source = "test"};
	assert_int_equal(store_commit(store, &writer, &commit, NULL), 1);
	assert_int_equal(count_temporaries(), 0);
	store_close(store);
}

static void a_damaged_account_is_counted_anew(void **state)
{
	static const char *const damaged[] = {"", "mapwright-store 1\nbytes 99999999999999999999\n",
					      "x", "mapwright-store 1\nbytes -1\n",
					      "mapwright-store 1\nbytes 0000000000000000"};
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct store *store = open_store(0);
		struct mw_file_id id = numbered_id((unsigned)i);
		assert_int_equal(put(store, &id, 1), 1);
		store_close(store);
		write_file("mapwright-store", damaged[i], strlen(damaged[i]));
		store = open_store(0);
		assert_account_covers_all(store, true);
		assert_int_equal(count_entries(store), i + 1);
		store_close(store);
	}
}

/* ---- eviction -------------------------------------------------------------------------------- */

/* Entries of 3 blocks (two of the part, one of the meta). */
#define ENTRY_BYTES 12288

static void put_numbered(struct store *store, unsigned number)
{
	struct mw_file_id id = numbered_id(number);
	assert_int_equal(put_bytes(store, &id, STORE_NAMES, 5000, 1, 1, NULL, NULL), 1);
}

static void the_least_recently_used_go_first(void **state)
{
	struct store *store = open_store(10 * ENTRY_BYTES);
	for (unsigned i = 0; i < 10; i++) {
		put_numbered(store, i);
		set_age(i, 5000 - 100 * (int)i); /* 0 is the oldest */
	}
	assert_int_equal(count_entries(store), 10);
	assert_true(is_there(store, 0)); /* a use: now 1 is the oldest */
	struct mw_file_id id = numbered_id(2);
	close(store_open_part(store, &id, STORE_NAMES, NULL, NULL));
	put_numbered(store, 10);
	assert_int_equal(count_entries(store), 9); /* nine tenths */
	static const bool expected[] = {true, false, true, false, true, true,
					true, true,  true, true,  true};
	for (unsigned i = 0; i <= 10; i++)
		assert_int_equal(is_there(store, i), expected[i]);
	uint64_t bytes;
	assert_int_equal(store_bytes(store, &bytes, NULL), 0);
	assert_int_equal(bytes, 9 * ENTRY_BYTES);
	store_close(store);
}

static void a_time_in_the_future_does_not_keep_an_entry(void **state)
{
	struct store *store = open_store(10 * ENTRY_BYTES);
	for (unsigned i = 0; i < 10; i++) {
		put_numbered(store, i);
		set_age(i, i == 3 ? -100000 : 5000 - 100 * (int)i);
	}
	assert_true(is_there(store, 3));
	set_age(3, 6000);
	put_numbered(store, 10);
	assert_false(is_there(store, 3));
	store_close(store);
}

static void a_lower_limit_is_met_by_gc(void **state)
{
	struct store *store = open_store(0);
	for (unsigned i = 0; i < 30; i++)
		put_numbered(store, i);
	store_close(store);
	store = open_store(10 * ENTRY_BYTES);
	struct store_usage usage;
	assert_int_equal(store_gc(store, &usage, NULL), 0);
	assert_int_equal(usage.entries, 9);
	assert_int_equal(usage.evicted, 21);
	assert_int_equal(usage.bytes, 9 * ENTRY_BYTES);
	assert_int_equal(store_gc(store, &usage, NULL), 0);
	assert_int_equal(usage.evicted, 0);
	store_close(store);
}

static void fill(unsigned from)
{
	struct store_options options = {.directory = directory, .size_limit = 20 * ENTRY_BYTES};
	struct store *store;
	if (store_open(&options, &store, NULL) < 0)
		_exit(1);
	for (unsigned i = 0; i < 150; i++) {
		struct mw_file_id id = numbered_id(from + i);
		if (put_bytes(store, &id, STORE_NAMES, 5000, 1, 1, NULL, NULL) != 1)
			_exit(2);
	}
	store_close(store);
	_exit(0);
}

static void several_evict_at_once(void **state)
{
	pid_t pids[4];
	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			fill(i * 1000);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++)
		assert_int_equal(wait_for(pids[i]), 0);
	struct store *store = open_store(20 * ENTRY_BYTES);
	uint64_t bytes;
	assert_int_equal(store_bytes(store, &bytes, NULL), 0);
	assert_true(bytes <= 20 * ENTRY_BYTES);
	assert_true(count_entries(store) >= 17);
	assert_account_covers_all(store, true);
	assert_int_equal(count_temporaries(), 0);
	store_close(store);
}

/* ---- several processes, and their deaths ----------------------------------------------------- */

static void write_ranks(unsigned seed, unsigned count)
{
	struct store_options options = {.directory = directory};
	struct store *store;
	if (store_open(&options, &store, NULL) < 0)
		_exit(1);
	struct mw_file_id id = numbered_id(1);
	for (unsigned i = 0; i < count; i++) {
		seed = seed * 1103515245 + 12345;
		uint8_t rank = (uint8_t)(1 + (seed >> 16) % 200);
		uint32_t builder = i;
		if (put_bytes(store, &id, STORE_NAMES, BASE_SIZE + rank, rank, builder, NULL,
			      NULL) < 0)
			_exit(2);
		if (i % 16 == 15)
			store_remove(store, &id, NULL); /* low ranks get another turn */
	}
	struct meta about = {};
	char path[32];
	snprintf(path, sizeof path, "/writer/%u", seed);
	if (meta_add_path(&about, path) < 0 || store_update(store, &id, &about, NULL) < 0 ||
	    put_bytes(store, &id, STORE_NAMES, BASE_SIZE + 250, 250, 1, NULL, NULL) < 0)
		_exit(3);
	meta_deinit(&about);
	store_close(store);
	_exit(0);
}

static void writers_of_one_entry_and_a_reader_do_not_disturb_each_other(void **state)
{
	pid_t pids[4];
	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			write_ranks(i, 300);
	}
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	unsigned seen = 0;
	for (unsigned ended = 0; ended < ARRAY_SIZE(pids);) {
		int r = rank_of(store, &id, STORE_NAMES);
		if (r != -ENOENT)
			assert_true(r > 0); /* whole, and of the rank that its meta says */
		seen += r > 0;
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			assert_int_equal(status, 0);
			ended++;
		}
	}
	assert_true(seen > 10);
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 250);
	assert_int_equal(count_temporaries(), 0);
	assert_account_covers_all(store, true);
	store_close(store);
}

static void write_until_killed(void)
{
	struct store_options options = {.directory = directory, .size_limit = 40 * ENTRY_BYTES};
	struct store *store;
	if (store_open(&options, &store, NULL) < 0)
		_exit(1);
	for (unsigned i = 0;; i++) {
		struct mw_file_id id = numbered_id(i % 50);
		uint8_t rank = (uint8_t)(1 + i / 50 % 200);
		if (put_bytes(store, &id, STORE_NAMES, BASE_SIZE + rank, rank, i, NULL, NULL) < 0)
			_exit(2);
		if (i % 64 == 63)
			store_remove(store, &id, NULL);
	}
}

static void a_kill_at_any_moment_leaves_no_half_part(void **state)
{
	struct timespec pause = {.tv_nsec = 0};
	unsigned whole = 0;
	for (unsigned round = 0; round < 120; round++) {
		pid_t pid = fork();
		if (pid == 0)
			write_until_killed();
		pause.tv_nsec = 1000000 + (long)(round * 7919 % 100) * 97000;
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(wait_for(pid), 100 + SIGKILL);
		struct store *store = open_store(40 * ENTRY_BYTES);
		assert_int_equal(count_temporaries(), 0);
		for (unsigned i = 0; i < 50; i++) {
			struct mw_file_id id = numbered_id(i);
			int r = rank_of(store, &id, STORE_NAMES);
			if (r != -ENOENT)
				assert_true(r > 0);
			whole += r > 0;
		}
		assert_account_covers_all(store, false);
		store_close(store);
	}
	assert_true(whole > 120);
}

static void a_stopped_process_with_a_lock_stops_nobody_for_ever(void **state)
{
	struct store *store = open_store(0);
	struct root root;
	assert_int_equal(root_open(directory, false, &root, NULL), 0);
	assert_int_equal(root_lock(&root, ROOT_EXCLUSIVE, NULL), 0);
	struct mw_file_id id = numbered_id(1);
	struct mw_error e = {};
	struct meta about = {};
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(store_update(store, &id, &about, &e), -EBUSY);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 10);
	assert_non_null(strstr(e.msg, "lock"));
	root_unlock(&root);
	assert_int_equal(store_update(store, &id, &about, &e), 0);
	root_close(&root);
	store_close(store);
}

static void without_free_descriptors_nothing_is_rebuilt_or_lost(void **state)
{
	struct store *store = open_store(0);
	struct mw_file_id id = numbered_id(1);
	assert_int_equal(put(store, &id, 20), 1);
	struct rlimit old, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	int next = open("/dev/null", O_RDONLY);
	close(next);
	for (int free_ones = 0; free_ones < 6; free_ones++) {
		none = (struct rlimit){.rlim_cur = (rlim_t)(next + free_ones),
				       .rlim_max = old.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		struct meta meta;
		int looked = store_lookup(store, &id, &meta, NULL);
		meta_deinit(&meta);
		int opened = store_open_part(store, &id, STORE_NAMES, NULL, NULL);
		if (opened >= 0)
			close(opened);
		int taken = put(store, &id, 10);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_true(looked == 1 || looked == -EMFILE);
		assert_true(opened >= 0 || opened == -EMFILE);
		assert_true(taken == 0 || taken == -EMFILE);
	}
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 20);
	assert_int_equal(count_temporaries(), 0);
	store_close(store);
}

/* ---- which directory ------------------------------------------------------------------------- */

static int try_open(const char *path, bool allow_read_only, struct mw_error *e)
{
	struct store_options options = {.directory = path, .allow_read_only = allow_read_only};
	struct store *store;
	int r = store_open(&options, &store, e);
	if (r == 0)
		store_close(store);
	return r;
}

static void directories_that_are_not_ours_are_refused(void **state)
{
	struct mw_error e;
	char path[256], link[256];
	path_in(path, "store");
	path_in(link, "link");
	assert_int_equal(try_open(path, false, &e), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(try_open(path, false, &e), -EPERM);
	assert_non_null(strstr(e.msg, "others may write"));
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(try_open(path, false, &e), -EPERM);
	assert_int_equal(try_open(path, true, &e), -EPERM);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(try_open(path, false, &e), 0);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(try_open(link, false, &e), 0);
	if (geteuid() != 0) {
		print_message("partly skipped: giving files away takes root\n");
		return;
	}
	assert_int_equal(lchown(link, 65534, 65534), 0);
	assert_true(try_open(link, false, &e) < 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(try_open(path, false, &e), -EPERM);
	assert_non_null(strstr(e.msg, "belongs to user 65534"));
}

static void directories_with_other_things_in_them_are_refused(void **state)
{
	struct mw_error e;
	char path[256];
	path_in(path, "full");
	assert_int_equal(mkdir(path, 0700), 0);
	write_file("full/letter", "x", 1);
	assert_int_equal(try_open(path, false, &e), -ENOTEMPTY);
	assert_non_null(strstr(e.msg, "no store"));
	path_in(path, "full/letter");
	assert_true(try_open(path, false, &e) < 0);
	path_in(path, "disk");
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(path, "disk/lost+found");
	assert_int_equal(mkdir(path, 0700), 0);
	path_in(path, "disk");
	assert_int_equal(try_open(path, false, &e), 0);
	assert_true(try_open("", false, &e) < 0);
}

static void a_store_of_a_newer_format_is_refused_and_left_as_it_is(void **state)
{
	struct store *store = open_store(0);
	store_close(store);
	static const char newer[] = "mapwright-store 2\nwhatever\n";
	write_file("mapwright-store", newer, sizeof newer - 1);
	struct mw_error e;
	assert_int_equal(try_open(directory, false, &e), -EPROTONOSUPPORT);
	assert_non_null(strstr(e.msg, "newer"));
	_cleanup_free_ char *text = NULL;
	char path[256];
	path_in(path, "mapwright-store");
	assert_int_equal(io_read_text(AT_FDCWD, path, 1000, &text, NULL), 0);
	assert_string_equal(text, newer);
}

static void it_is_made_for_its_owner_alone(void **state)
{
	char path[256];
	path_in(path, "a/b/c");
	mode_t old = umask(0);
	assert_int_equal(try_open(path, false, NULL), 0);
	umask(old);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void check_defaults(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(1);
	char home[256], cache[256];
	path_in(home, "home");
	path_in(cache, "cache");
	setenv("HOME", home, 1);
	unsetenv("XDG_CACHE_HOME");
	struct store_options options = {};
	struct store *store;
	char expected[300];
	if (store_open(&options, &store, NULL) < 0)
		_exit(2);
	snprintf(expected, sizeof expected, "%s/.cache/mapwright", home);
	if (strcmp(store_directory(store), expected) != 0)
		_exit(3);
	store_close(store);
	setenv("XDG_CACHE_HOME", cache, 1);
	if (store_open(&options, &store, NULL) < 0)
		_exit(4);
	snprintf(expected, sizeof expected, "%s/mapwright", cache);
	if (strcmp(store_directory(store), expected) != 0)
		_exit(5);
	store_close(store);
	setenv("XDG_CACHE_HOME", "relative", 1);
	unsetenv("HOME");
	_exit(store_open(&options, &store, NULL) == -ENOENT ? 0 : 6);
}

static void by_default_it_lies_in_the_users_cache(void **state)
{
	assert_int_equal(chmod(directory, 0777), 0);
	pid_t pid = fork();
	if (pid == 0)
		check_defaults();
	assert_int_equal(wait_for(pid), 0);
}

static void a_temporary_store_works_and_goes(void **state)
{
	struct store_options options = {.size_limit = 1 << 20};
	struct store *store;
	setenv("TMPDIR", directory, 1);
	assert_int_equal(store_open_temporary(&options, &store, NULL), 0);
	char path[256];
	snprintf(path, sizeof path, "%s", store_directory(store));
	assert_int_equal(strncmp(path, directory, strlen(directory)), 0);
	struct mw_file_id id = numbered_id(1);
	assert_int_equal(put(store, &id, 5), 1);
	assert_int_equal(rank_of(store, &id, STORE_NAMES), 5);
	store_close(store);
	assert_int_equal(access(path, F_OK), -1);
	setenv("TMPDIR", "/nonexistent", 1); /* then the next place */
	assert_int_equal(store_open_temporary(&options, &store, NULL), 0);
	store_close(store);
	unsetenv("TMPDIR");
}

/* ---- full and read-only file systems --------------------------------------------------------- */

/* Runs fn in a child with a small tmpfs of its own over the test's directory. Its exit status. */
static int on_small_disk(int (*fn)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("tmpfs", directory, "tmpfs", 0, "size=256k,mode=700") < 0)
			_exit(77);
		_exit(fn());
	}
	return wait_for(pid);
}

/* Takes the last page, too. */
static void fill_up(void)
{
	static const char zeros[4096];
	char path[256];
	path_in(path, "filler");
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	while (write(fd, zeros, sizeof zeros) > 0)
		;
}

static int fill_the_disk(void)
{
	struct store_options options = {.directory = directory};
	struct store *store;
	struct mw_error e = {};
	if (store_open(&options, &store, NULL) < 0)
		return 1;
	struct mw_file_id first = numbered_id(0);
	if (put(store, &first, 20) != 1)
		return 2;
	int r = 1;
	unsigned n = 1;
	for (; r == 1 && n < 200; n++) {
		struct mw_file_id id = numbered_id(n);
		r = put_bytes(store, &id, STORE_NAMES, 5000, 1, 1, NULL, &e);
	}
	if (r != -ENOSPC)
		return 3;
	if (rank_of(store, &first, STORE_NAMES) != 20 || count_temporaries() != 0)
		return 4;
	fill_up();
	struct meta about = {};
	if (meta_add_path(&about, "/new") < 0 ||
	    store_update(store, &first, &about, &e) != -ENOSPC || !strstr(e.msg, "No space"))
		return 5;
	meta_deinit(&about);
	if (rank_of(store, &first, STORE_NAMES) != 20 || count_temporaries() != 0)
		return 6;
	struct mw_file_id second = numbered_id(1);
	if (store_remove(store, &second, &e) != 1 || put(store, &first, 21) != 1)
		return 7;
	store_close(store);
	fill_up();
	char path[256];
	path_in(path, "another/store");
	return try_open(path, false, &e) == -ENOSPC && e.msg[0] ? 0 : 8;
}

static int look_at_a_read_only_store(void)
{
	struct store_options options = {.directory = directory};
	struct store *store;
	struct mw_error e = {};
	struct mw_file_id id = numbered_id(1);
	if (store_open(&options, &store, NULL) < 0 || put(store, &id, 20) != 1)
		return 1;
	store_close(store);
	if (mount(NULL, directory, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 2;
	if (store_open(&options, &store, &e) != -EROFS || !strstr(e.msg, "Read-only"))
		return 3;
	options.allow_read_only = true;
	if (store_open(&options, &store, &e) < 0 || !store_is_read_only(store))
		return 4;
	if (rank_of(store, &id, STORE_NAMES) != 20 || rank_of(store, &id, STORE_CODE) != -ENOENT)
		return 5;
	struct store_writer writer;
	struct meta about = {};
	if (store_begin(store, &id, STORE_CODE, &writer, &e) != -EROFS ||
	    store_update(store, &id, &about, &e) != -EROFS || store_gc(store, NULL, &e) != -EROFS ||
	    store_remove(store, &id, &e) != -EROFS)
		return 6;
	store_close(store);
	return 0;
}

static void a_full_disk_is_an_error_and_costs_nothing_else(void **state)
{
	int r = on_small_disk(fill_the_disk);
	if (r == 77) {
		print_message("skipped: mounting a tmpfs takes root\n");
		skip();
	}
	assert_int_equal(r, 0);
}

static void a_read_only_store_can_be_read_if_asked(void **state)
{
	int r = on_small_disk(look_at_a_read_only_store);
	if (r == 77) {
		print_message("skipped: mounting a tmpfs takes root\n");
		skip();
	}
	assert_int_equal(r, 0);
}

#define in_directory(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_directory(a_part_comes_back_with_what_is_known),
		in_directory(only_a_better_part_replaces),
		in_directory(pieces_change_with_the_names_and_only_with_them),
		in_directory(an_entry_takes_nothing_of_another_content),
		in_directory(a_failure_is_remembered_until_the_part_is_built),
		in_directory(an_aborted_part_leaves_nothing),
		in_directory(an_open_part_outlives_its_entry),
		in_directory(what_the_disk_does_not_take_goes_elsewhere),
		in_directory(a_part_too_large_for_the_store_is_refused),
		in_directory(hostile_ids_are_safe_and_never_collide),
		in_directory(ids_that_are_none_are_refused),
		in_directory(a_padded_id_finds_its_only_completion),
		in_directory(a_damaged_meta_is_never_trusted_and_is_rebuilt),
		in_directory(things_in_the_place_of_a_meta_are_no_meta),
		in_directory(a_part_that_its_meta_does_not_describe_is_absent),
		in_directory(what_lies_about_is_left_alone_or_cleaned),
		in_directory(left_over_temporary_files_go_and_live_ones_stay),
		in_directory(a_damaged_account_is_counted_anew),
		in_directory(the_least_recently_used_go_first),
		in_directory(a_time_in_the_future_does_not_keep_an_entry),
		in_directory(a_lower_limit_is_met_by_gc),
		in_directory(several_evict_at_once),
		in_directory(writers_of_one_entry_and_a_reader_do_not_disturb_each_other),
		in_directory(a_kill_at_any_moment_leaves_no_half_part),
		in_directory(a_stopped_process_with_a_lock_stops_nobody_for_ever),
		in_directory(without_free_descriptors_nothing_is_rebuilt_or_lost),
		in_directory(directories_that_are_not_ours_are_refused),
		in_directory(directories_with_other_things_in_them_are_refused),
		in_directory(a_store_of_a_newer_format_is_refused_and_left_as_it_is),
		in_directory(it_is_made_for_its_owner_alone),
		in_directory(by_default_it_lies_in_the_users_cache),
		in_directory(a_temporary_store_works_and_goes),
		in_directory(a_full_disk_is_an_error_and_costs_nothing_else),
		in_directory(a_read_only_store_can_be_read_if_asked),
	};
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
