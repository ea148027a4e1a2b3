/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each allocation fails in turn: an error each time, no smaller table, no crash, (under ASan) no
 * leak. */
#include "base/io.h"
#include "lib/cfi_builder.h"
#include "lib/failing_memory.h"
#include "lib/test.h"
#include "unwind/extract_unwind.h"

#include <string.h>

/* .eh_frame out of order, .debug_frame beside it, stubs, symbols, and code that keeps frame
 * pointers. */
static int program(void)
{
	static uint8_t code[0x2000];
	struct elf_builder elf = elf_builder_init();
	struct cfi_builder b = {.address = 0x20000}, d = {.is_debug_frame = true};
	struct builder_cie cie = usual_cie;
	for (size_t i = 0x1000; i < sizeof code; i += 0x80)
		memcpy(code + i, (const uint8_t[]){0x55, 0x48, 0x89, 0xe5}, 4);
	uint32_t text = elf_builder_text(&elf, TEXT_ADDRESS, sizeof code);
	memcpy(elf.sections.items[text].copy, code, sizeof code);
	uint32_t at = cfi_builder_cie(&b, &usual_cie);
	for (uint64_t i = 60; i > 0; i--)
		cfi_builder_fde(&b, at, 0x1000 + i * 16, 8,
				PROGRAM(DW_CFA_remember_state, DW_CFA_advance_loc | 1,
					DW_CFA_def_cfa_offset, (uint8_t)(8 * i),
					DW_CFA_advance_loc | 1, DW_CFA_restore_state));
	cfi_builder_section(&b, &elf);
	cie.augmentation = "";
	cie.augmentation_size = 0;
	cie.pointers = DW_EH_PE_absptr;
	at = cfi_builder_cie(&d, &cie);
	for (uint64_t i = 0; i < 80; i++)
		cfi_builder_fde(&d, at, 0x1000 + i * 16, 12, NULL, 0);
	cfi_builder_section(&d, &elf);
	elf_builder_symbol(&elf, (struct builder_symbol){"f", 0x1000, 64, STT_FUNC, STB_LOCAL, 1});
	elf_builder_symbols(&elf, ".symtab", SHT_SYMTAB);
	int fd = elf_builder_fd(&elf);
	elf_builder_deinit(&elf);
	return fd;
}

static void a_table_is_whole_or_none_whichever_allocation_fails(void **state)
{
	_cleanup_close_ int fd = program();
	_cleanup_close_ int whole_fd = memory_file("", 0);
	struct extract_unwind_result whole, result;
	assert_int_equal(extract_unwind(fd, NULL, 0, whole_fd, &whole, NULL), 0);
	assert_true(whole.n_functions > 100);
	bool failed = true;
	int n_failed = 0;
	for (long n = 0; failed; n++) {
		_cleanup_close_ int out = memory_file("", 0);
		struct mw_error e = {};
		failing_memory_start(n);
		int r = extract_unwind(fd, &fd, 1, out, &result, &e);
		failed = failing_memory_stop();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(e.code, r);
		n_failed += failed;
	}
	assert_true(n_failed > 15);
	assert_int_equal(result.n_rows, whole.n_rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_whole_or_none_whichever_allocation_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
