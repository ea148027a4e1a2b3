/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions, inlined calls and lines from debug information: every version, class and byte order. */
#include "lib/dwarf_builder.h"
#include "lib/frames.h"
#include "lib/test.h"

#include <string.h>
#include <unistd.h>

/* The abbreviations that most tests use. */
enum {
	UNIT = 1,  /* line table, directory */
	FUNCTION,  /* name, address, size; with children */
	INLINED,   /* origin, address, size, file, line; with children */
	ABSTRACT,  /* name; without children */
	SPREAD,    /* function with a list of ranges */
	SPREAD_INLINED,
	BLOCK,
	OWN,	   /* the test's, from here on */
};

static void add_abbreviations(struct dwarf_builder *b)
{
	unsigned offset = b->version >= 4 ? DW_FORM_sec_offset
			  : b->offset_size == 8 ? DW_FORM_data8 : DW_FORM_data4;
	dwarf_abbreviation(b, UNIT, DW_TAG_compile_unit, true, DW_AT_stmt_list, offset,
			   DW_AT_comp_dir, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, 0);
	dwarf_abbreviation(b, FUNCTION, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string,
			   DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			   b->version >= 4 ? DW_FORM_udata : DW_FORM_addr, 0);
	dwarf_abbreviation(b, INLINED, DW_TAG_inlined_subroutine, true, DW_AT_abstract_origin,
			   DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			   b->version >= 4 ? DW_FORM_udata : DW_FORM_addr, DW_AT_call_file,
			   DW_FORM_data1, DW_AT_call_line, DW_FORM_data1, 0);
	dwarf_abbreviation(b, ABSTRACT, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, 0);
	dwarf_abbreviation(b, SPREAD, DW_TAG_subprogram, true, DW_AT_name, DW_FORM_string,
			   DW_AT_ranges, offset, 0);
	dwarf_abbreviation(b, SPREAD_INLINED, DW_TAG_inlined_subroutine, true,
			   DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_ranges, offset,
			   DW_AT_call_file, DW_FORM_data1, DW_AT_call_line, DW_FORM_data1, 0);
	dwarf_abbreviation(b, BLOCK, DW_TAG_lexical_block, true, 0);
}

static struct dwarf_builder begin(uint8_t version)
{
	struct dwarf_builder b = dwarf_builder_init(version, 4, false, false);
	add_abbreviations(&b);
	return b;
}

static void begin_unit(struct dwarf_builder *b, uint64_t base)
{
	dwarf_unit_begin(b, DW_UT_compile);
	dwarf_uleb(&b->info, UNIT);
	dwarf_offset(b, &b->info, b->line.n);
	dwarf_text(&b->info, "/s");
	dwarf_address(b, &b->info, base);
}

static void end_unit(struct dwarf_builder *b)
{
	dwarf_uleb(&b->info, 0);
	dwarf_unit_end(b);
}

static void put_extent(struct dwarf_builder *b, uint64_t start, uint64_t size)
{
	dwarf_address(b, &b->info, start);
	if (b->version >= 4)
		dwarf_uleb(&b->info, size);
	else
		dwarf_address(b, &b->info, start + size);
}

static void function(struct dwarf_builder *b, const char *name, uint64_t start, uint64_t size)
{
	dwarf_uleb(&b->info, FUNCTION);
	dwarf_text(&b->info, name);
	put_extent(b, start, size);
}

static uint32_t abstract(struct dwarf_builder *b, const char *name)
{
	uint32_t here = dwarf_here(b);
	dwarf_uleb(&b->info, ABSTRACT);
	dwarf_text(&b->info, name);
	return here;
}

static void inlined(struct dwarf_builder *b, uint32_t origin, uint64_t start, uint64_t size,
		    uint8_t file, uint8_t line)
{
	dwarf_uleb(&b->info, INLINED);
	dwarf_u32(b, &b->info, origin);
	put_extent(b, start, size);
	dwarf_u8(&b->info, file);
	dwarf_u8(&b->info, line);
}

static void end(struct dwarf_builder *b)
{
	dwarf_uleb(&b->info, 0);
}

/* A table with one sequence: a row each 16 bytes, lines from `line` on. */
static void simple_lines(struct dwarf_builder *b, uint64_t start, uint64_t size, uint32_t line)
{
	dwarf_lines_begin(b);
	dwarf_lines_set_address(b, start);
	for (uint64_t at = 0; at < size; at += 16)
		dwarf_lines_row(b, start + at, line++);
	dwarf_lines_end_sequence(b, start + size);
	dwarf_lines_end(b);
}

static struct frames finish(struct dwarf_builder *b)
{
	_cleanup_close_ int fd = dwarf_builder_fd(b);
	return frames_of(fd, -1, -1);
}

static struct frames finish_well(struct dwarf_builder *b)
{
	struct frames f = finish(b);
	if (f.result < 0)
		fail_msg("%s", f.error.msg);
	if (f.about.damage.code)
		fail_msg("%s", f.about.damage.msg);
	return f;
}

/* ---- the forms of files ---------------------------------------------------------------------- */

static void build_simple(struct dwarf_builder *b)
{
	add_abbreviations(b);
	begin_unit(b, 0x1000);
	uint32_t mix = abstract(b, "mix");
	function(b, "walk", 0x1000, 0x80);
	dwarf_uleb(&b->info, BLOCK);
	inlined(b, mix, 0x1020, 0x20, 2, 77);
	end(b);
	end(b);
	end(b);
	function(b, "run", 0x1100, 0x20);
	end(b);
	end_unit(b);
	simple_lines(b, 0x1000, 0x120, 10);
}

