/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/address_input.h"

#include "lib/test.h"

#include <fcntl.h>
#include <string.h>

static struct address_input *input_of(const char *text, int *ret_writer)
{
	struct address_input *in = calloc(1, sizeof *in);
	int fds[2];
	assert_non_null(in);
	assert_int_equal(pipe(fds), 0);
	in->fd = fds[0];
	in->name = "pipe";
	assert_int_equal(write(fds[1], text, strlen(text)), strlen(text));
	if (ret_writer)
		*ret_writer = fds[1];
	else
		close(fds[1]);
	return in;
}

static void input_free(struct address_input *in)
{
	close(in->fd);
	free(in);
}

static void addresses_are_hexadecimal_with_or_without_a_prefix(void **state)
{
	uint64_t address;
	assert_int_equal(address_parse("0x1f", &address), 0);
	assert_int_equal(address, 0x1f);
	assert_int_equal(address_parse("DEADbeef00000000", &address), 0);
	assert_true(address == UINT64_C(0xdeadbeef00000000));
	static const char *const bad[] = {"", "0x", "x", "12g", "-1", " 12", "10000000000000000"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(address_parse(bad[i], &address), -EINVAL);
}

static void what_is_there_is_given_before_more_is_waited_for(void **state)
{
	int writer;
	uint64_t got[8];
	struct address_input *in = input_of("0x10\n20\n30", &writer);
	assert_int_equal(address_input_next(in, got, 8), 2);
	assert_true(got[0] == 0x10 && got[1] == 0x20);
	assert_int_equal(write(writer, "1\n", 2), 2);
	assert_int_equal(address_input_next(in, got, 8), 1);
	assert_int_equal(got[0], 0x301);
	assert_int_equal(write(writer, "44", 2), 2); /* the last line has no end */
	close(writer);
	assert_int_equal(address_input_next(in, got, 8), 1);
	assert_int_equal(got[0], 0x44);
	assert_int_equal(address_input_next(in, got, 8), 0);
	assert_int_equal(in->n_bad, 0);
	input_free(in);
}

static void lines_that_are_no_addresses_are_counted_and_left_out(void **state)
{
	uint64_t got[8];
	struct address_input *in = input_of("hello\n\n  0x7 \r\n1 2\n8\n", NULL);
	assert_int_equal(address_input_next(in, got, 8), 2);
	assert_true(got[0] == 7 && got[1] == 8);
	assert_int_equal(in->n_bad, 2);
	input_free(in);
}

static void a_lenient_input_takes_everything_as_addr2line_does(void **state)
{
	uint64_t got[8];
	struct address_input *in = input_of("zz\n\n0x7 trailing\n8\n", NULL);
	in->is_lenient = true;
	assert_int_equal(address_input_next(in, got, 8), 4);
	assert_true(got[0] == 0 && got[1] == 0 && got[2] == 7 && got[3] == 8);
	assert_int_equal(in->n_bad, 0);
	input_free(in);
}

static void a_batch_has_no_more_than_there_is_room_for(void **state)
{
	uint64_t got[2];
	struct address_input *in = input_of("1\n2\n3\n4\n5\n", NULL);
	assert_int_equal(address_input_next(in, got, 2), 2);
	assert_int_equal(address_input_next(in, got, 2), 2);
	assert_int_equal(got[1], 4);
	assert_int_equal(address_input_next(in, got, 2), 1);
	assert_int_equal(address_input_next(in, got, 2), 0);
	input_free(in);
}

static void a_line_without_end_is_no_address(void **state)
{
	int writer;
	uint64_t got[2];
	struct address_input *in = input_of("1\n", &writer);
	assert_int_equal(fcntl(writer, F_SETPIPE_SZ, 1 << 20) > 0, 1);
	char *endless = malloc(200000);
	assert_non_null(endless);
	memset(endless, 'x', 200000);
	assert_int_equal(write(writer, endless, 200000), 200000);
	close(writer);
	assert_int_equal(address_input_next(in, got, 2), 1);
	assert_int_equal(address_input_next(in, got, 2), 0);
	free(endless);
	input_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_hexadecimal_with_or_without_a_prefix),
		cmocka_unit_test(what_is_there_is_given_before_more_is_waited_for),
		cmocka_unit_test(lines_that_are_no_addresses_are_counted_and_left_out),
		cmocka_unit_test(a_lenient_input_takes_everything_as_addr2line_does),
		cmocka_unit_test(a_batch_has_no_more_than_there_is_room_for),
		cmocka_unit_test(a_line_without_end_is_no_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
