/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "content/same_code.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (SAME_CODE_BLOCK + 3 * 4096 + 100)

/* The memory of this process, and a file with some of its bytes. */
struct fixture {
	int memory;
	int file;
	uint8_t *text;
	struct same_code answer;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	f->memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	f->file = memfd_create("file", MFD_CLOEXEC);
	f->text = malloc(SIZE);
	assert_true(f->memory >= 0 && f->file >= 0 && f->text);
	for (size_t i = 0; i < SIZE; i++)
		f->text[i] = (uint8_t)(i * i >> 7);
	assert_int_equal(write(f->file, f->text, SIZE), SIZE);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	close(f->memory);
	close(f->file);
	free(f->text);
	free(f);
	return 0;
}

/* Compares a part of the file with the memory where it should be. */
static bool is_same(struct fixture *f, uint64_t offset, uint64_t size)
{
	struct same_code_request r = {.block = offset / SAME_CODE_BLOCK * SAME_CODE_BLOCK,
				      .offset = offset,
				      .size = size,
				      .address = (uintptr_t)f->text + offset};
	assert_int_equal(same_code_compare(f->memory, f->file, &r, &f->answer, NULL), 0);
	return f->answer.is_same;
}

static void memory_with_the_bytes_of_the_file_is_the_same(void **state)
{
	struct fixture *f = *state;
	assert_true(is_same(f, 0, SAME_CODE_BLOCK));
	assert_true(is_same(f, 4096, 100));
	assert_true(is_same(f, SAME_CODE_BLOCK, SIZE - SAME_CODE_BLOCK));
}

static void one_other_byte_is_found_wherever_it_is(void **state)
{
	struct fixture *f = *state;
	const size_t places[] = {4096, 5000, 65535 + 4096, 65536 + 4096, SAME_CODE_BLOCK - 1};
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		f->text[places[i]] ^= 1;
		assert_false(is_same(f, 4096, SAME_CODE_BLOCK - 4096));
		f->text[places[i]] ^= 1;
	}
	f->text[4095] ^= 1; /* not asked about */
	assert_true(is_same(f, 4096, SAME_CODE_BLOCK - 4096));
}

static void memory_behind_the_end_of_the_file_is_not_the_same(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ftruncate(f->file, 5000), 0);
	assert_true(is_same(f, 0, 5000));
	assert_false(is_same(f, 0, 5001));
	assert_false(is_same(f, 8192, 10));
}

static void memory_that_is_not_there_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct same_code_request r = {.size = 100, .address = 1};
	assert_true(same_code_compare(f->memory, f->file, &r, &f->answer, NULL) < 0);
	assert_false(f->answer.is_same);
}

static void each_line_has_the_check_of_its_bytes(void **state)
{
	struct fixture *f = *state;
	__u64 words[CODE_LINE_WORDS];
	assert_true(is_same(f, SAME_CODE_BLOCK, 4096));
	for (size_t line = 0; line < 10; line++) {
		memcpy(words, f->text + SAME_CODE_BLOCK + line * CODE_LINE_SIZE, sizeof words);
		assert_int_equal(f->answer.checks[line], code_check(words));
		words[line] ^= 1; /* any bit counts */
		assert_int_not_equal(f->answer.checks[line], code_check(words));
	}
	/* Behind the end of the file are zeros, as the kernel maps them. */
	memset(words, 0, sizeof words);
	assert_int_equal(f->answer.checks[SAME_CODE_LINES - 1], code_check(words));
}

static void checks_are_never_zero_but_of_nothing(void **state)
{
	for (uint32_t check = 1; check < 100000; check++)
		assert_int_not_equal(code_check_short(check << 8 | check), 0);
	assert_int_not_equal(code_check_short(0x12341234), 0);
	assert_int_equal(code_check_short(0), 0);
}

static void requests_that_leave_their_block_are_refused(void **state)
{
	struct fixture *f = *state;
	const struct same_code_request bad[] = {
		{.block = 1, .offset = 1, .size = 1},
		{.block = SAME_CODE_BLOCK, .offset = 0, .size = 1},
		{.size = 0},
		{.size = SAME_CODE_BLOCK + 1},
		{.offset = SAME_CODE_BLOCK - 1, .size = 2},
		{.offset = UINT64_MAX, .size = 2},
		{.size = 2, .address = UINT64_MAX},
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(same_code_compare(f->memory, f->file, &bad[i], &f->answer, NULL),
				 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memory_with_the_bytes_of_the_file_is_the_same, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_other_byte_is_found_wherever_it_is, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(memory_behind_the_end_of_the_file_is_not_the_same,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_that_is_not_there_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_line_has_the_check_of_its_bytes, set_up, tear_down),
		cmocka_unit_test(checks_are_never_zero_but_of_nothing),
		cmocka_unit_test_setup_teardown(requests_that_leave_their_block_are_refused, set_up,
						tear_down),
	};
	return cmocka_run_group_tests_name("same_code", tests, NULL, NULL);
}
