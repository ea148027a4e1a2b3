/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"
#include "lib/elf_builder.h"
#include "lib/test.h"
#include "symbols/gsym.h"
#include "symbols/gsym_assemble.h"
#include "symbols/gsym_info.h"
#include "symbols/gsym_write.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct gsym_function functions[] = {
	{0x1000, 0x1010, 0x1000, "first"},
	{0x1010, 0x1020, 0x1010, "outer"},
	{0x1020, 0x1028, 0x1020, "inner"},
	{0x1028, 0x1040, 0x1010, "outer"},
	{0x2000, 0x2001, 0x2000, "last"},
};

static struct buffer written(const struct gsym_function *list, size_t n,
			     const struct mw_file_id *id, struct gsym_splits *splits)
{
	struct buffer file = {};
	struct mw_error e = {};
	if (gsym_write(list, n, id, UINT64_MAX, &file, splits, &e) < 0)
		fail_msg("%s", e.msg);
	return file;
}

static void what_is_written_is_read(void **state)
{
	struct mw_file_id id = {.kind = MW_FILE_ID_GNU, .size = 32, .bytes = {[19] = 7, [20] = 9}};
	struct gsym_splits splits = {};
	struct buffer file = written(functions, ARRAY_SIZE(functions), &id, &splits);
	struct gsym gsym;
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	assert_int_equal(gsym.n, ARRAY_SIZE(functions));
	assert_int_equal(gsym.uuid_size, GSYM_UUID_MAX);
	assert_memory_equal(gsym.uuid, id.bytes, GSYM_UUID_MAX);
	struct gsym_entry entry;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct gsym_function *f = &functions[i];
		for (uint64_t address = f->start; address < f->end; address++) {
			assert_int_equal(gsym_find(&gsym, address, &entry), 1);
			assert_true(entry.start == f->start && entry.end == f->end);
			assert_string_equal(entry.name, f->name);
			assert_true(gsym_splits_find(&splits, entry.start) == f->function_start);
		}
	}
	static const uint64_t nothing[] = {0, 0xfff, 0x1040, 0x1fff, 0x2001, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
		assert_int_equal(gsym_find(&gsym, nothing[i], &entry), 0);
	assert_int_equal(splits.list.n, 1);
	gsym_splits_deinit(&splits);
	buffer_deinit(&file);
}

static void address_offsets_take_as_many_bytes_as_they_need(void **state)
{
	static const struct {
		uint64_t distance;
		uint8_t size;
	} cases[] = {{0xff, 1}, {0x100, 2}, {0xffff, 2}, {0x10000, 4}, {UINT32_MAX, 4},
		     {UINT64_C(1) << 32, 8}, {UINT64_MAX - 0x2000, 8}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t far = 0x1000 + cases[i].distance;
		const struct gsym_function list[] = {{0x1000, 0x1001, 0x1000, "near"},
						     {far, far + 1, far, "far"}};
		struct buffer file = written(list, 2, NULL, NULL);
		struct gsym gsym;
		struct gsym_entry entry;
		assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
		assert_int_equal(gsym.offset_size, cases[i].size);
		assert_int_equal(gsym_find(&gsym, far, &entry), 1);
		assert_string_equal(entry.name, "far");
		assert_int_equal(gsym_find(&gsym, 0x1000, &entry), 1);
		assert_string_equal(entry.name, "near");
		buffer_deinit(&file);
	}
}

static void an_empty_table_has_no_names(void **state)
{
	struct buffer file = written(NULL, 0, NULL, NULL);
	struct gsym gsym;
	struct gsym_entry entry;
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	assert_int_equal(gsym_find(&gsym, 0, &entry), 0);
	buffer_deinit(&file);
}

static void equal_names_are_written_once(void **state)
{
	const char *name = "a_rather_long_name_that_is_shared_by_many";
	struct gsym_function list[100];
	for (uint64_t i = 0; i < 100; i++)
		list[i] = (struct gsym_function){i * 16, i * 16 + 8, i * 16, name};
	struct buffer file = written(list, 100, NULL, NULL);
	struct gsym gsym;
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	assert_int_equal(gsym.strings_size, 1 + strlen(name) + 1);
	buffer_deinit(&file);
}