static void every_version_class_and_byte_order_is_read(void **state)
{
	for (unsigned i = 0; i < 4 * 8; i++) {
		uint8_t version = (uint8_t)(2 + i / 8), offset_size = i & 1 ? 8 : 4;
		if (version == 2 && offset_size == 8)
			continue; /* there is none */
		struct dwarf_builder b = dwarf_builder_init(version, offset_size, i & 2, i & 4);
		build_simple(&b);
		struct frames f = finish_well(&b);
		assert_int_equal(f.about.n_functions, 2);
		assert_int_equal(f.about.source, LINES_SOURCE_DWARF);
		assert_frames(&f, 0xfff, "");
		assert_frames(&f, 0x1000, "walk /s/a.c:10");
		assert_frames(&f, 0x101f, "walk /s/a.c:11");
		assert_frames(&f, 0x1020, "mix /s/a.c:12 < walk /s/b.h:77");
		assert_frames(&f, 0x103f, "mix /s/a.c:13 < walk /s/b.h:77");
		assert_frames(&f, 0x1040, "walk /s/a.c:14");
		assert_frames(&f, 0x1080, "");
		assert_frames(&f, 0x1110, "run /s/a.c:27");
		frames_deinit(&f);
	}
}

static void a_file_without_debug_information_says_so(void **state)
{
	struct elf_builder b = elf_builder_init();
	elf_builder_text(&b, 0x1000, 64);
	_cleanup_close_ int fd = elf_builder_fd(&b);
	elf_builder_deinit(&b);
	struct frames f = frames_of(fd, -1, -1);
	assert_int_equal(f.result, -ENODATA);
}

static void empty_debug_information_is_none(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	end_unit(&b);
	dwarf_lines_begin(&b);
	dwarf_lines_end(&b);
	struct frames f = finish(&b);
	assert_int_equal(f.result, -ENODATA);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void old_range(struct dwarf_builder *b, uint64_t start, uint64_t end)
{
	dwarf_address(b, &b->ranges, start);
	dwarf_address(b, &b->ranges, end);
}

static void spread(struct dwarf_builder *b, const char *name, uint64_t ranges)
{
	dwarf_uleb(&b->info, SPREAD);
	dwarf_text(&b->info, name);
	dwarf_offset(b, &b->info, ranges);
}

static void spread_inlined(struct dwarf_builder *b, uint32_t origin, uint64_t ranges, uint8_t line)
{
	dwarf_uleb(&b->info, SPREAD_INLINED);
	dwarf_u32(b, &b->info, origin);
	dwarf_offset(b, &b->info, ranges);
	dwarf_u8(&b->info, 1);
	dwarf_u8(&b->info, line);
}

static void assert_spread(const struct frames *f)
{
	assert_int_equal(f->about.n_functions, 2);
	assert_frames(f, 0x1010, "mix /s/a.c:11 < work /s/a.c:50");
	assert_frames(f, 0x1020, "work /s/a.c:12");
	assert_frames(f, 0x1030, "mix /s/a.c:13 < work /s/a.c:50");
	assert_frames(f, 0x1048, "");
	assert_frames(f, 0x1100, "work /s/a.c:26");
	assert_frames(f, 0x1110, "mix /s/a.c:27 < work /s/a.c:50");
	assert_frames(f, 0x1120, "");
}

static void a_cold_part_has_the_name_and_the_calls(void **state)
{
	struct dwarf_builder b = begin(4);
	old_range(&b, 0x100, 0x120); /* relative to the unit's base */
	old_range(&b, UINT64_MAX, 0x800); /* another base */
	old_range(&b, 0x800, 0x840);
	old_range(&b, 0, 0);
	uint64_t calls = b.ranges.n;
	old_range(&b, 0x10, 0x20);
	old_range(&b, 0x30, 0x40);
	old_range(&b, 0x50, 0x50); /* empty */
	old_range(&b, 0x110, 0x120);
	old_range(&b, 0, 0);
	begin_unit(&b, 0x1000);
	uint32_t mix = abstract(&b, "mix");
	spread(&b, "work", 0);
	spread_inlined(&b, mix, calls, 50);
	end(&b);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x200, 10);
	struct frames f = finish_well(&b);
	assert_spread(&f);
	frames_deinit(&f);
}

static void range_lists_of_version_5_are_read_in_all_their_forms(void **state)
{
	struct dwarf_builder b = begin(5);
	for (uint64_t i = 0; i < 8; i++)
		buffer_u8(&b.addr, 0); /* the header */
	dwarf_address(&b, &b.addr, 0x1000);
	dwarf_address(&b, &b.addr, 0x1040);
	dwarf_address(&b, &b.addr, 0x1110);
	dwarf_u8(&b.ranges, DW_RLE_startx_endx);
	dwarf_uleb(&b.ranges, 0);
	dwarf_uleb(&b.ranges, 1);
	dwarf_u8(&b.ranges, DW_RLE_start_length);
	dwarf_address(&b, &b.ranges, 0x1100);
	dwarf_uleb(&b.ranges, 0x20);
	dwarf_u8(&b.ranges, DW_RLE_end_of_list);
	uint64_t calls = b.ranges.n;
	dwarf_u8(&b.ranges, DW_RLE_offset_pair); /* relative to the unit */
	dwarf_uleb(&b.ranges, 0x10);
	dwarf_uleb(&b.ranges, 0x20);
	dwarf_u8(&b.ranges, DW_RLE_base_addressx);
	dwarf_uleb(&b.ranges, 1);
	dwarf_u8(&b.ranges, DW_RLE_offset_pair);
	dwarf_uleb(&b.ranges, 0);
	dwarf_uleb(&b.ranges, 0);
	dwarf_u8(&b.ranges, DW_RLE_base_address);
	dwarf_address(&b, &b.ranges, 0x1030);
	dwarf_u8(&b.ranges, DW_RLE_offset_pair);
	dwarf_uleb(&b.ranges, 0);
	dwarf_uleb(&b.ranges, 0x8);
	dwarf_u8(&b.ranges, DW_RLE_start_end);
	dwarf_address(&b, &b.ranges, 0x1038);
	dwarf_address(&b, &b.ranges, 0x1040);
	dwarf_u8(&b.ranges, DW_RLE_startx_length);
	dwarf_uleb(&b.ranges, 2);
	dwarf_uleb(&b.ranges, 0x10);
	dwarf_u8(&b.ranges, DW_RLE_end_of_list);
	begin_unit(&b, 0x1000);
	uint32_t mix = abstract(&b, "mix");
	spread(&b, "work", 0);
	spread_inlined(&b, mix, calls, 50);
	end(&b);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x200, 10);
	struct frames f = finish_well(&b);
	assert_spread(&f);
	frames_deinit(&f);
}

