/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each allocation fails in turn: an error each time, no crash, and (under ASan) no leak. */
#include "lib/dwarf_builder.h"
#include "lib/failing_memory.h"
#include "lib/test.h"
#include "symbols/extract.h"

#include <string.h>

#define LARGE (3u << 20) /* a section that stays in the file */

/* Two units, of which the second refers to the first; ranges, calls, files, symbols, overlaps. */
static int program(bool is_large)
{
	struct dwarf_builder b = dwarf_builder_init(4, 4, false, false);
	static const uint64_t ranges[] = {0x10, 0x20, 0x30, 0x38, 0, 0};
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		dwarf_address(&b, &b.ranges, ranges[i]);
	dwarf_abbreviation(&b, 1, DW_TAG_compile_unit, true, DW_AT_stmt_list, DW_FORM_sec_offset,
			   DW_AT_comp_dir, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, 0);
	dwarf_abbreviation(&b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, 0);
	dwarf_abbreviation(&b, 3, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_strp, DW_AT_low_pc,
			   DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
	dwarf_abbreviation(&b, 4, DW_TAG_inlined_subroutine, false, DW_AT_abstract_origin,
			   DW_FORM_ref_addr, DW_AT_ranges, DW_FORM_sec_offset, DW_AT_call_file,
			   DW_FORM_data1, DW_AT_call_line, DW_FORM_data1, 0);
	dwarf_abbreviation(&b, 5, DW_TAG_variable, false, 2, DW_FORM_block4, 0);
	uint64_t name = dwarf_string_in(&b.str, "walk"), origin = 0;
	for (uint64_t unit = 0; unit < 2; unit++) {
		dwarf_unit_begin(&b, DW_UT_compile);
		dwarf_uleb(&b.info, 1);
		dwarf_offset(&b, &b.info, b.line.n);
		dwarf_text(&b.info, "/s");
		dwarf_address(&b, &b.info, 0x1000);
		if (is_large) {
			dwarf_uleb(&b.info, 5);
			dwarf_u32(&b, &b.info, LARGE);
			buffer_extend(&b.info, LARGE);
			buffer_extend(&b.str, LARGE);
		}
		if (!unit)
			origin = b.info.n;
		dwarf_uleb(&b.info, 2);
		dwarf_text(&b.info, "mix");
		dwarf_uleb(&b.info, 3);
		dwarf_offset(&b, &b.info, name);
		dwarf_address(&b, &b.info, 0x1000 + unit * 0x20);
		dwarf_u32(&b, &b.info, 0x40);
		dwarf_uleb(&b.info, 4);
		dwarf_offset(&b, &b.info, origin);
		dwarf_offset(&b, &b.info, 0);
		dwarf_u8(&b.info, 2);
		dwarf_u8(&b.info, 7);
		dwarf_uleb(&b.info, 0);
		dwarf_uleb(&b.info, 0);
		dwarf_unit_end(&b);
		dwarf_lines_begin(&b);
		for (uint64_t start = 0x1100; start >= 0x1000; start -= 0x80) {
			dwarf_lines_set_address(&b, start);
			for (uint32_t i = 0; i < 20; i++)
				dwarf_lines_row(&b, start + i * 4, i * 3);
			dwarf_lines_end_sequence(&b, start + 0x80);
		}
		dwarf_lines_end(&b);
	}
	elf_builder_symbol(&b.elf, (struct builder_symbol){"only_symbol", 0x1100, 64, STT_FUNC,
							   STB_GLOBAL, 1});
	elf_builder_symbols(&b.elf, ".symtab", SHT_SYMTAB);
	return dwarf_builder_fd(&b);
}

static void survive_every_failing_allocation(bool is_large)
{
	_cleanup_close_ int fd = program(is_large);
	bool failed = true;
	int n_failed = 0;
	uint64_t whole = 0;
	for (long n = 0; failed; n++) {
		_cleanup_close_ int out = memory_file("", 0);
		struct extract_result result = {};
		struct mw_error e = {};
		failing_memory_start(n);
		int r = extract_lines(fd, NULL, 0, -1, out, &result, &e);
		failed = failing_memory_stop();
		/* Never fewer lines for want of memory: they would be kept as all that the file has. */
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(e.code, r);
		n_failed += failed;
		whole = result.n_functions;
	}
	assert_true(n_failed > 30);
	assert_true(whole > 2);
}

static void building_survives_every_failing_allocation(void **state)
{
	survive_every_failing_allocation(false);
}

static void and_so_it_does_with_sections_that_are_read_piece_by_piece(void **state)
{
	survive_every_failing_allocation(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(and_so_it_does_with_sections_that_are_read_piece_by_piece),
		cmocka_unit_test(building_survives_every_failing_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
