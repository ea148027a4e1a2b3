/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/alt_link.h"
#include "elf/elf.h"
#include "lib/elf_builder.h"
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

#define LIMIT (UINT64_C(64) << 20)

/* Code with a bias, behind a segment whose size in memory lies over the code's offset. */
static void add_layout(struct elf_builder *b)
{
	uint8_t data[0x200] = {};
	uint32_t rodata = elf_builder_section(
		b, (struct builder_section){.name = ".rodata", .type = SHT_PROGBITS,
					    .flags = SHF_ALLOC, .address = 0x400, .data = data,
					    .size = sizeof data, .align = 0x100});
	elf_builder_segment(b, (struct builder_segment){.type = PT_LOAD, .flags = PF_R,
							.section = rodata,
							.mem_size = 0x100000});
	elf_builder_text(b, 0x201000, 0x80);
}

static void check_layout(const struct elf *elf, const struct elf_builder *b)
{
	uint64_t rodata = b->sections.items[1].offset, text = b->sections.items[2].offset, got;
	uint32_t flags;
	assert_int_equal(elf_offset_to_address(elf, rodata + 1, &got, &flags), 1);
	assert_true(got == 0x401 && flags == PF_R);
	assert_int_equal(elf_offset_to_address(elf, text + 0x7f, &got, &flags), 1);
	assert_true(got == 0x20107f && flags & PF_X);
	assert_int_equal(elf_offset_to_address(elf, text + 0x80, &got, NULL), 0);
	assert_int_equal(elf_address_to_offset(elf, 0x201000, &got), 1);
	assert_true(got == text);
	assert_int_equal(elf_address_to_offset(elf, 0x601, &got), 0); /* in memory only */
	assert_int_equal(elf_address_to_offset(elf, 0x201080, &got), 0);
}

static void reads_both_classes_and_both_byte_orders(void **state)
{
	for (int variant = 0; variant < 4; variant++) {
		struct elf_builder b = elf_builder_init();
		b.is32 = variant & 1;
		b.is_big = variant & 2;
		b.machine = EM_PPC;
		add_layout(&b);
		_cleanup_close_ int fd = elf_builder_fd(&b);
		struct elf elf;
		assert_int_equal(elf_open(&elf, fd, NULL), 0);
		assert_true(elf.is64 == !b.is32 && elf.machine == EM_PPC && elf.type == ET_DYN);
		assert_false(elf.is_truncated);
		assert_int_equal(elf.program_headers.n, 2);
		check_layout(&elf, &b);
		const struct elf_section *text = elf_find_section(&elf, ".text");
		assert_non_null(text);
		assert_true(text->address == 0x201000 && text->size == 0x80);
		assert_null(elf_find_section(&elf, ".nothing"));
		elf_deinit(&elf);
		elf_builder_deinit(&b);
	}
}

static void reads_counts_that_do_not_fit_the_header_from_section_zero(void **state)
{
	struct elf_builder b = elf_builder_init();
	add_layout(&b);
	b.extended_numbering = true;
	_cleanup_close_ int fd = elf_builder_fd(&b);
	struct elf elf;
	assert_int_equal(elf_open(&elf, fd, NULL), 0);
	check_layout(&elf, &b);
	assert_non_null(elf_find_section(&elf, ".rodata"));
	assert_int_equal(elf.sections.n, b.sections.n);
	elf_deinit(&elf);
	elf_builder_deinit(&b);
}

static void a_file_without_section_headers_is_used_by_its_segments(void **state)
{
	struct elf_builder b = elf_builder_init();
	add_layout(&b);
	b.no_section_headers = true;
	_cleanup_close_ int fd = elf_builder_fd(&b);
	struct elf elf;
	assert_int_equal(elf_open(&elf, fd, NULL), 0);
	check_layout(&elf, &b);
	assert_int_equal(elf_load_sections(&elf, NULL), -ENODATA);
	assert_null(elf_find_section(&elf, ".text"));
	elf_deinit(&elf);
	elf_builder_deinit(&b);
}

