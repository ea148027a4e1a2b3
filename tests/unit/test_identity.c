/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"
#include "elf/identity.h"
#include "elf/notes.h"
#include "lib/elf_builder.h"
#include "lib/test.h"
#include "symbols/extract.h"

#include <string.h>

static const uint8_t bytes_77[64] = {[0 ... 63] = 0x77};
static const uint8_t bytes_aa[128] = {[0 ... 127] = 0xaa};

static struct elf_identity identity_of_fd(int fd)
{
	struct elf_identity identity;
	struct mw_error e = {};
	int r = extract_identity(fd, &identity, &e);
	if (r < 0)
		fail_msg("%s", e.msg);
	assert_true(elf_identity_is_valid(&identity));
	return identity;
}

static struct elf_identity identity_of(struct elf_builder *b)
{
	_cleanup_close_ int fd = elf_builder_fd(b);
	elf_builder_deinit(b);
	return identity_of_fd(fd);
}

static void assert_id(const struct elf_identity *identity, uint8_t kind, const void *bytes, size_t n)
{
	assert_int_equal(identity->id.kind, kind);
	assert_int_equal(identity->id.size, n);
	assert_memory_equal(identity->id.bytes, bytes, n);
}

static void gnu_note(const struct elf_builder *b, struct buffer *notes, const void *id, uint32_t n,
		     uint32_t align)
{
	elf_builder_note(b, notes, "GNU", 4, NT_GNU_BUILD_ID, id, n, align);
}

static void build_ids_of_1_to_64_bytes_are_taken_whole(void **state)
{
	for (uint32_t n = 0; n <= 66; n++) {
		struct elf_builder b = elf_builder_init();
		b.is_big = n & 1;
		b.is32 = n & 2;
		struct buffer notes = {};
		uint8_t id[66];
		memset(id, 0x5a, sizeof id);
		gnu_note(&b, &notes, id, n, 4);
		elf_builder_notes(&b, ".note.gnu.build-id", &notes, 4);
		buffer_deinit(&notes);
		struct elf_identity identity = identity_of(&b);
		if (n >= 1 && n <= 64)
			assert_id(&identity, MW_FILE_ID_GNU, id, n);
		else
			assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
	}
}

static void the_first_of_two_build_ids_in_file_order_counts(void **state)
{
	struct elf_builder b = elf_builder_init();
	struct buffer first = {}, second = {};
	gnu_note(&b, &first, bytes_77, 20, 4);
	gnu_note(&b, &first, bytes_aa, 20, 4);
	gnu_note(&b, &second, bytes_aa, 8, 4);
	uint32_t early = elf_builder_section(
		&b, (struct builder_section){.name = ".note.a", .type = SHT_NOTE,
					     .data = first.data, .size = first.n, .align = 4});
	elf_builder_notes(&b, ".note.b", &second, 4); /* its segment stands first in the headers */
	elf_builder_segment(&b, (struct builder_segment){.type = PT_NOTE, .section = early});
	buffer_deinit(&first);
	buffer_deinit(&second);
	struct elf_identity identity = identity_of(&b);
	assert_id(&identity, MW_FILE_ID_GNU, bytes_77, 20);
}

static void finds_the_build_id_behind_notes_of_any_padding(void **state)
{
	/* Alignment of the segment, padding of the notes, size of the note in front of the build ID. */
	for (uint32_t variant = 0; variant < 3 * 40; variant++) {
		uint32_t align = variant % 3 ? 8 : 4, padding = variant % 3 == 1 ? 8 : 4;
		struct elf_builder b = elf_builder_init();
		struct buffer notes = {};
		elf_builder_note(&b, &notes, "ACME", 5, 0x99, bytes_aa, variant / 3, padding);
		gnu_note(&b, &notes, bytes_77, 20, padding);
		elf_builder_note(&b, &notes, "stapsdt", 8, 3, bytes_aa, variant / 3, padding);
		elf_builder_notes(&b, ".note.mixed", &notes, align);
		buffer_deinit(&notes);
		struct elf_identity identity = identity_of(&b);
		assert_id(&identity, MW_FILE_ID_GNU, bytes_77, 20);
	}
}