static void functions_that_overlap_or_go_back_are_refused(void **state)
{
	static const struct gsym_function bad[][2] = {
		{{16, 32, 16, "a"}, {31, 40, 31, "b"}},
		{{16, 32, 16, "a"}, {0, 8, 0, "b"}},
		{{16, 16, 16, "a"}, {32, 40, 32, "b"}},
		{{16, 32, 16, ""}, {32, 40, 32, "b"}},
		{{0, UINT64_C(1) << 33, 0, "a"}, {UINT64_C(1) << 34, UINT64_MAX, 0, "b"}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buffer file = {};
		assert_int_equal(gsym_write(bad[i], 2, NULL, UINT64_MAX, &file, NULL, NULL), -EINVAL);
		buffer_deinit(&file);
	}
}

static void a_file_over_the_limit_is_refused(void **state)
{
	struct buffer whole = written(functions, ARRAY_SIZE(functions), NULL, NULL);
	for (size_t limit = 0; limit <= whole.n; limit++) {
		struct buffer file = {};
		struct mw_error e = {};
		int r = gsym_write(functions, ARRAY_SIZE(functions), NULL, limit, &file, NULL, &e);
		assert_int_equal(r, limit < whole.n ? -EFBIG : 0);
		assert_true(file.n <= whole.n);
		buffer_deinit(&file);
	}
	buffer_deinit(&whole);
}

static void swap_bytes(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint8_t byte = p[i];
		p[i] = p[n - 1 - i];
		p[n - 1 - i] = byte;
	}
}

static void either_byte_order_is_read(void **state)
{
	struct buffer file = written(functions, ARRAY_SIZE(functions), NULL, NULL);
	struct gsym gsym;
	struct gsym_entry entry;
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	for (uint32_t i = 0; i < gsym.n; i++) {
		uint32_t info;
		memcpy(&info, gsym.infos + 4 * i, 4);
		swap_bytes(file.data + info, 4);
		swap_bytes(file.data + info + 4, 4);
		swap_bytes((uint8_t *)gsym.infos + 4 * i, 4);
		swap_bytes((uint8_t *)gsym.offsets + i * gsym.offset_size, gsym.offset_size);
	}
	static const uint8_t fields[][2] = {{0, 4}, {4, 2}, {8, 8}, {16, 4}, {20, 4}, {24, 4}};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		swap_bytes(file.data + fields[i][0], fields[i][1]);
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	assert_true(gsym.swap);
	assert_int_equal(gsym_find(&gsym, 0x1021, &entry), 1);
	assert_string_equal(entry.name, "inner");
	assert_int_equal(gsym_find(&gsym, 0x2001, &entry), 0);
	buffer_deinit(&file);
}

static void an_entry_without_size_reaches_to_the_next(void **state)
{
	struct buffer file = written(functions, ARRAY_SIZE(functions), NULL, NULL);
	struct gsym gsym;
	struct gsym_entry entry;
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	for (uint32_t i = 3; i < 5; i++) {
		uint32_t info;
		memcpy(&info, gsym.infos + 4 * i, 4);
		memset(file.data + info, 0, 4);
	}
	assert_int_equal(gsym_find(&gsym, 0x1fff, &entry), 1);
	assert_string_equal(entry.name, "outer");
	assert_int_equal(gsym_find(&gsym, 0x2000, &entry), 1);
	assert_string_equal(entry.name, "last");
	assert_int_equal(gsym_find(&gsym, 0x2001, &entry), 0);
	buffer_deinit(&file);
}

static void damaged_files_give_an_error_or_no_name(void **state)
{
	struct buffer whole = written(functions, ARRAY_SIZE(functions), NULL, NULL);
	for (size_t i = 0; i < 3 * whole.n; i++) {
		_cleanup_free_ uint8_t *copy = malloc(whole.n);
		size_t size = i < whole.n ? i : whole.n;
		memcpy(copy, whole.data, whole.n);
		if (i >= whole.n)
			copy[i % whole.n] ^= i < 2 * whole.n ? 0xff : 0x40;
		/* So that a read behind the end is seen by the sanitizer. */
		uint8_t *exact = malloc(size + !size);
		memcpy(exact, copy, size);
		struct gsym gsym;
		struct mw_error e = {};
		if (gsym_init(&gsym, exact, size, &e) == 0) {
			struct gsym_entry entry;
			for (uint64_t address = 0xff0; address < 0x2010; address += 8)
				gsym_find(&gsym, address, &entry);
			gsym_find(&gsym, UINT64_MAX, &entry);
		} else {
			assert_int_equal(e.code, -EBADMSG);
		}
		free(exact);
	}
	buffer_deinit(&whole);
}

/* ---- llvm-gsymutil --------------------------------------------------------------------------- */

static const char *gsymutil(void)
{
	static const char *const names[] = {"llvm-gsymutil-14", "llvm-gsymutil"};
	char command[80];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(command, sizeof command, "command -v %s >/dev/null", names[i]);
		if (system(command) == 0)
			return names[i];
	}
	return NULL;
}