static void where_segments_overlap_in_the_file_the_executable_one_counts(void **state)
{
	struct elf_builder b = elf_builder_init();
	elf_builder_segment(&b, (struct builder_segment){.type = PT_LOAD, .flags = PF_R,
							 .vaddr = 0x1000, .file_size = 0x40});
	elf_builder_segment(&b, (struct builder_segment){.type = PT_LOAD, .flags = PF_R | PF_X,
							 .vaddr = 0x9000, .file_size = 0x40});
	_cleanup_close_ int fd = elf_builder_fd(&b);
	struct elf elf;
	uint64_t got;
	assert_int_equal(elf_open(&elf, fd, NULL), 0);
	assert_int_equal(elf_offset_to_address(&elf, 0x10, &got, NULL), 1);
	assert_true(got == 0x9010);
	elf_deinit(&elf);
	elf_builder_deinit(&b);
}

static void whatever_is_no_elf_file_is_refused_with_a_reason(void **state)
{
	static const char *const files[] = {"", "\177EL", "#!/bin/sh\necho no elf file at all\n",
					    "\177ELF\2\1\1", "\177ELF\7\1\1         ",
					    "\177ELF\2\5\1         "};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_close_ int fd = memory_file(files[i], strlen(files[i]));
		struct elf elf;
		struct mw_error e = {};
		assert_int_equal(elf_open(&elf, fd, &e), -EBADMSG);
		assert_int_equal(e.code, -EBADMSG);
		assert_true(strlen(e.msg) > 10);
	}
	_cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY);
	struct elf elf;
	assert_int_equal(elf_open(&elf, directory, NULL), -EINVAL);
}

/* Offsets of fields in the 64-bit header. */
#define E_PHOFF 32
#define E_SHOFF 40
#define E_PHNUM 56
#define E_SHNUM 60

static struct buffer layout_bytes(struct elf_builder *b)
{
	struct buffer file = {};
	*b = elf_builder_init();
	add_layout(b);
	elf_builder_finish(b, &file);
	return file;
}

static void tables_anywhere_in_64_bits_fail_without_a_crash(void **state)
{
	static const uint64_t places[] = {1, 63, 0x1000000, INT64_MAX, INT64_MAX + UINT64_C(1),
					  UINT64_MAX, UINT64_MAX - 63};
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct elf_builder b;
		struct buffer file = layout_bytes(&b);
		memcpy(file.data + E_SHOFF, &places[i], 8);
		struct elf elf;
		assert_int_equal(elf_open_memory(&elf, file.data, file.n, NULL), 0);
		check_layout(&elf, &b); /* sections are not needed for this */
		struct mw_error e = {};
		int r = elf_load_sections(&elf, &e);
		assert_true(r == -EBADMSG || r == -ENODATA || r == 0);
		elf_deinit(&elf);

		memcpy(file.data + E_PHOFF, &places[i], 8);
		if (elf_open_memory(&elf, file.data, file.n, NULL) == 0)
			elf_deinit(&elf);
		buffer_deinit(&file);
		elf_builder_deinit(&b);
	}
}