static void finds_the_build_id_at_any_distance(void **state)
{
	static const uint32_t sizes[] = {100, 4068, 4072, 4080, 4084, 4096, 8000, 1000000};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct elf_builder b = elf_builder_init();
		struct buffer notes = {};
		_cleanup_free_ uint8_t *big = calloc(1, sizes[i]);
		elf_builder_note(&b, &notes, "BIG", 4, 0x42, big, sizes[i], 4);
		gnu_note(&b, &notes, bytes_77, 20, 4);
		elf_builder_notes(&b, ".note", &notes, 4);
		buffer_deinit(&notes);
		struct elf_identity identity = identity_of(&b);
		assert_id(&identity, MW_FILE_ID_GNU, bytes_77, 20);
	}
}

static void note_sections_are_used_if_no_segment_has_a_build_id(void **state)
{
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {};
	gnu_note(&b, &notes, bytes_77, 16, 4);
	elf_builder_section(&b, (struct builder_section){.name = ".note", .type = SHT_NOTE,
							 .data = notes.data, .size = notes.n});
	buffer_deinit(&notes);
	struct elf_identity identity = identity_of(&b);
	assert_id(&identity, MW_FILE_ID_GNU, bytes_77, 16);
}

static void lookalikes_are_no_build_ids(void **state)
{
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {};
	elf_builder_note(&b, &notes, "GNU", 4, NT_GNU_ABI_TAG, bytes_aa, 16, 4);
	elf_builder_note(&b, &notes, "GNUX", 5, NT_GNU_BUILD_ID, bytes_aa, 16, 4);
	elf_builder_note(&b, &notes, "GNU", 3, NT_GNU_BUILD_ID, bytes_aa, 16, 4);
	elf_builder_note(&b, &notes, "Xen", 4, NT_GNU_BUILD_ID, bytes_aa, 16, 4);
	static const uint8_t zeros[20];
	gnu_note(&b, &notes, zeros, 20, 4); /* the same for many files: no identity */
	elf_builder_notes(&b, ".note", &notes, 4);
	buffer_deinit(&notes);
	struct elf_identity identity = identity_of(&b);
	assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
}

static void the_go_build_id_counts_after_the_gnu_one(void **state)
{
	const char go[] = "actionid/contentid";
	for (int with_gnu = 0; with_gnu < 2; with_gnu++) {
		struct elf_builder b = elf_builder_init();
		struct buffer notes = {};
		elf_builder_note(&b, &notes, "Go\0", 4, 4, go, sizeof go - 1, 4);
		if (with_gnu)
			gnu_note(&b, &notes, bytes_77, 20, 4);
		elf_builder_notes(&b, ".note.go.buildid", &notes, 4);
		buffer_deinit(&notes);
		struct elf_identity identity = identity_of(&b);
		if (with_gnu)
			assert_id(&identity, MW_FILE_ID_GNU, bytes_77, 20);
		else
			assert_id(&identity, MW_FILE_ID_GO, go, sizeof go - 1);
	}
}

static void a_redacted_go_build_id_is_none(void **state)
{
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {};
	elf_builder_note(&b, &notes, "Go\0", 4, 4, "redacted", 8, 4);
	elf_builder_notes(&b, ".note.go.buildid", &notes, 4);
	buffer_deinit(&notes);
	struct elf_identity identity = identity_of(&b);
	assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
}

/* HTLHASH by its definition, written without the code that is tested. */
/* A program with a build ID, code, and more or less of what is not loaded. */
static struct elf_identity program(const char *code, size_t n, bool has_symbols)
{
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {};
	gnu_note(&b, &notes, bytes_77, 20, 4);
	elf_builder_notes(&b, ".note.gnu.build-id", &notes, 4);
	buffer_deinit(&notes);
	uint32_t text = elf_builder_section(&b, (struct builder_section){
							.name = ".text",
							.type = SHT_PROGBITS,
							.flags = SHF_ALLOC | SHF_EXECINSTR,
							.address = 0x1000,
							.data = code,
							.size = n,
							.align = 16});
	elf_builder_segment(&b, (struct builder_segment){.type = PT_LOAD,
							 .flags = PF_R | PF_X,
							 .section = text,
							 .vaddr = 0x1000,
							 .align = 16});
	if (has_symbols) {
		elf_builder_symbol(&b, (struct builder_symbol){"f", 0x1000, 16, STT_FUNC,
							       STB_GLOBAL, (uint16_t)text});
		elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	}
	return identity_of(&b);
}

