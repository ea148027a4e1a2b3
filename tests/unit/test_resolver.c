/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The test asks about itself: its own functions, lines and inlined calls. */
#include "symbols/resolver.h"

#include "lib/test.h"
#include "lib/tree.h"
#include "symbols/intake.h"
#include "symbols/subject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

static volatile int sink;

static inline __attribute__((always_inline)) int square(int x)
{
	sink = x; /* LINE_OF_SQUARE */
	return x * sink;
}
#define LINE_OF_SQUARE 22

__attribute__((noinline)) static int cube(int x)
{
	sink = 1;
	return square(x) * x; /* LINE_OF_CALL */
}
#define LINE_OF_CALL 30

static struct tree tree;
static struct store *store;
static struct elf_identity self;
static struct proc proc = PROC_INIT;

static int find_base(struct dl_phdr_info *info, size_t size, void *data)
{
	*(uint64_t *)data = info->dlpi_addr;
	return 1; /* the first is the program */
}

static uint64_t offset_of(const void *code)
{
	uint64_t base = 0, offset = 0;
	dl_iterate_phdr(find_base, &base);
	assert_int_equal(elf_identity_address_to_offset(&self, (uintptr_t)code - base, &offset), 1);
	return offset;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int set_up(void **state)
{
	struct mw_error e = {};
	tree_init(&tree);
	chmod(tree.path, 0700);
	const struct store_options options = {.directory = tree.path};
	if (store_open(&options, &store, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(proc_init(&proc, "/proc", NULL), 0);
	_cleanup_close_ int fd = open_self();
	assert_int_equal(intake_identify(fd, &self, &e), 0);
	assert_int_equal(self.id.kind, MW_FILE_ID_GNU);
	return 0;
}

static int tear_down(void **state)
{
	proc_deinit(&proc);
	store_close(store);
	tree_deinit(&tree);
	return 0;
}

static void take_in(bool lines)
{
	_cleanup_close_ int fd = open_self();
	struct mw_error e = {};
	const struct intake intake = {.store = store, .proc = &proc};
	const struct intake_request request = {.fd = fd, .path = "/self", .lines = lines};
	struct intake_result result;
	if (intake_file(&intake, &request, &result, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(result.names.reason, MW_REASON_NONE);
	assert_int_equal(result.lines.reason, MW_REASON_NONE);
}

/* The offset in cube() at which square() is inlined. */
static uint64_t find_inlined(struct mw_resolver *r, struct mw_location chain[4])
{
	uint64_t start = offset_of((const void *)cube);
	for (uint64_t offset = start; offset < start + 200; offset++) {
		if (mw_resolver_find(r, &self.id, offset, chain, 4) == 2)
			return offset;
	}
	fail_msg("nothing is inlined");
	return 0;
}

static void what_nobody_knows_has_a_reason(void **state)
{
	struct mw_resolver *r;
	struct mw_location l;
	assert_int_equal(resolver_new(store, 0, &r), 0);
	assert_int_equal(mw_resolver_find(r, &self.id, 0x1000, &l, 1), 0);
	assert_int_equal(l.reason, MW_REASON_FILE_GONE);
	assert_null(l.name);
	mw_resolver_close(r);
	assert_int_equal(resolver_new(NULL, 0, &r), 0);
	assert_int_equal(mw_resolver_find(r, &self.id, 0x1000, &l, 1), 0);
	assert_int_equal(l.reason, MW_REASON_FILE_GONE);
	mw_resolver_close(r);
}

static void names_come_first_and_lines_when_they_are_there(void **state)
{
	struct mw_resolver *r;
	struct mw_location l[4];
	assert_int_equal(cube(3), 27);
	take_in(false);
	assert_int_equal(resolver_new(store, 0, &r), 0);
	uint64_t start = offset_of((const void *)cube);
	assert_int_equal(mw_resolver_find(r, &self.id, start + 1, l, 4), 1);
	assert_string_equal(l[0].name, "cube");
	assert_true(l[0].start == start);
	assert_null(l[0].file);
	const char *before = l[0].name;

	take_in(true);
	resolver_refresh(r, &self.id);
	find_inlined(r, l);
	assert_string_equal(l[0].name, "square");
	assert_string_equal(l[1].name, "cube");
	assert_int_equal(l[0].is_inlined, 1);
	assert_int_equal(l[1].is_inlined, 0);
	assert_string_equal(l[0].file, "test_resolver.c");
	assert_in_range(l[0].line, LINE_OF_SQUARE - 2, LINE_OF_SQUARE + 1);
	assert_int_equal(l[1].line, LINE_OF_CALL);
	assert_string_equal(before, "cube"); /* still there */
	/* What there is no room for is counted. */
	struct mw_location one;
	assert_int_equal(mw_resolver_find(r, &self.id, find_inlined(r, l), &one, 1), 2);
	assert_string_equal(one.name, "square");
	mw_resolver_close(r);
}

static void offsets_that_are_no_code_are_told(void **state)
{
	struct mw_resolver *r;
	struct mw_location l;
	take_in(true);
	assert_int_equal(resolver_new(store, 0, &r), 0);
	assert_int_equal(mw_resolver_find(r, &self.id, 0, &l, 1), 0);
	assert_int_equal(l.reason, MW_REASON_GHOST);
	assert_int_equal(mw_resolver_find(r, &self.id, UINT64_C(0xffffffffffc00000), &l, 1), 0);
	assert_int_equal(l.reason, MW_REASON_NOT_IN_FILE);
	mw_resolver_close(r);
}

static void many_names_at_once_are_those_of_single_questions(void **state)
{
	struct mw_resolver *r;
	uint64_t offsets[1500], first = offset_of((const void *)what_nobody_knows_has_a_reason);
	struct mw_location many[ARRAY_SIZE(offsets)], one[GSYM_DEPTH_MAX + 1];
	take_in(true);
	assert_int_equal(resolver_new(store, 0, &r), 0);
	for (int ascending = 0; ascending < 2; ascending++) {
		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
			offsets[i] = first - 500 + (ascending ? i : i * 1103515245u % 1500);
		mw_resolver_find_names(r, &self.id, offsets, ARRAY_SIZE(offsets), many);
		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
			size_t n = mw_resolver_find(r, &self.id, offsets[i], one, ARRAY_SIZE(one));
			if (!n)
				assert_null(many[i].name);
			else
				assert_string_equal(many[i].name, one[n - 1].name);
			assert_int_equal(many[i].reason, n ? 0 : one[0].reason);
		}
	}
	mw_resolver_close(r);
}

struct comparison {
	struct mw_resolver *resolver;
	uint64_t first;
	size_t n;
};

static int compare(void *data, uint64_t value, const struct mw_location *chain, size_t n)
{
	struct comparison *c = data;
	struct mw_location one[GSYM_DEPTH_MAX + 1];
	size_t alone = mw_resolver_find(c->resolver, &self.id, c->first + value, one, ARRAY_SIZE(one));
	assert_int_equal(n, alone);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(chain[i].name, one[i].name);
		assert_int_equal(chain[i].line, one[i].line);
	}
	c->n++;
	return 0;
}

static void sorted_questions_have_the_answers_of_single_ones(void **state)
{
	struct mw_resolver *r, *other;
	struct sort_item items[1500];
	take_in(true);
	assert_int_equal(resolver_new(store, 0, &r), 0);
	assert_int_equal(resolver_new(store, 1, &other), 0); /* without a cache to speak of */
	struct comparison c = {other, offset_of((const void *)what_nobody_knows_has_a_reason), 0};
	for (size_t dense = 1; dense < 40; dense += 38) {
		for (size_t i = 0; i < ARRAY_SIZE(items); i++)
			items[i] = (struct sort_item){c.first + i * dense, i * dense};
		assert_int_equal(resolver_find_sorted(r, resolver_table(r, &self.id), 0, items,
						      ARRAY_SIZE(items), compare, &c),
				 0);
	}
	assert_int_equal(c.n, 2 * ARRAY_SIZE(items));
	mw_resolver_close(r);
	mw_resolver_close(other);
}

static void stacks_of_the_kernel_are_taken_as_they_are(void **state)
{
	struct mw_resolver *r;
	struct mw_location chain[4];
	take_in(true);
	assert_int_equal(resolver_new(store, 0, &r), 0);
	uint64_t inlined = find_inlined(r, chain);
	struct bpf_stack_build_id stack[6] = {
		{.status = BPF_STACK_BUILD_ID_VALID, .offset = inlined},
		{.status = BPF_STACK_BUILD_ID_VALID, .offset = offset_of((const void *)cube)},
		{.status = BPF_STACK_BUILD_ID_IP, .ip = 0x7fff12345678},
		{.status = BPF_STACK_BUILD_ID_VALID, .offset = UINT64_C(0xffffffffffc00000)},
		{.status = BPF_STACK_BUILD_ID_EMPTY},
		{.status = BPF_STACK_BUILD_ID_VALID, .offset = inlined},
	};
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		memcpy(stack[i].build_id, self.id.bytes, MIN(self.id.size, BPF_BUILD_ID_SIZE));
	struct mw_stack_frame frames[8];
	assert_int_equal(mw_resolver_find_stack(r, stack, ARRAY_SIZE(stack), frames, 8), 5);
	assert_string_equal(frames[0].location.name, "square");
	assert_string_equal(frames[1].location.name, "cube");
	assert_int_equal(frames[1].entry, 0);
	/* The address of a caller is where its call returns to: cube() is not what called. */
	assert_int_equal(frames[2].entry, 1);
	assert_true(!frames[2].location.name || strcmp(frames[2].location.name, "cube") != 0);
	assert_int_equal(frames[3].location.reason, MW_REASON_NOT_CACHED);
	assert_true(frames[3].offset == 0x7fff12345678);
	assert_int_equal(frames[4].location.reason, MW_REASON_NOT_IN_FILE);
	/* What there is no room for is counted. */
	assert_int_equal(mw_resolver_find_stack(r, stack, ARRAY_SIZE(stack), frames, 1), 5);
	assert_int_equal(mw_resolver_find_stack(r, stack + 4, 2, frames, 8), 0);
	mw_resolver_close(r);
}

/* An entry under a short build ID, made of this program's names. */
static void add_short_id(const char *text)
{
	struct meta about = {};
	struct store_writer writer;
	struct mw_error e = {};
	assert_int_equal(intake_describe(&self, NULL, &about), 0);
	assert_int_equal(mw_file_id_from_text(text, &about.id), 0);
	_cleanup_close_ int fd = open_self();
	struct extract_result result;
	assert_int_equal(store_begin(store, &about.id, STORE_NAMES, &writer, &e), 0);
	assert_int_equal(extract_names(fd, NULL, 0, writer.fd, &result, &e), 0);
	struct gsym_splits splits = {};
	assert_int_equal(extract_take_splits(writer.fd, &result, &splits, &e), 0);
	gsym_splits_deinit(&splits);
	const struct store_commit commit = {4, EXTRACT_NAMES_BUILDER, "test", &about};
	assert_int_equal(store_commit(store, &writer, &commit, &e), 1);
	meta_deinit(&about);
}

static void padded_ids_are_completed_if_there_is_one_of_that_kind(void **state)
{
	struct mw_resolver *r;
	struct mw_stack_frame frame;
	struct bpf_stack_build_id entry = {.status = BPF_STACK_BUILD_ID_VALID,
					   .build_id = {0xab, 0xcd, 0xef, 0x12},
					   .offset = offset_of((const void *)cube) + 1};
	add_short_id("gnu:abcdef12");
	assert_int_equal(resolver_new(store, 0, &r), 0);
	assert_int_equal(mw_resolver_find_stack(r, &entry, 1, &frame, 1), 1);
	assert_string_equal(frame.location.name, "cube");
	assert_int_equal(frame.id.kind, MW_FILE_ID_GNU);
	assert_int_equal(frame.id.size, 4);
	mw_resolver_close(r);

	add_short_id("gnu:abcdef1200"); /* the same after padding: nobody can tell which it is */
	assert_int_equal(resolver_new(store, 0, &r), 0);
	assert_int_equal(mw_resolver_find_stack(r, &entry, 1, &frame, 1), 1);
	assert_null(frame.location.name);
	assert_int_equal(frame.location.reason, MW_REASON_FILE_GONE);
	mw_resolver_close(r);
}

struct reader {
	struct mw_resolver *resolver;
	uint64_t first;
	unsigned seed;
	uint64_t found;
};

static void *read_at_random(void *data)
{
	struct reader *reader = data;
	struct mw_location chain[8];
	uint64_t x = reader->seed;
	for (int i = 0; i < 20000; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		size_t n = mw_resolver_find(reader->resolver, &self.id, reader->first + (x >> 33) % 20000,
					    chain, ARRAY_SIZE(chain));
		for (size_t j = 0; j < MIN(n, ARRAY_SIZE(chain)); j++)
			reader->found += strlen(chain[j].name);
	}
	return NULL;
}

static void any_threads_may_ask_at_once(void **state)
{
	struct mw_resolver *r;
	take_in(true);
	assert_int_equal(resolver_new(store, 20000, &r), 0); /* a cache that is always full */
	struct reader readers[4];
	pthread_t threads[4];
	for (unsigned i = 0; i < 4; i++) {
		readers[i] = (struct reader){r, offset_of((const void *)find_base), i % 2, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
	}
	for (int i = 0; i < 50; i++)
		resolver_refresh(r, &self.id);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_true(readers[0].found > 0);
	assert_true(readers[0].found == readers[2].found);
	assert_true(readers[1].found == readers[3].found);
	mw_resolver_close(r);
}

static void a_store_is_opened_for_reading_and_not_made(void **state)
{
	struct mw_resolver *r;
	struct mw_error e = {};
	struct mw_location l[4];
	char nowhere[128];
	take_in(true);
	snprintf(nowhere, sizeof nowhere, "%s/none", tree.path);
	struct mw_resolver_options options = {.size = sizeof options, .store = nowhere};
	assert_int_equal(mw_resolver_open(&options, &r, &e), -ENOENT);
	assert_true(access(nowhere, F_OK) < 0);
	options.store = tree.path;
	assert_int_equal(mw_resolver_open(&options, &r, &e), 0);
	assert_true(mw_resolver_find(r, &self.id, offset_of((const void *)cube), l, 4) > 0);
	mw_resolver_close(r);
	/* A caller of an earlier version, whose options were shorter. */
	options.size = offsetof(struct mw_resolver_options, cache_bytes);
	assert_int_equal(mw_resolver_open(&options, &r, &e), 0);
	mw_resolver_close(r);
	mw_resolver_close(NULL);
}

static void a_subject_finds_a_build_id_by_where_the_file_was(void **state)
{
	struct mw_resolver *r;
	struct mw_error e = {};
	char path[256];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	assert_true(n > 0);
	path[n] = '\0';
	assert_int_equal(resolver_new(store, 0, &r), 0);
	struct subject s = {.lines = true, .hint = path, .store = store, .resolver = r, .proc = &proc};
	assert_int_equal(subject_open_build_id(&s, &self.id, &e), 0);
	struct place place = subject_place(&s, offset_of((const void *)cube));
	assert_int_equal(place.kind, PLACE_FILE);
	struct mw_location l[4];
	assert_true(mw_resolver_find(r, &self.id, place.key, l, 4) > 0);
	subject_deinit(&s);
	/* Another file of that path is not taken for it. */
	struct mw_file_id other = self.id;
	other.bytes[0] ^= 1;
	s = (struct subject){.lines = true, .hint = path, .store = store, .resolver = r, .proc = &proc};
	assert_int_equal(subject_open_build_id(&s, &other, &e), 0);
	assert_int_equal(mw_resolver_find(r, &other, place.key, l, 4), 0);
	subject_deinit(&s);
	mw_resolver_close(r);
}

static void a_subject_places_addresses_of_this_process(void **state)
{
	struct mw_resolver *r;
	struct mw_error e = {};
	assert_int_equal(resolver_new(store, 0, &r), 0);
	struct subject s = {.lines = true, .store = store, .resolver = r, .proc = &proc};
	assert_int_equal(subject_open_process(&s, (uint32_t)getpid(), &e), 0);
	struct place place = subject_place(&s, (uintptr_t)cube);
	assert_true(place.kind == PLACE_FILE || geteuid()); /* map_files are root's */
	if (place.kind == PLACE_FILE) {
		assert_true(place.key == offset_of((const void *)cube));
		assert_int_equal(mw_file_id_equal(&s.files.items[place.file]->id, &self.id), 1);
	}
	assert_int_equal(subject_place(&s, 0x10).reason, MW_REASON_NO_MAPPING);
	assert_int_equal(subject_place(&s, (uintptr_t)&place).reason, MW_REASON_GHOST);
	assert_int_equal(subject_place(&s, UINT64_MAX - 5).kind, PLACE_KERNEL);
	subject_deinit(&s);
	s = (struct subject){.store = store, .resolver = r, .proc = &proc};
	assert_int_equal(subject_open_process(&s, 0x7ffffff0, &e), -ESRCH);
	subject_deinit(&s);
	mw_resolver_close(r);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_nobody_knows_has_a_reason),
		TEST(names_come_first_and_lines_when_they_are_there),
		TEST(offsets_that_are_no_code_are_told),
		TEST(many_names_at_once_are_those_of_single_questions),
		TEST(sorted_questions_have_the_answers_of_single_ones),
		TEST(stacks_of_the_kernel_are_taken_as_they_are),
		TEST(padded_ids_are_completed_if_there_is_one_of_that_kind),
		TEST(any_threads_may_ask_at_once),
		TEST(a_store_is_opened_for_reading_and_not_made),
		TEST(a_subject_finds_a_build_id_by_where_the_file_was),
		TEST(a_subject_places_addresses_of_this_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