static void a_million_claimed_sections_cost_nothing(void **state)
{
	struct elf_builder b;
	struct buffer file = layout_bytes(&b);
	uint64_t million = 1000000;
	memset(file.data + E_SHNUM, 0, 2);
	memcpy(file.data + b.section_headers_at + 32, &million, 8); /* sh_size of section 0 */
	_cleanup_close_ int fd = memory_file(file.data, file.n);
	/* The file even has the room for them. */
	assert_int_equal(ftruncate(fd, (off_t)(file.n + million * 64)), 0);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	struct elf elf;
	struct mw_error e;
	assert_int_equal(elf_open(&elf, fd, NULL), 0);
	check_layout(&elf, &b);
	assert_int_equal(elf_load_sections(&elf, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "1000000"));
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true((end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000 < 50);
	elf_deinit(&elf);
	buffer_deinit(&file);
	elf_builder_deinit(&b);
}

static void a_cut_file_is_used_as_far_as_it_is_whole(void **state)
{
	struct elf_builder b;
	struct buffer file = layout_bytes(&b);
	for (size_t size = 0; size < file.n; size++) {
		struct elf elf;
		struct mw_error e = {};
		int r = elf_open_memory(&elf, file.data, size, &e);
		assert_true(r == (size < 64 ? -EBADMSG : 0));
		if (r < 0)
			continue;
		assert_true(elf.is_truncated);
		if (size >= b.program_headers_at + 2 * sizeof(Elf64_Phdr))
			check_layout(&elf, &b);
		assert_int_equal(elf_load_sections(&elf, &e), -EBADMSG);
		assert_non_null(strstr(e.msg, "end of the file"));
		elf_deinit(&elf);
	}
	buffer_deinit(&file);
	elf_builder_deinit(&b);
}

static void a_file_that_shrinks_while_it_is_open_gives_an_error(void **state)
{
	struct elf_builder b;
	struct buffer file = layout_bytes(&b);
	_cleanup_close_ int fd = memory_file(file.data, file.n);
	struct elf elf;
	assert_int_equal(elf_open(&elf, fd, NULL), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	struct mw_error e = {};
	assert_true(elf_load_sections(&elf, &e) < 0);
	assert_int_equal(e.code, -EBADMSG);
	elf_deinit(&elf);
	buffer_deinit(&file);
	elf_builder_deinit(&b);
}

static void names_outside_their_table_are_empty(void **state)
{
	struct elf_builder b;
	struct buffer file = layout_bytes(&b);
	uint32_t outside = 0x7fffffff;
	memcpy(file.data + b.section_headers_at + 64, &outside, 4); /* sh_name of section 1 */
	struct elf elf;
	assert_int_equal(elf_open_memory(&elf, file.data, file.n, NULL), 0);
	assert_non_null(elf_find_section(&elf, ".text"));
	assert_string_equal(elf_section_name(&elf, &elf.sections.items[1]), "");
	elf_deinit(&elf);
	buffer_deinit(&file);
	elf_builder_deinit(&b);
}

/* ---- contents -------------------------------------------------------------------------------- */

/* 20,000 bytes that compress well. */
static uint8_t *plain_bytes(size_t *n)
{
	*n = 20000;
	uint8_t *plain = malloc(*n);
	for (size_t i = 0; i < *n; i++)
		plain[i] = (uint8_t)(i / 100);
	return plain;
}

enum packing { ZLIB, ZSTD, ZDEBUG };

static void pack(const struct elf_builder *b, enum packing how, const uint8_t *plain, size_t n,
		 uint64_t claimed, struct buffer *out)
{
	if (how == ZDEBUG) {
		buffer_bytes(out, "ZLIB", 4);
		buffer_u64(out, __builtin_bswap64(claimed));
	} else {
		elf_builder_u32(b, out, how == ZLIB ? 1 : 2);
		if (!b->is32)
			elf_builder_u32(b, out, 0);
		elf_builder_word(b, out, claimed);
		elf_builder_word(b, out, 1);
	}
	uint8_t packed[32768];
	uLongf packed_size = sizeof packed;
	if (how == ZSTD)
		packed_size = ZSTD_compress(packed, sizeof packed, plain, n, 3);
	else
		assert_int_equal(compress(packed, &packed_size, plain, n), Z_OK);
	buffer_bytes(out, packed, packed_size);
}

static int unpack_section(struct elf_builder *b, enum packing how, const struct buffer *packed,
			  uint64_t limit, uint8_t **data, uint64_t *size)
{
	const char *name = how == ZDEBUG ? ".zdebug_info" : ".debug_info";
	elf_builder_section(b, (struct builder_section){
				       .name = name, .type = SHT_PROGBITS,
				       .flags = how == ZDEBUG ? 0 : SHF_COMPRESSED,
				       .data = packed->data, .size = packed->n, .align = 1});
	_cleanup_close_ int fd = elf_builder_fd(b);
	struct elf elf;
	struct mw_error e = {};
	assert_int_equal(elf_open(&elf, fd, NULL), 0);
	const struct elf_section *section = elf_find_section(&elf, name);
	assert_non_null(section);
	int r = elf_section_data(&elf, section, limit, data, size, &e);
	assert_true(r == 0 || (e.code == r && strstr(e.msg, name)));
	elf_deinit(&elf);
	return r;
}

static void compressed_sections_give_their_contents(void **state)
{
	size_t n;
	_cleanup_free_ uint8_t *plain = plain_bytes(&n);
	for (int variant = 0; variant < 12; variant++) {
		struct elf_builder b = elf_builder_init();
		b.is32 = variant & 1;
		b.is_big = variant & 2;
		struct buffer packed = {};
		pack(&b, variant / 4, plain, n, n, &packed);
		_cleanup_free_ uint8_t *data = NULL;
		uint64_t size;
		assert_int_equal(unpack_section(&b, variant / 4, &packed, LIMIT, &data, &size), 0);
		assert_int_equal(size, n);
		assert_memory_equal(data, plain, n);
		buffer_deinit(&packed);
		elf_builder_deinit(&b);
	}
}

static void compressed_sections_that_lie_about_their_size_fail(void **state)
{
	size_t n;
	_cleanup_free_ uint8_t *plain = plain_bytes(&n);
	const uint64_t claims[] = {0, 1, n - 1, n + 1, LIMIT, LIMIT + 1, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(claims) * 3; i++) {
		struct elf_builder b = elf_builder_init();
		struct buffer packed = {};
		uint64_t claimed = claims[i / 3];
		pack(&b, i % 3, plain, n, claimed, &packed);
		uint8_t *data = NULL;
		uint64_t size = 0;
		int r = unpack_section(&b, i % 3, &packed, LIMIT, &data, &size);
		assert_int_equal(r, claimed > LIMIT ? -EFBIG : -EBADMSG);
		assert_null(data);
		buffer_deinit(&packed);
		elf_builder_deinit(&b);
	}
}

static void compressed_sections_that_are_cut_fail(void **state)
{
	size_t n;
	_cleanup_free_ uint8_t *plain = plain_bytes(&n);
	for (int how = ZLIB; how <= ZSTD; how++) {
		for (size_t size = 1; size < 60; size++) {
			struct elf_builder b = elf_builder_init();
			struct buffer packed = {};
			pack(&b, how, plain, n, n, &packed);
			packed.n = size;
			uint8_t *data = NULL;
			uint64_t unpacked;
			assert_int_equal(unpack_section(&b, how, &packed, LIMIT, &data, &unpacked),
					 -EBADMSG);
			buffer_deinit(&packed);
			elf_builder_deinit(&b);
		}
	}
}

static void sections_without_bytes_or_with_too_many_are_refused(void **state)
{
	struct elf_builder b = elf_builder_init();
	add_layout(&b);
	elf_builder_section(&b, (struct builder_section){.name = ".bss", .type = SHT_NOBITS,
							 .size = UINT64_C(1) << 62});
	struct buffer file = {};
	elf_builder_finish(&b, &file);
	struct elf elf;
	uint8_t *data;
	uint64_t size;
	assert_int_equal(elf_open_memory(&elf, file.data, file.n, NULL), 0);
	assert_int_equal(elf_section_data(&elf, elf_find_section(&elf, ".bss"), LIMIT, &data, &size,
					  NULL),
			 -ENODATA);
	assert_int_equal(elf_section_data(&elf, elf_find_section(&elf, ".text"), 0x7f, &data, &size,
					  NULL),
			 -EFBIG);
	assert_int_equal(elf_section_data(&elf, elf_find_section(&elf, ".text"), 0x80, &data, &size,
					  NULL),
			 0);
	assert_int_equal(size, 0x80);
	free(data);
	elf_deinit(&elf);
	buffer_deinit(&file);
	elf_builder_deinit(&b);
}

static void finds_tags_of_the_dynamic_segment(void **state)
{
	for (int is32 = 0; is32 < 2; is32++) {
		struct elf_builder b = elf_builder_init();
		b.is32 = is32;
		struct buffer dynamic = {};
		const uint64_t entries[] = {DT_STRTAB, 0x100, DT_GNU_HASH, 0x200, DT_NULL, 0,
					    DT_SYMTAB, 0x300};
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
			elf_builder_word(&b, &dynamic, entries[i]);
		uint32_t section = elf_builder_section(
			&b, (struct builder_section){.name = ".dynamic", .type = SHT_DYNAMIC,
						     .data = dynamic.data, .size = dynamic.n});
		elf_builder_segment(&b, (struct builder_segment){.type = PT_DYNAMIC,
								 .section = section});
		_cleanup_close_ int fd = elf_builder_fd(&b);
		struct elf elf;
		const int64_t tags[] = {DT_GNU_HASH, DT_SYMTAB, DT_STRTAB};
		uint64_t values[3];
		assert_int_equal(elf_open(&elf, fd, NULL), 0);
		assert_int_equal(elf_dynamic(&elf, tags, 3, values, NULL), 2);
		assert_true(values[0] == 0x200 && values[1] == 0 && values[2] == 0x100);
		elf_deinit(&elf);
		buffer_deinit(&dynamic);
		elf_builder_deinit(&b);
	}
}

/* ---- links to supplementary files ------------------------------------------------------------ */

static int read_link(const char *section, const void *data, size_t n, struct elf_alt_link *ret)
{
	struct elf_builder b = elf_builder_init();
	elf_builder_section(&b, (struct builder_section){.name = section, .type = SHT_PROGBITS,
							 .data = data, .size = n});
	struct buffer file = {};
	struct elf elf;
	elf_builder_finish(&b, &file);
	assert_int_equal(elf_open_memory(&elf, file.data, file.n, NULL), 0);
	int r = elf_read_alt_link(&elf, ret);
	elf_deinit(&elf);
	buffer_deinit(&file);
	elf_builder_deinit(&b);
	return r;
}

static void a_supplementary_file_is_named_in_either_way(void **state)
{
	static const char old[] = "/dwz/x.debug\0\1\2\3\4";
	static const char new[] = "\5\0\0/dwz/x.debug\0\4\1\2\3\4";
	struct elf_alt_link link;
	for (int is_new = 0; is_new < 2; is_new++) {
		const char *name = is_new ? ".debug_sup" : ".gnu_debugaltlink";
		const char *data = is_new ? new : old;
		size_t n = is_new ? sizeof new - 1 : sizeof old - 1;
		assert_int_equal(read_link(name, data, n, &link), 1);
		assert_string_equal(link.path, "/dwz/x.debug");
		assert_int_equal(link.id.size, 4);
		assert_memory_equal(link.id.bytes, "\1\2\3\4", 4);
		/* Cut short: no link, or none with a whole id. */
		for (size_t i = 0; i + (is_new ? 0 : 4) < n; i++)
			assert_int_equal(read_link(name, data, i, &link), 0);
	}
	/* The supplementary file's own is no link. */
	assert_int_equal(read_link(".debug_sup", "\5\0\1\0\4\1\2\3\4", 9, &link), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_supplementary_file_is_named_in_either_way),
		cmocka_unit_test(reads_both_classes_and_both_byte_orders),
		cmocka_unit_test(reads_counts_that_do_not_fit_the_header_from_section_zero),
		cmocka_unit_test(a_file_without_section_headers_is_used_by_its_segments),
		cmocka_unit_test(where_segments_overlap_in_the_file_the_executable_one_counts),
		cmocka_unit_test(whatever_is_no_elf_file_is_refused_with_a_reason),
		cmocka_unit_test(tables_anywhere_in_64_bits_fail_without_a_crash),
		cmocka_unit_test(a_million_claimed_sections_cost_nothing),
		cmocka_unit_test(a_cut_file_is_used_as_far_as_it_is_whole),
		cmocka_unit_test(a_file_that_shrinks_while_it_is_open_gives_an_error),
		cmocka_unit_test(names_outside_their_table_are_empty),
		cmocka_unit_test(compressed_sections_give_their_contents),
		cmocka_unit_test(compressed_sections_that_lie_about_their_size_fail),
		cmocka_unit_test(compressed_sections_that_are_cut_fail),
		cmocka_unit_test(sections_without_bytes_or_with_too_many_are_refused),
		cmocka_unit_test(finds_tags_of_the_dynamic_segment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