static char *temporary(const void *data, size_t n)
{
	char *path = strdup("/tmp/mapwright-gsym-XXXXXX");
	_cleanup_close_ int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, data, n), 0);
	return path;
}

/* The output of a command, cut at n - 1 bytes. */
static void run(const char *command, char *out, size_t n)
{
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	size_t size = fread(out, 1, n - 1, pipe);
	out[size] = '\0';
	pclose(pipe);
}

static void llvm_gives_the_same_answers_from_what_we_write(void **state)
{
	const char *tool = gsymutil();
	if (!tool)
		skip();
	struct buffer file = written(functions, ARRAY_SIZE(functions), NULL, NULL);
	_cleanup_free_ char *path = temporary(file.data, file.n);
	struct gsym gsym;
	assert_int_equal(gsym_init(&gsym, file.data, file.n, NULL), 0);
	for (uint64_t address = 0xff8; address < 0x2010; address += address < 0x1048 ? 4 : 8) {
		char command[200], answer[1000], expected[200];
		struct gsym_entry entry;
		snprintf(command, sizeof command, "%s --address=0x%llx %s 2>&1", tool,
			 (unsigned long long)address, path);
		run(command, answer, sizeof answer);
		if (!gsym_find(&gsym, address, &entry))
			snprintf(expected, sizeof expected, ": error: address 0x%llx is not in GSYM",
				 (unsigned long long)address);
		else if (entry.start == address)
			snprintf(expected, sizeof expected, ": %s\n", entry.name);
		else
			snprintf(expected, sizeof expected, ": %s + %d\n", entry.name,
				 (int)(address - entry.start));
		if (!strstr(answer, expected))
			fail_msg("expected \"%s\" in \"%s\"", expected, answer);
		if (address == 0x1048)
			address = 0x1fe0; /* the gap need not be tried byte by byte */
	}
	char command[200], answer[8000];
	snprintf(command, sizeof command, "%s --verify %s 2>&1", tool, path);
	run(command, answer, sizeof answer);
	assert_non_null(strstr(answer, "[0x0000000000001028 - 0x0000000000001040) \"outer\""));
	assert_null(strstr(answer, "error"));
	unlink(path);
	buffer_deinit(&file);
}

/* A program's own functions, as llvm-gsymutil converts them from its symbols and its DWARF. */
static void what_llvm_converts_is_read(void **state)
{
	const char *tool = gsymutil();
	if (!tool)
		skip();
	for (int is_big = 0; is_big < 2; is_big++) {
		struct elf_builder b = elf_builder_init();
		b.is_big = is_big;
		b.machine = is_big ? EM_S390 : EM_X86_64;
		elf_builder_text(&b, 0x1000, 0x1000);
		for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
			const struct gsym_function *f = &functions[i];
			if (f->start == f->function_start)
				elf_builder_symbol(&b, (struct builder_symbol){
							       f->name, f->start, f->end - f->start,
							       STT_FUNC, STB_GLOBAL, 1});
		}
		elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
		struct buffer file = {};
		elf_builder_finish(&b, &file);
		_cleanup_free_ char *elf_path = temporary(file.data, file.n);
		_cleanup_free_ char *path = temporary("", 0);
		char command[300], answer[4000];
		snprintf(command, sizeof command, "%s --convert=%s --out-file=%s 2>&1", tool, elf_path,
			 path);
		run(command, answer, sizeof answer);
		_cleanup_free_ char *text = NULL;
		size_t n;
		assert_int_equal(io_read_text(-1, path, 1 << 20, &text, &n), 0);
		struct gsym gsym;
		struct gsym_entry entry;
		assert_int_equal(gsym_init(&gsym, text, n, NULL), 0);
		assert_true(gsym.swap == is_big);
		assert_int_equal(gsym_find(&gsym, 0x1008, &entry), 1);
		assert_string_equal(entry.name, "first");
		assert_true(entry.start == 0x1000 && entry.end == 0x1010);
		assert_int_equal(gsym_find(&gsym, 0x1024, &entry), 1);
		assert_string_equal(entry.name, "inner");
		assert_int_equal(gsym_find(&gsym, 0x1900, &entry), 0);
		unlink(path);
		unlink(elf_path);
		buffer_deinit(&file);
		elf_builder_deinit(&b);
	}
}

/* ---- lines and calls ------------------------------------------------------------------------- */