static void numbered_range_lists_addresses_and_strings_are_found_by_their_bases(void **state)
{
	struct dwarf_builder b = dwarf_builder_init(5, 4, false, false);
	dwarf_abbreviation(&b, UNIT, DW_TAG_compile_unit, true, DW_AT_str_offsets_base,
			   DW_FORM_sec_offset, DW_AT_addr_base, DW_FORM_sec_offset,
			   DW_AT_rnglists_base, DW_FORM_sec_offset, DW_AT_stmt_list,
			   DW_FORM_sec_offset, DW_AT_comp_dir, DW_FORM_strx1, DW_AT_low_pc,
			   DW_FORM_addrx, 0);
	dwarf_abbreviation(&b, OWN, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_strx1, DW_AT_ranges,
			   DW_FORM_rnglistx, 0);
	static const unsigned string_forms[] = {DW_FORM_strx, DW_FORM_strx2, DW_FORM_strx3,
						DW_FORM_strx4};
	static const unsigned address_forms[] = {DW_FORM_addrx1, DW_FORM_addrx2, DW_FORM_addrx3,
						 DW_FORM_addrx4};
	for (unsigned i = 0; i < 4; i++)
		dwarf_abbreviation(&b, OWN + 1 + i, DW_TAG_subprogram, false, DW_AT_name,
				   string_forms[i], DW_AT_low_pc, address_forms[i], DW_AT_high_pc,
				   DW_FORM_data4, 0);
	/* What other units have in front. */
	buffer_extend(&b.str_offsets, 64);
	buffer_extend(&b.addr, 64);
	buffer_extend(&b.ranges, 64);
	dwarf_text(&b.str, "");
	static const char *const names[] = {"/dir", "listed", "f0", "f1", "f2", "f3"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		dwarf_offset(&b, &b.str_offsets, dwarf_string_in(&b.str, names[i]));
	for (uint64_t i = 0; i < 6; i++)
		dwarf_address(&b, &b.addr, 0x1000 + i * 0x100);
	dwarf_offset(&b, &b.ranges, 8); /* list 0, from the base on */
	dwarf_offset(&b, &b.ranges, 8); /* list 1, the same */
	dwarf_u8(&b.ranges, DW_RLE_offset_pair);
	dwarf_uleb(&b.ranges, 0);
	dwarf_uleb(&b.ranges, 0x10);
	dwarf_u8(&b.ranges, DW_RLE_end_of_list);
	dwarf_unit_begin(&b, DW_UT_compile);
	dwarf_uleb(&b.info, UNIT);
	dwarf_offset(&b, &b.info, 64);
	dwarf_offset(&b, &b.info, 64);
	dwarf_offset(&b, &b.info, 64);
	dwarf_offset(&b, &b.info, 0);
	dwarf_u8(&b.info, 0);
	dwarf_uleb(&b.info, 1); /* 0x1100 */
	dwarf_uleb(&b.info, OWN);
	dwarf_u8(&b.info, 1);
	dwarf_uleb(&b.info, 1);
	for (uint8_t i = 0; i < 4; i++) {
		dwarf_uleb(&b.info, OWN + 1u + i);
		dwarf_u8(&b.info, (uint8_t)(2 + i));
		for (int zero = 0; zero < i; zero++)
			dwarf_u8(&b.info, 0);
		dwarf_u8(&b.info, (uint8_t)(2 + i));
		for (int zero = 0; zero < i; zero++)
			dwarf_u8(&b.info, 0);
		dwarf_u32(&b, &b.info, 0x10);
	}
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x600, 1);
	struct frames f = finish(&b);
	assert_int_equal(f.result, 0);
	assert_frames(&f, 0x1100, "listed /s/a.c:17");
	assert_frames(&f, 0x1200, "f0 /s/a.c:33");
	assert_frames(&f, 0x130f, "f1 /s/a.c:49");
	assert_frames(&f, 0x1400, "f2 /s/a.c:65");
	assert_frames(&f, 0x1500, "f3 /s/a.c:81");
	frames_deinit(&f);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void the_linkage_name_is_found_by_any_way(void **state)
{
	struct dwarf_builder b = begin(4);
	dwarf_abbreviation(&b, OWN, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string,
			   DW_AT_linkage_name, DW_FORM_strp, 0);
	dwarf_abbreviation(&b, OWN + 1, DW_TAG_subprogram, false, DW_AT_specification,
			   DW_FORM_ref_udata, 0);
	dwarf_abbreviation(&b, OWN + 2, DW_TAG_subprogram, false, DW_AT_abstract_origin,
			   DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			   DW_FORM_data1, 0);
	dwarf_abbreviation(&b, OWN + 3, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_strp,
			   DW_AT_specification, DW_FORM_ref2, DW_AT_low_pc, DW_FORM_addr,
			   DW_AT_high_pc, DW_FORM_data1, 0);
	dwarf_abbreviation(&b, OWN + 4, DW_TAG_subprogram, false, DW_AT_MIPS_linkage_name,
			   DW_FORM_string, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
			   DW_AT_high_pc, DW_FORM_data1, 0);
	uint64_t name = dwarf_string_in(&b.str, "_ZN5shape4areaEv");
	uint64_t plain = dwarf_string_in(&b.str, "plain");
	begin_unit(&b, 0);
	uint32_t declaration = dwarf_here(&b);
	dwarf_uleb(&b.info, OWN);
	dwarf_text(&b.info, "area");
	dwarf_offset(&b, &b.info, name);
	uint32_t definition = dwarf_here(&b);
	dwarf_uleb(&b.info, OWN + 1);
	dwarf_uleb(&b.info, declaration);
	dwarf_uleb(&b.info, OWN + 3);
	dwarf_offset(&b, &b.info, plain);
	dwarf_u16(&b, &b.info, (uint16_t)declaration);
	dwarf_address(&b, &b.info, 0x1200);
	dwarf_u8(&b.info, 16);
	dwarf_uleb(&b.info, OWN + 4);
	dwarf_text(&b.info, "_Zold");
	dwarf_text(&b.info, "old");
	dwarf_address(&b, &b.info, 0x1300);
	dwarf_u8(&b.info, 16);
	uint64_t first_unit = b.unit;
	end_unit(&b);
	/* From another unit, twice. */
	begin_unit(&b, 0);
	for (uint64_t i = 0; i < 2; i++) {
		dwarf_uleb(&b.info, OWN + 2);
		dwarf_offset(&b, &b.info, first_unit + definition);
		dwarf_address(&b, &b.info, 0x1000 + i * 0x100);
		dwarf_u8(&b.info, 16);
	}
	end_unit(&b);
	struct frames f = finish(&b);
	assert_frames(&f, 0x1000, "_ZN5shape4areaEv -");
	assert_frames(&f, 0x1100, "_ZN5shape4areaEv -");
	assert_frames(&f, 0x1200, "_ZN5shape4areaEv -");
	assert_frames(&f, 0x1300, "_Zold -");
	frames_deinit(&f);
}

static void references_in_a_circle_end(void **state)
{
	struct dwarf_builder b = begin(4);
	dwarf_abbreviation(&b, OWN, DW_TAG_subprogram, false, DW_AT_specification, DW_FORM_ref4,
			   DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
	begin_unit(&b, 0);
	uint32_t itself = dwarf_here(&b);
	dwarf_uleb(&b.info, OWN);
	dwarf_u32(&b, &b.info, itself);
	dwarf_address(&b, &b.info, 0x1000);
	dwarf_u8(&b.info, 16);
	function(&b, "fine", 0x1100, 16);
	end(&b);
	end_unit(&b);
	struct frames f = finish(&b);
	assert_frames(&f, 0x1000, "");
	assert_frames(&f, 0x1100, "fine -");
	frames_deinit(&f);
}

static void put_signature(struct dwarf_builder *b)
{
	dwarf_u64(b, &b->info, 0x1122334455667788);
	dwarf_offset(b, &b->info, 0);
}

static void type_units_are_passed_over_and_found_by_signature(void **state)
{
	struct dwarf_builder b = begin(5);
	dwarf_abbreviation(&b, OWN, DW_TAG_type_unit, true, 0);
	dwarf_abbreviation(&b, OWN + 1, DW_TAG_subprogram, false, DW_AT_specification,
			   DW_FORM_ref_sig8, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			   DW_FORM_implicit_const, 32, 0);
	dwarf_unit_begin(&b, DW_UT_type);
	size_t signature = b.info.n;
	put_signature(&b);
	dwarf_uleb(&b.info, OWN);
	uint32_t at = abstract(&b, "by_signature");
	memcpy(b.info.data + signature + 8, &at, 4);
	/* Code in a type unit would be nonsense. */
	function(&b, "nonsense", 0x1800, 16);
	end(&b);
	end_unit(&b);
	begin_unit(&b, 0x1000);
	dwarf_uleb(&b.info, OWN + 1);
	dwarf_u64(&b, &b.info, 0x1122334455667788);
	dwarf_address(&b, &b.info, 0x1000);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x20, 3);
	struct frames f = finish_well(&b);
	assert_int_equal(f.about.n_functions, 1);
	assert_frames(&f, 0x1010, "by_signature /s/a.c:4");
	frames_deinit(&f);
}

/* ---- supplementary files --------------------------------------------------------------------- */

static int supplement(uint32_t *ret_entry, uint64_t *ret_string)
{
	struct dwarf_builder b = begin(4);
	*ret_string = dwarf_string_in(&b.str, "shared_string");
	dwarf_unit_begin(&b, DW_UT_compile);
	dwarf_abbreviation(&b, OWN, DW_TAG_compile_unit, true, 0);
	dwarf_uleb(&b.info, OWN);
	*ret_entry = (uint32_t)b.unit + abstract(&b, "shared_function");
	end_unit(&b);
	struct buffer notes = {};
	elf_builder_note(&b.elf, &notes, "GNU", 4, NT_GNU_BUILD_ID, "supplement", 10, 4);
	elf_builder_notes(&b.elf, ".note.gnu.build-id", &notes, 4);
	buffer_deinit(&notes);
	return dwarf_builder_fd(&b);
}

static int with_supplement(uint32_t entry, uint64_t string, const char *id)
{
	struct dwarf_builder b = begin(4);
	dwarf_abbreviation(&b, OWN, DW_TAG_subprogram, false, DW_AT_abstract_origin,
			   DW_FORM_GNU_ref_alt, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			   DW_FORM_data1, 0);
	dwarf_abbreviation(&b, OWN + 1, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_GNU_strp_alt,
			   DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
	begin_unit(&b, 0);
	dwarf_uleb(&b.info, OWN);
	dwarf_offset(&b, &b.info, entry);
	dwarf_address(&b, &b.info, 0x1000);
	dwarf_u8(&b.info, 16);
	dwarf_uleb(&b.info, OWN + 1);
	dwarf_offset(&b, &b.info, string);
	dwarf_address(&b, &b.info, 0x1010);
	dwarf_u8(&b.info, 16);
	function(&b, "own", 0x1020, 16);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x30, 1);
	struct buffer link = {};
	dwarf_text(&link, "/usr/lib/debug/.dwz/x.debug");
	buffer_bytes(&link, id, strlen(id));
	elf_builder_section(&b.elf, (struct builder_section){.name = ".gnu_debugaltlink",
							     .type = SHT_PROGBITS,
							     .data = link.data,
							     .size = link.n});
	buffer_deinit(&link);
	return dwarf_builder_fd(&b);
}

static void what_is_in_a_supplementary_file_is_read_from_there(void **state)
{
	uint32_t entry;
	uint64_t string;
	_cleanup_close_ int other = supplement(&entry, &string);
	_cleanup_close_ int fd = with_supplement(entry, string, "supplement");
	struct frames f = frames_of(fd, -1, other);
	assert_int_equal(f.about.source, LINES_SOURCE_DWARF);
	assert_frames(&f, 0x1000, "shared_function /s/a.c:1");
	assert_frames(&f, 0x1010, "shared_string /s/a.c:2");
	assert_frames(&f, 0x1020, "own /s/a.c:3");
	frames_deinit(&f);
}

static void a_supplementary_file_that_is_missing_or_another_is_not_used(void **state)
{
	uint32_t entry;
	uint64_t string;
	_cleanup_close_ int other = supplement(&entry, &string);
	_cleanup_close_ int fd = with_supplement(entry, string, "another id");
	for (int with = 0; with < 2; with++) {
		struct frames f = frames_of(fd, -1, with ? other : -1);
		assert_int_equal(f.result, 0);
		assert_int_equal(f.about.source, LINES_SOURCE_PARTLY);
		assert_int_equal(f.about.damage.code, -ENOENT);
		assert_frames(&f, 0x1000, "");
		assert_frames(&f, 0x1010, "");
		assert_frames(&f, 0x1020, "own /s/a.c:3");
		frames_deinit(&f);
	}
}

/* ---- what is not code ------------------------------------------------------------------------ */

static void what_the_linker_dropped_is_left_out(void **state)
{
	static const uint64_t tombs[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 0xfff, 0x3000};
	for (size_t i = 0; i < ARRAY_SIZE(tombs); i++) {
		struct dwarf_builder b = begin(4);
		begin_unit(&b, 0);
		function(&b, "dropped", tombs[i], 0x2000);
		end(&b);
		function(&b, "kept", 0x1000, 0x20);
		end(&b);
		end_unit(&b);
		dwarf_lines_begin(&b);
		dwarf_lines_set_address(&b, tombs[i]);
		dwarf_lines_row(&b, tombs[i], 99);
		dwarf_lines_end_sequence(&b, tombs[i] + 0x2000);
		dwarf_lines_set_address(&b, 0x1000);
		dwarf_lines_row(&b, 0x1000, 5);
		dwarf_lines_end_sequence(&b, 0x1020);
		dwarf_lines_end(&b);
		struct frames f = finish_well(&b);
		assert_int_equal(f.about.n_functions, 1);
		assert_frames(&f, 0x1010, "kept /s/a.c:5");
		frames_deinit(&f);
	}
}

static void a_function_ends_where_code_ends(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	function(&b, "long", 0x2ff0, UINT64_MAX / 2);
	end(&b);
	end_unit(&b);
	struct frames f = finish(&b);
	assert_frames(&f, 0x2fff, "long -");
	assert_frames(&f, 0x3000, "");
	frames_deinit(&f);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void a_later_call_has_what_two_claim(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	uint32_t one = abstract(&b, "one"), two = abstract(&b, "two");
	function(&b, "f", 0x1000, 0x100);
	inlined(&b, one, 0x1010, 0x40, 1, 1);
	end(&b);
	inlined(&b, two, 0x1030, 0x40, 1, 2);
	end(&b);
	end(&b);
	end_unit(&b);
	struct frames f = finish(&b);
	assert_frames(&f, 0x1010, "one - < f -");
	assert_frames(&f, 0x102f, "one - < f -");
	assert_frames(&f, 0x1030, "two - < f -");
	assert_frames(&f, 0x106f, "two - < f -");
	assert_frames(&f, 0x1070, "f -");
	frames_deinit(&f);
}

static void a_call_is_inside_its_parent_wherever_it_lies(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	uint32_t outer = abstract(&b, "outer"), inner = abstract(&b, "inner");
	function(&b, "f", 0x1000, 0x100);
	inlined(&b, outer, 0x1010, 0x10, 1, 1);
	inlined(&b, inner, 0x1040, 0x10, 1, 2); /* not within outer's range */
	end(&b);
	inlined(&b, inner, 0x10f0, 0x100, 1, 3); /* nor within the function's */
	end(&b);
	end(&b);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x200, 10);
	struct frames f = finish_well(&b);
	assert_frames(&f, 0x1010, "outer /s/a.c:11 < f /s/a.c:1");
	assert_frames(&f, 0x1020, "f /s/a.c:12");
	assert_frames(&f, 0x1040, "inner /s/a.c:14 < outer /s/a.c:2 < f /s/a.c:1");
	assert_frames(&f, 0x10f0, "inner /s/a.c:25 < outer /s/a.c:3 < f /s/a.c:1");
	assert_frames(&f, 0x1100, "");
	frames_deinit(&f);
}

static void very_deep_calls_are_cut(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	uint32_t mix = abstract(&b, "mix");
	function(&b, "f", 0x1000, 0x100);
	for (int i = 0; i < 3000; i++)
		inlined(&b, mix, 0x1000, 0x80, 1, 9);
	for (int i = 0; i < 3000; i++)
		end(&b);
	end(&b);
	function(&b, "g", 0x1100, 0x10);
	end(&b);
	end_unit(&b);
	struct frames f = finish(&b);
	assert_int_equal(f.result, 0);
	assert_true(strncmp(frames_at(&f, 0x1000), "mix - < mix -", 13) == 0);
	assert_frames(&f, 0x1080, "f -");
	assert_frames(&f, 0x1100, "g -");
	frames_deinit(&f);
}

static void functions_inside_of_functions_and_types_have_their_own_code(void **state)
{
	struct dwarf_builder b = begin(4);
	dwarf_abbreviation(&b, OWN, DW_TAG_structure_type, true, DW_AT_sibling, DW_FORM_ref4, 0);
	begin_unit(&b, 0);
	uint32_t mix = abstract(&b, "mix");
	function(&b, "outer", 0x1000, 0x40);
	inlined(&b, mix, 0x1000, 0x10, 1, 5);
	end(&b);
	dwarf_uleb(&b.info, OWN); /* a local class */
	size_t sibling = b.info.n;
	dwarf_u32(&b, &b.info, 0);
	function(&b, "method", 0x1100, 0x40);
	inlined(&b, mix, 0x1110, 0x10, 1, 6);
	end(&b);
	end(&b);
	end(&b);
	uint32_t here = dwarf_here(&b);
	memcpy(b.info.data + sibling, &here, 4);
	inlined(&b, mix, 0x1020, 0x10, 1, 7);
	end(&b);
	end(&b);
	dwarf_uleb(&b.info, OWN); /* one of the unit: passed over */
	sibling = b.info.n;
	dwarf_u32(&b, &b.info, 0);
	abstract(&b, "declared");
	dwarf_uleb(&b.info, 120); /* no such abbreviation: nobody looks */
	here = dwarf_here(&b);
	memcpy(b.info.data + sibling, &here, 4);
	function(&b, "after", 0x1200, 0x10);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x210, 10);
	struct frames f = finish_well(&b);
	assert_frames(&f, 0x1008, "mix /s/a.c:10 < outer /s/a.c:5");
	assert_frames(&f, 0x1010, "outer /s/a.c:11");
	assert_frames(&f, 0x1020, "mix /s/a.c:12 < outer /s/a.c:7");
	assert_frames(&f, 0x1100, "method /s/a.c:26");
	assert_frames(&f, 0x1110, "mix /s/a.c:27 < method /s/a.c:6");
	assert_frames(&f, 0x1200, "after /s/a.c:42");
	frames_deinit(&f);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void sequences_come_in_any_order_and_leave_gaps(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	function(&b, "f", 0x1000, 0x100);
	end(&b);
	end_unit(&b);
	dwarf_lines_begin(&b);
	dwarf_lines_set_address(&b, 0x1080);
	dwarf_lines_file(&b, 2);
	dwarf_lines_row(&b, 0x1080, 70);
	dwarf_lines_row(&b, 0x1090, 71);
	dwarf_lines_end_sequence(&b, 0x10a0);
	dwarf_lines_set_address(&b, 0x1010);
	dwarf_lines_row(&b, 0x1010, 5);
	dwarf_lines_row(&b, 0x1010, 6); /* the last of an address counts */
	dwarf_lines_row(&b, 0x1018, 6);
	dwarf_lines_row(&b, 0x1020, 100000);
	dwarf_lines_end_sequence(&b, 0x1030);
	dwarf_lines_set_address(&b, 0x1030);
	dwarf_lines_file(&b, 9); /* no such file */
	dwarf_lines_row(&b, 0x1030, 8);
	dwarf_lines_end_sequence(&b, 0x1040);
	dwarf_lines_end(&b);
	struct frames f = finish_well(&b);
	assert_frames(&f, 0x1000, "f -");
	assert_frames(&f, 0x100f, "f -");
	assert_frames(&f, 0x1010, "f /s/a.c:6");
	assert_frames(&f, 0x1018, "f /s/a.c:6");
	assert_frames(&f, 0x1020, "f /s/a.c:100000");
	assert_frames(&f, 0x1030, "f -");
	assert_frames(&f, 0x1050, "f -");
	assert_frames(&f, 0x1080, "f /s/b.h:70");
	assert_frames(&f, 0x109f, "f /s/b.h:71");
	assert_frames(&f, 0x10a0, "f -");
	frames_deinit(&f);
}

static void all_opcodes_are_run_and_unknown_ones_passed_over(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	function(&b, "f", 0x1000, 0x200);
	end(&b);
	end_unit(&b);
	dwarf_lines_begin(&b);
	dwarf_lines_set_address(&b, 0x1000);
	struct buffer *out = &b.line;
	dwarf_u8(out, DW_LNS_copy); /* line 1 */
	dwarf_u8(out, 5);	    /* column */
	dwarf_uleb(out, 300);
	dwarf_u8(out, 6);  /* is a statement no more */
	dwarf_u8(out, 7);  /* block */
	dwarf_u8(out, 10); /* end of the prologue */
	dwarf_u8(out, 11);
	dwarf_u8(out, 12); /* instruction set */
	dwarf_uleb(out, 3);
	dwarf_u8(out, DW_LNS_const_add_pc); /* (255 - 13) / 14 = 17 */
	dwarf_u8(out, DW_LNS_advance_line);
	dwarf_sleb(out, 41);
	dwarf_u8(out, DW_LNS_copy); /* 0x1011: 42 */
	dwarf_u8(out, DW_LNS_fixed_advance_pc);
	dwarf_u16(&b, out, 0x2f);
	dwarf_u8(out, 0); /* an extended opcode that nobody knows */
	dwarf_uleb(out, 4);
	dwarf_u8(out, 0x80);
	buffer_extend(out, 3);
	dwarf_u8(out, 0); /* the discriminator */
	dwarf_uleb(out, 2);
	dwarf_u8(out, 4);
	dwarf_uleb(out, 7);
	dwarf_u8(out, 0); /* a further file, number 3 */
	dwarf_uleb(out, 10);
	dwarf_u8(out, DW_LNE_define_file);
	dwarf_text(out, "/x/c.c");
	buffer_extend(out, 2);
	dwarf_u8(out, 0); /* and padding */
	dwarf_uleb(out, 0);
	dwarf_lines_file(&b, 3);
	dwarf_u8(out, DW_LNS_advance_line);
	dwarf_sleb(out, -40);
	dwarf_u8(out, DW_LNS_copy); /* 0x1040: 2 */
	b.row_address = 0x1040;
	dwarf_lines_end_sequence(&b, 0x1200);
	dwarf_lines_end(&b);
	struct frames f = finish(&b);
	assert_int_equal(f.result, 0);
	assert_frames(&f, 0x1010, "f /s/a.c:1");
	assert_frames(&f, 0x1011, "f /s/a.c:42");
	assert_frames(&f, 0x103f, "f /s/a.c:42");
	assert_frames(&f, 0x1040, "f /x/c.c:2");
	frames_deinit(&f);
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void add_symbols(struct dwarf_builder *b, const struct builder_symbol *symbols, size_t n)
{
	for (size_t i = 0; i < n; i++)
		elf_builder_symbol(&b->elf, symbols[i]);
	elf_builder_symbols(&b->elf, ".symtab", SHT_SYMTAB);
}

static void symbols_without_a_function_keep_name_and_get_lines(void **state)
{
	static const struct builder_symbol symbols[] = {
		{"assembler", 0x1000, 0x20, STT_FUNC, STB_GLOBAL, 1},
		{"work.cold", 0x1020, 0x20, STT_FUNC, STB_LOCAL, 1},
		{"no_lines", 0x1100, 0x20, STT_FUNC, STB_GLOBAL, 1},
		{"around", 0x1040, 0x40, STT_FUNC, STB_GLOBAL, 1},
		{"anonymous", 0x1200, 0x20, STT_FUNC, STB_GLOBAL, 1},
	};
	struct dwarf_builder b = begin(4);
	dwarf_abbreviation(&b, OWN, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr,
			   DW_AT_high_pc, DW_FORM_data1, 0);
	begin_unit(&b, 0);
	function(&b, "work", 0x1020, 0x20);
	end(&b);
	function(&b, "inside", 0x1050, 0x10);
	end(&b);
	dwarf_uleb(&b.info, OWN);
	dwarf_address(&b, &b.info, 0x1200);
	dwarf_u8(&b.info, 0x20);
	dwarf_uleb(&b.info, OWN); /* no name at all */
	dwarf_address(&b, &b.info, 0x1300);
	dwarf_u8(&b.info, 0x20);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x80, 10);
	add_symbols(&b, symbols, ARRAY_SIZE(symbols));
	struct frames f = finish_well(&b);
	assert_frames(&f, 0x1000, "assembler /s/a.c:10");
	assert_frames(&f, 0x1010, "assembler /s/a.c:11");
	assert_frames(&f, 0x1020, "work /s/a.c:12");
	assert_frames(&f, 0x1040, "around /s/a.c:14");
	assert_frames(&f, 0x1050, "inside /s/a.c:15");
	assert_frames(&f, 0x1060, "around /s/a.c:16");
	assert_frames(&f, 0x1070, "around /s/a.c:17");
	assert_frames(&f, 0x1100, "no_lines -");
	assert_frames(&f, 0x1200, "anonymous -");
	assert_frames(&f, 0x1300, "");
	/* The rest of `around` knows where it begins. */
	assert_int_equal(f.about.n_splits, 1);
	assert_int_equal(gsym_splits_find(&f.splits, 0x1060), 0x1040);
	frames_deinit(&f);
}

static void of_two_functions_the_first_units_and_the_later_of_a_unit_has_the_code(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	function(&b, "early", 0x1000, 0x40);
	end(&b);
	function(&b, "later", 0x1010, 0x10);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x40, 10);
	begin_unit(&b, 0);
	uint32_t mix = abstract(&b, "mix");
	function(&b, "second", 0x1000, 0x100);
	inlined(&b, mix, 0x1030, 0x20, 1, 9);
	end(&b);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x100, 100);
	struct frames f = finish_well(&b);
	assert_int_equal(f.about.n_functions, 4);
	assert_frames(&f, 0x1000, "early /s/a.c:10");
	assert_frames(&f, 0x1010, "later /s/a.c:11");
	assert_frames(&f, 0x1020, "early /s/a.c:12");
	assert_frames(&f, 0x103f, "early /s/a.c:13");
	assert_frames(&f, 0x1040, "mix /s/a.c:104 < second /s/a.c:9");
	assert_frames(&f, 0x1050, "second /s/a.c:105");
	assert_frames(&f, 0x10ff, "second /s/a.c:115");
	assert_int_equal(gsym_splits_find(&f.splits, 0x1020), 0x1000);
	assert_int_equal(gsym_splits_find(&f.splits, 0x1040), 0x1000);
	frames_deinit(&f);
}