static void contents_of_one_build_id_are_told_apart_by_what_is_loaded(void **state)
{
	struct elf_identity one = program("some code", 9, true), other = program("more code", 9, true);
	assert_true(mw_file_id_equal(&one.id, &other.id));
	assert_memory_not_equal(one.content, other.content, ELF_CONTENT_SIZE);
	struct mw_file_id a = elf_store_id_of_another(&one.id, one.content),
			  b = elf_store_id_of_another(&other.id, other.content);
	assert_false(mw_file_id_equal(&a, &b));
	assert_false(mw_file_id_equal(&a, &one.id));
}

static void a_stripped_copy_has_the_same_content(void **state)
{
	struct elf_identity whole = program("some code", 9, true), stripped = program("some code", 9, false);
	assert_true(whole.has_symtab && !stripped.has_symtab);
	assert_memory_equal(whole.content, stripped.content, ELF_CONTENT_SIZE);
}

/* Pages all over it are read, of which the last is one. */
static void a_large_program_is_told_by_some_of_its_pages(void **state)
{
	size_t n = 3000000;
	_cleanup_free_ char *code = calloc(1, n);
	assert_non_null(code);
	struct elf_identity one = program(code, n, false);
	code[n - 1] = 1;
	struct elf_identity other = program(code, n, false), shorter = program(code, n - 1, false);
	assert_memory_not_equal(one.content, other.content, ELF_CONTENT_SIZE);
	assert_memory_not_equal(one.content, shorter.content, ELF_CONTENT_SIZE);
}

static void htlhash_is_head_tail_and_length(void **state)
{
	static const size_t sizes[] = {0, 1, 100, 4095, 4096, 4097, 8191, 8192, 10000, 100000};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t n = sizes[i], part = n < 4096 ? n : 4096;
		_cleanup_free_ uint8_t *file = malloc(n + 1), *input = malloc(2 * part + 8);
		for (size_t j = 0; j < n; j++)
			file[j] = (uint8_t)(j * 31 + j / 251);
		memcpy(input, file, part);
		memcpy(input + part, file + n - part, part);
		const uint8_t length[8] = {0, 0, 0, 0, 0, (uint8_t)(n >> 16), (uint8_t)(n >> 8),
					   (uint8_t)n};
		memcpy(input + 2 * part, length, 8);
		struct sha256 sha = sha256_init();
		uint8_t digest[SHA256_SIZE];
		sha256_add(&sha, input, 2 * part + 8);
		sha256_finish(&sha, digest);

		_cleanup_close_ int fd = memory_file(file, n);
		struct elf_identity identity = identity_of_fd(fd);
		assert_id(&identity, MW_FILE_ID_HTL, digest, 16);
		assert_int_equal(identity.elf_class, ELFCLASSNONE);
		assert_true(identity.file_size == n && identity.n_segments == 0);
	}
}

static void the_segments_come_with_the_identity(void **state)
{
	struct elf_builder b = elf_builder_init();
	b.is_big = true;
	b.type = ET_EXEC;
	b.machine = EM_S390;
	elf_builder_segment(&b, (struct builder_segment){.type = PT_LOAD, .flags = PF_R,
							 .vaddr = 0x10000, .file_size = 0x40,
							 .mem_size = 0x5000});
	elf_builder_text(&b, 0x20000, 0x30);
	struct buffer file = {};
	elf_builder_finish(&b, &file);
	_cleanup_close_ int fd = memory_file(file.data, file.n);
	uint64_t text = b.sections.items[1].offset, got;
	uint32_t flags;
	struct elf_identity identity = identity_of_fd(fd);
	assert_int_equal(identity.elf_class, ELFCLASS64);
	assert_int_equal(identity.byte_order, ELFDATA2MSB);
	assert_true(identity.type == ET_EXEC && identity.machine == EM_S390);
	assert_true(identity.file_size == file.n && !identity.is_truncated);
	assert_int_equal(identity.n_segments, 2);
	assert_int_equal(elf_identity_offset_to_address(&identity, text + 1, &got, &flags), 1);
	assert_true(got == 0x20001 && flags & PF_X);
	assert_int_equal(elf_identity_offset_to_address(&identity, text + 0x30, &got, &flags), 0);
	assert_int_equal(elf_identity_address_to_offset(&identity, 0x20001, &got), 1);
	assert_true(got == text + 1);
	assert_int_equal(elf_identity_address_to_offset(&identity, 0x10040, &got), 0);
	buffer_deinit(&file);
	elf_builder_deinit(&b);
}