/* What is written of a function is read back the same, from any piece of it. */
static void lines_and_calls_are_read_back(void **state)
{
	struct gsym_info_writer w = {};
	static const struct gsym_line lines[] = {
		{0x1000, 1, 10}, {0x1004, 1, 11}, {0x1008, 2, 5}, {0x100c, 2, 900}, {0x1400, 1, 1},
		{0x1401, 3, UINT32_MAX}, {0x1402, 0, 0}, {0x101402, 1, 2}};
	static const struct gsym_call calls[] = {{0, 1, 0, 0}, {0, 2, 1, 7}, {1, 3, 2, 8}, {0, 4, 1, 9}};
	static const struct owner_range ranges[] = {{0x1004, 0x1100, 1, 1}, {0x1008, 0x1010, 2, 2},
						    {0x1200, 0x1210, 2, 2}, {0x1010, 0x1014, 3, 3}};
	gsym_info_begin(&w);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(vec_push(&w.lines, lines[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_int_equal(vec_push(&w.calls, calls[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		assert_int_equal(vec_push(&w.owners.ranges, ranges[i]), 0);
	assert_int_equal(gsym_info_decide(&w), 0);
	assert_int_equal(gsym_info_write(&w, 0x1000, 0x200000), 0);
	size_t n = w.out.n, n_pieces = w.owners.pieces.n;
	struct owned_piece pieces[16];
	assert_true(n_pieces <= 16);
	memcpy(pieces, w.owners.pieces.items, n_pieces * sizeof *pieces);
	assert_int_equal(gsym_info_read(&w, 0x1000, w.out.data, n), 0);
	assert_int_equal(w.lines.n, ARRAY_SIZE(lines));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_true(w.lines.items[i].address == lines[i].address);
		assert_int_equal(w.lines.items[i].file, lines[i].file);
		assert_int_equal(w.lines.items[i].line, lines[i].line);
	}
	assert_int_equal(w.calls.n, ARRAY_SIZE(calls));
	assert_memory_equal(w.calls.items, calls, sizeof calls);
	assert_int_equal(w.owners.pieces.n, n_pieces);
	for (size_t i = 0; i < n_pieces; i++) {
		assert_true(w.owners.pieces.items[i].start == pieces[i].start);
		assert_true(w.owners.pieces.items[i].end == pieces[i].end);
		assert_int_equal(w.owners.pieces.items[i].owner, pieces[i].owner);
	}
	/* Cut anywhere it is an error, not a crash. */
	for (size_t cut = 1; cut < n; cut++) {
		_cleanup_free_ uint8_t *copy = malloc(cut);
		memcpy(copy, w.out.data, cut);
		assert_true(gsym_info_read(&w, 0x1000, copy, cut) <= 0);
	}
	gsym_info_writer_deinit(&w);
}

static void a_table_that_gets_too_large_is_refused(void **state)
{
	struct buffer files = {}, strings = {}, infos = {};
	static const struct gsym_record records[] = {{0x1000, 16, 1, 0, 0}, {0x1010, 16, 3, 0, 0}};
	buffer_u32(&files, 1);
	buffer_u64(&files, 0);
	buffer_bytes(&strings, "\0a\0b", 5);
	struct gsym_parts parts = {records, 2, &files, &strings, &infos, NULL};
	uint64_t size = 0, again;
	struct mw_error e = {};
	_cleanup_close_ int fd = memory_file("", 0), none = memory_file("", 0);
	assert_int_equal(gsym_assemble(&parts, UINT64_MAX, fd, &size, NULL), 0);
	assert_int_equal(gsym_assemble(&parts, size - 1, none, &again, &e), -EFBIG);
	assert_non_null(strstr(e.msg, "need"));
	assert_int_equal(lseek(none, 0, SEEK_END), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), size);
	/* Nor are functions that overlap. */
	struct gsym_record wrong[] = {records[1], records[0]};
	parts.records = wrong;
	assert_int_equal(gsym_assemble(&parts, UINT64_MAX, none, &again, &e), -EINVAL);
	buffer_deinit(&files);
	buffer_deinit(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_calls_are_read_back),
		cmocka_unit_test(a_table_that_gets_too_large_is_refused),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(address_offsets_take_as_many_bytes_as_they_need),
		cmocka_unit_test(an_empty_table_has_no_names),
		cmocka_unit_test(equal_names_are_written_once),
		cmocka_unit_test(functions_that_overlap_or_go_back_are_refused),
		cmocka_unit_test(a_file_over_the_limit_is_refused),
		cmocka_unit_test(either_byte_order_is_read),
		cmocka_unit_test(an_entry_without_size_reaches_to_the_next),
		cmocka_unit_test(damaged_files_give_an_error_or_no_name),
		cmocka_unit_test(llvm_gives_the_same_answers_from_what_we_write),
		cmocka_unit_test(what_llvm_converts_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