/* ---- debug files ----------------------------------------------------------------------------- */

static void add_id(struct dwarf_builder *b, const char *id)
{
	struct buffer notes = {};
	elf_builder_note(&b->elf, &notes, "GNU", 4, NT_GNU_BUILD_ID, id, (uint32_t)strlen(id), 4);
	elf_builder_notes(&b->elf, ".note.gnu.build-id", &notes, 4);
	buffer_deinit(&notes);
}

static int stripped(const char *id, uint64_t start)
{
	struct dwarf_builder b = {.elf = elf_builder_init()};
	elf_builder_text(&b.elf, start, DWARF_TEXT_SIZE);
	add_id(&b, id);
	int fd = elf_builder_fd(&b.elf);
	dwarf_builder_deinit(&b);
	return fd;
}

static int debug_file(const char *id)
{
	static const struct builder_symbol symbol = {"symbol", 0x1200, 16, STT_FUNC, STB_LOCAL, 1};
	struct dwarf_builder b = dwarf_builder_init(4, 4, false, false);
	build_simple(&b);
	add_symbols(&b, &symbol, 1);
	add_id(&b, id);
	return dwarf_builder_fd(&b);
}

static void lines_come_from_the_debug_file_with_the_same_id(void **state)
{
	_cleanup_close_ int debug = debug_file("12345678"), fd = stripped("12345678", 0x1000);
	struct frames f = frames_of(fd, debug, -1);
	assert_int_equal(f.about.debug_file, 1);
	assert_frames(&f, 0x1020, "mix /s/a.c:12 < walk /s/b.h:77");
	frames_deinit(&f);
	_cleanup_close_ int other = stripped("87654321", 0x1000);
	f = frames_of(other, debug, -1);
	assert_int_equal(f.result, -ENODATA);
}