static void of_too_many_segments_the_executable_ones_are_kept(void **state)
{
	struct elf_builder b = elf_builder_init();
	for (uint32_t i = 0; i < 300; i++)
		elf_builder_segment(&b, (struct builder_segment){
						.type = PT_LOAD,
						.flags = i >= 290 ? PF_X : PF_R,
						.vaddr = 0x1000 * i,
						.file_size = 16});
	struct elf_identity identity = identity_of(&b);
	assert_int_equal(identity.n_segments, ELF_IDENTITY_SEGMENTS);
	assert_int_equal(identity.n_segments_left_out, 300 - ELF_IDENTITY_SEGMENTS);
	for (int i = 0; i < 10; i++)
		assert_true(identity.segments[i].flags == PF_X);
	assert_true(identity.segments[10].flags == PF_R);
}

static void an_endless_chain_of_notes_ends(void **state)
{
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {};
	buffer_extend(&notes, 40 << 20); /* millions of notes of nothing */
	gnu_note(&b, &notes, bytes_77, 20, 4);
	for (int i = 0; i < 200; i++) /* and each of them many times */
		elf_builder_segment(&b, (struct builder_segment){.type = PT_NOTE, .section = 1,
								 .align = 8});
	elf_builder_notes(&b, ".note", &notes, 4);
	buffer_deinit(&notes);
	struct elf_identity identity = identity_of(&b);
	assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
}

static void notes_with_sizes_that_do_not_fit_end_the_walk(void **state)
{
	static const uint32_t sizes[] = {21, 24, 100, 0x7fffffff, 0xfffffff0, 0xffffffff};
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * 2; i++) {
		struct elf_builder b = elf_builder_init();
		struct buffer notes = {};
		gnu_note(&b, &notes, bytes_77, 20, 4);
		memcpy(notes.data + (i % 2 ? 4 : 0), &sizes[i / 2], 4);
		elf_builder_notes(&b, ".note", &notes, i % 3 ? 4 : 8);
		buffer_deinit(&notes);
		struct elf_identity identity = identity_of(&b);
		assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
	}
}

static void a_cut_file_is_identified_by_what_is_whole(void **state)
{
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {}, file = {};
	gnu_note(&b, &notes, bytes_77, 20, 4);
	elf_builder_notes(&b, ".note", &notes, 4);
	elf_builder_text(&b, 0x1000, 0x100);
	elf_builder_finish(&b, &file);
	uint64_t notes_end = b.sections.items[1].offset + notes.n;
	for (size_t size = 0; size < file.n; size++) {
		_cleanup_close_ int fd = memory_file(file.data, size);
		struct elf_identity identity = identity_of_fd(fd);
		if (size >= notes_end)
			assert_id(&identity, MW_FILE_ID_GNU, bytes_77, 20);
		else
			assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
		assert_true(size < 64 ? identity.elf_class == ELFCLASSNONE : identity.is_truncated);
	}
	buffer_deinit(&file);
	buffer_deinit(&notes);
	elf_builder_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build_ids_of_1_to_64_bytes_are_taken_whole),
		cmocka_unit_test(the_first_of_two_build_ids_in_file_order_counts),
		cmocka_unit_test(finds_the_build_id_behind_notes_of_any_padding),
		cmocka_unit_test(finds_the_build_id_at_any_distance),
		cmocka_unit_test(note_sections_are_used_if_no_segment_has_a_build_id),
		cmocka_unit_test(lookalikes_are_no_build_ids),
		cmocka_unit_test(the_go_build_id_counts_after_the_gnu_one),
		cmocka_unit_test(a_redacted_go_build_id_is_none),
		cmocka_unit_test(contents_of_one_build_id_are_told_apart_by_what_is_loaded),
		cmocka_unit_test(a_stripped_copy_has_the_same_content),
		cmocka_unit_test(a_large_program_is_told_by_some_of_its_pages),
		cmocka_unit_test(htlhash_is_head_tail_and_length),
		cmocka_unit_test(the_segments_come_with_the_identity),
		cmocka_unit_test(of_too_many_segments_the_executable_ones_are_kept),
		cmocka_unit_test(an_endless_chain_of_notes_ends),
		cmocka_unit_test(notes_with_sizes_that_do_not_fit_end_the_walk),
		cmocka_unit_test(a_cut_file_is_identified_by_what_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
