/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each allocation fails in turn: an error each time, no crash, and (under ASan) no leak. */
#include "lib/elf_builder.h"
#include "lib/failing_memory.h"
#include "lib/test.h"
#include "symbols/extract.h"
#include "symbols/kernel.h"

#include <lzma.h>
#include <string.h>

static int program(void)
{
	struct elf_builder b = elf_builder_init(), inner = elf_builder_init();
	struct buffer notes = {}, file = {};
	elf_builder_note(&b, &notes, "GNU", 4, NT_GNU_BUILD_ID, "12345678", 8, 4);
	elf_builder_section(&b, (struct builder_section){.name = ".note", .type = SHT_NOTE,
							 .data = notes.data, .size = notes.n});
	elf_builder_text(&b, 0x1000, 0x10000);
	elf_builder_symbol(&b, (struct builder_symbol){"exported", 0x1000, 64, STT_FUNC, STB_GLOBAL, 2});
	elf_builder_symbols(&b, ".dynsym", SHT_DYNSYM);

	elf_builder_text(&inner, 0x1000, 0x10000);
	for (uint64_t i = 0; i < 100; i++) {
		elf_builder_symbol(&inner, (struct builder_symbol){"f", 0xfff0 - 64 * i, 128, STT_FUNC,
								   STB_LOCAL, 1});
		elf_builder_symbol(&inner, (struct builder_symbol){"g", 0xfff8 - 64 * i, 8, STT_FUNC,
								   STB_LOCAL, 1});
	}
	elf_builder_symbols(&inner, ".symtab", SHT_SYMTAB);
	elf_builder_finish(&inner, &file);
	uint8_t packed[65536];
	size_t n = 0;
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, file.data, file.n, packed,
						 &n, sizeof packed),
			 LZMA_OK);
	elf_builder_section(&b, (struct builder_section){.name = ".gnu_debugdata",
							 .type = SHT_PROGBITS, .data = packed,
							 .size = n});
	int fd = elf_builder_fd(&b);
	buffer_deinit(&file);
	buffer_deinit(&notes);
	elf_builder_deinit(&inner);
	elf_builder_deinit(&b);
	return fd;
}

static void extraction_survives_every_failing_allocation(void **state)
{
	_cleanup_close_ int fd = program();
	bool failed = true;
	int n_failed = 0;
	for (long n = 0; failed; n++) {
		_cleanup_close_ int out = memory_file("", 0);
		struct extract_result result;
		struct mw_error e = {};
		failing_memory_start(n);
		int r = extract_names(fd, NULL, 0, out, &result, &e);
		failed = failing_memory_stop();
		/* Never fewer names for want of memory: that would be kept as all that the file has. */
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(e.code, r);
		n_failed += failed;
		struct gsym_splits splits = {};
		if (r == 0) {
			failing_memory_start(n % 2);
			assert_true(extract_take_splits(out, &result, &splits, &e) <= 0);
			failing_memory_stop();
		}
		gsym_splits_deinit(&splits);
	}
	assert_true(n_failed > 15);
}

static void identification_and_opening_survive_every_failing_allocation(void **state)
{
	_cleanup_close_ int fd = program();
	bool failed = true;
	for (long n = 0; failed; n++) {
		struct elf_identity identity;
		struct mw_error e = {};
		failing_memory_start(n);
		int r = extract_identity(fd, &identity, &e);
		struct mw_symbols *symbols = NULL;
		if (r == 0)
			r = mw_symbols_open(fd, &symbols, &e);
		failed = failing_memory_stop();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		mw_symbols_close(symbols);
	}
}

static void kernel_symbols_survive_every_failing_allocation(void **state)
{
	struct buffer text = {};
	for (int i = 0; i < 1000; i++)
		buffer_printf(&text, "%x t name_%d\t[module_%d]\n", 0xc0000000 - 16 * i, i, i % 30);
	bool failed = true;
	int n_failed = 0;
	for (long n = 0; failed; n++, n_failed++) {
		struct kernel_symbols *symbols = NULL;
		struct mw_error e = {};
		failing_memory_start(n);
		int r = kernel_symbols_parse((const char *)text.data, text.n, &symbols, &e);
		failed = failing_memory_stop();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		kernel_symbols_close(symbols);
	}
	assert_true(n_failed > 10);
	buffer_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extraction_survives_every_failing_allocation),
		cmocka_unit_test(identification_and_opening_survive_every_failing_allocation),
		cmocka_unit_test(kernel_symbols_survive_every_failing_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