static void a_prelinked_file_has_its_own_addresses(void **state)
{
	_cleanup_close_ int debug = debug_file("12345678"), fd = stripped("12345678", 0x41000);
	struct frames f = frames_of(fd, debug, -1);
	assert_frames(&f, 0x41020, "mix /s/a.c:12 < walk /s/b.h:77");
	assert_frames(&f, 0x41200, "symbol -");
	assert_frames(&f, 0x1020, "");
	frames_deinit(&f);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void a_damaged_unit_costs_itself_only(void **state)
{
	struct dwarf_builder b = begin(4);
	begin_unit(&b, 0);
	function(&b, "first", 0x1000, 0x20);
	end(&b);
	dwarf_uleb(&b.info, 99); /* no such abbreviation */
	end_unit(&b);
	begin_unit(&b, 0);
	function(&b, "second", 0x1100, 0x20);
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0x1000, 0x200, 1);
	struct frames f = finish(&b);
	assert_int_equal(f.result, 0);
	assert_int_equal(f.about.damage.code, -EBADMSG);
	assert_frames(&f, 0x1000, "first /s/a.c:1");
	assert_true(strncmp(frames_at(&f, 0x1100), "second ", 7) == 0);
	frames_deinit(&f);
}

/* Any answer is right as long as there is one. */
static void nothing_that_is_cut_or_changed_does_harm(void **state)
{
	struct dwarf_builder b = dwarf_builder_init(5, 4, false, false);
	build_simple(&b);
	struct buffer file = {};
	dwarf_builder_finish(&b, &file);
	dwarf_builder_deinit(&b);
	for (size_t i = 64; i < file.n; i++) {
		uint8_t before = file.data[i];
		static const uint8_t changes[] = {0xff, 0x80, 0x01};
		for (size_t n = 0; n < ARRAY_SIZE(changes); n++) {
			file.data[i] = before ^ changes[n];
			_cleanup_close_ int fd = memory_file(file.data, file.n);
			struct frames f = frames_of(fd, -1, -1);
			if (f.result == 0)
				frames_at(&f, 0x1020);
			frames_deinit(&f);
		}
		file.data[i] = before;
		if (i % 8 == 0) {
			_cleanup_close_ int fd = memory_file(file.data, i);
			struct frames f = frames_of(fd, -1, -1);
			frames_deinit(&f);
		}
	}
	buffer_deinit(&file);
}

/* ---- relocatable objects --------------------------------------------------------------------- */

static void put_rela(struct buffer *out, uint64_t offset, uint32_t symbol, uint32_t type,
		     int64_t addend)
{
	buffer_u64(out, offset);
	buffer_u64(out, (uint64_t)symbol << 32 | type);
	buffer_u64(out, (uint64_t)addend);
}

static void relocatable_objects_have_offsets_in_the_file_as_addresses(void **state)
{
	struct dwarf_builder b = begin(4);
	b.elf.type = ET_REL;
	b.elf.sections.items[1].address = 0;
	begin_unit(&b, 0);
	function(&b, "moved", 0, 0x20);
	size_t address = b.info.n - 9; /* then the size, one byte */
	end(&b);
	end_unit(&b);
	simple_lines(&b, 0, 0x20, 7);
	elf_builder_symbol(&b.elf, (struct builder_symbol){"", 0, 0, STT_SECTION, STB_LOCAL, 1});
	struct buffer rela = {}, file = {};
	put_rela(&rela, address, 1, 1, 0x100);
	put_rela(&rela, 1 << 20, 1, 1, 0); /* out of the section */
	dwarf_uleb(&b.abbrev, 0);
	uint32_t info = elf_builder_section(&b.elf, (struct builder_section){
							    .name = ".debug_info",
							    .type = SHT_PROGBITS,
							    .data = b.info.data,
							    .size = b.info.n});
	b.info.n = 0;
	uint32_t symtab = elf_builder_symbols(&b.elf, ".symtab", SHT_SYMTAB);
	elf_builder_section(&b.elf, (struct builder_section){.name = ".rela.debug_info",
							     .type = SHT_RELA,
							     .data = rela.data,
							     .size = rela.n,
							     .info = info,
							     .link = symtab});
	dwarf_builder_finish(&b, &file);
	uint64_t text = b.elf.sections.items[1].offset;
	_cleanup_close_ int fd = memory_file(file.data, file.n);
	struct frames f = frames_of(fd, -1, -1);
	if (f.result < 0)
		fail_msg("%s", f.error.msg);
	assert_frames(&f, text + 0x100, "moved -");
	assert_frames(&f, text + 0xff, "");
	frames_deinit(&f);
	buffer_deinit(&rela);
	buffer_deinit(&file);
	dwarf_builder_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_class_and_byte_order_is_read),
		cmocka_unit_test(a_file_without_debug_information_says_so),
		cmocka_unit_test(empty_debug_information_is_none),
		cmocka_unit_test(a_cold_part_has_the_name_and_the_calls),
		cmocka_unit_test(range_lists_of_version_5_are_read_in_all_their_forms),
		cmocka_unit_test(numbered_range_lists_addresses_and_strings_are_found_by_their_bases),
		cmocka_unit_test(the_linkage_name_is_found_by_any_way),
		cmocka_unit_test(references_in_a_circle_end),
		cmocka_unit_test(type_units_are_passed_over_and_found_by_signature),
		cmocka_unit_test(what_is_in_a_supplementary_file_is_read_from_there),
		cmocka_unit_test(a_supplementary_file_that_is_missing_or_another_is_not_used),
		cmocka_unit_test(what_the_linker_dropped_is_left_out),
		cmocka_unit_test(a_function_ends_where_code_ends),
		cmocka_unit_test(a_later_call_has_what_two_claim),
		cmocka_unit_test(a_call_is_inside_its_parent_wherever_it_lies),
		cmocka_unit_test(very_deep_calls_are_cut),
		cmocka_unit_test(functions_inside_of_functions_and_types_have_their_own_code),
		cmocka_unit_test(sequences_come_in_any_order_and_leave_gaps),
		cmocka_unit_test(all_opcodes_are_run_and_unknown_ones_passed_over),
		cmocka_unit_test(symbols_without_a_function_keep_name_and_get_lines),
		cmocka_unit_test(of_two_functions_the_first_units_and_the_later_of_a_unit_has_the_code),
		cmocka_unit_test(lines_come_from_the_debug_file_with_the_same_id),
		cmocka_unit_test(a_prelinked_file_has_its_own_addresses),
		cmocka_unit_test(a_damaged_unit_costs_itself_only),
		cmocka_unit_test(nothing_that_is_cut_or_changed_does_harm),
		cmocka_unit_test(relocatable_objects_have_offsets_in_the_file_as_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
