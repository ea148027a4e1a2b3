/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/elf_builder.h"
#include "lib/test.h"
#include "symbols/extract.h"
#include "symbols/gsym.h"

#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- helpers --------------------------------------------------------------------------------- */

/* The names of a built file, opened through the public interface; consumes the builder. */
static struct mw_symbols *open_symbols(struct elf_builder *b)
{
	_cleanup_close_ int fd = elf_builder_fd(b);
	elf_builder_deinit(b);
	struct mw_symbols *symbols = NULL;
	struct mw_error e = {};
	if (mw_symbols_open(fd, &symbols, &e) < 0)
		fail_msg("%s", e.msg);
	return symbols;
}

static int open_result(struct elf_builder *b, struct mw_error *e)
{
	_cleanup_close_ int fd = elf_builder_fd(b);
	elf_builder_deinit(b);
	struct mw_symbols *symbols = NULL;
	int r = mw_symbols_open(fd, &symbols, e);
	mw_symbols_close(symbols);
	return r;
}

/* NULL for name: nothing there. */
static void assert_name(const struct mw_symbols *symbols, uint64_t address, const char *name)
{
	struct mw_symbol symbol;
	int r = mw_symbols_find(symbols, address, &symbol);
	if (!name && r)
		fail_msg("%#llx is %s", (unsigned long long)address, symbol.name);
	if (name && !r)
		fail_msg("%#llx is nothing instead of %s", (unsigned long long)address, name);
	if (name && strcmp(name, symbol.name) != 0)
		fail_msg("%#llx is %s instead of %s", (unsigned long long)address, symbol.name, name);
}

static void assert_start(const struct mw_symbols *symbols, uint64_t address, uint64_t start)
{
	struct mw_symbol symbol;
	assert_int_equal(mw_symbols_find(symbols, address, &symbol), 1);
	assert_true(symbol.start == start);
}

static void add(struct elf_builder *b, const char *name, uint64_t value, uint64_t size, uint8_t type,
		uint8_t bind, uint16_t section)
{
	elf_builder_symbol(b, (struct builder_symbol){name, value, size, type, bind, section});
}

/* A program with .text at [0x1000, 0x2000), section 1. */
static struct elf_builder program(void)
{
	struct elf_builder b = elf_builder_init();
	elf_builder_text(&b, 0x1000, 0x1000);
	return b;
}

static void function(struct elf_builder *b, const char *name, uint64_t value, uint64_t size)
{
	add(b, name, value, size, STT_FUNC, STB_GLOBAL, 1);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void a_symbol_covers_its_size_and_a_gap_has_no_name(void **state)
{
	struct elf_builder b = program();
	function(&b, "first", 0x1100, 0x10);
	function(&b, "second", 0x1120, 0x10);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x10ff, NULL);
	assert_name(s, 0x1100, "first");
	assert_name(s, 0x110f, "first");
	assert_name(s, 0x1110, NULL);
	assert_name(s, 0x111f, NULL);
	assert_name(s, 0x112f, "second");
	assert_name(s, 0x1130, NULL);
	assert_name(s, 0, NULL);
	assert_name(s, UINT64_MAX, NULL);
	mw_symbols_close(s);
}

static void a_symbol_without_size_reaches_to_the_next_or_to_its_section_end(void **state)
{
	struct elf_builder b = program();
	function(&b, "unsized", 0x1100, 0);
	function(&b, "next", 0x1110, 4);
	function(&b, "last", 0x1200, 0);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x110f, "unsized");
	assert_name(s, 0x1110, "next");
	assert_name(s, 0x1114, NULL);
	assert_name(s, 0x1fff, "last");
	assert_name(s, 0x2000, NULL);
	mw_symbols_close(s);
}

static void a_symbol_without_size_has_that_of_its_namesake(void **state)
{
	struct elf_builder b = program();
	function(&b, "alias", 0x1100, 0);
	add(&b, "local", 0x1100, 8, STT_FUNC, STB_LOCAL, 1);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1107, "alias");
	assert_name(s, 0x1108, NULL);
	mw_symbols_close(s);
}

static void global_comes_before_weak_before_local(void **state)
{
	for (int variant = 0; variant < 6; variant++) { /* any order in the table */
		static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
						 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
		static const char *const names[] = {"z_global", "m_weak", "a_local"};
		static const uint8_t binds[] = {STB_GLOBAL, STB_WEAK, STB_LOCAL};
		struct elf_builder b = program();
		for (int i = 0; i < 3; i++) {
			int k = orders[variant][i];
			add(&b, names[k], 0x1100, 8, STT_FUNC, binds[k], 1);
			if (k > 0)
				add(&b, names[k], 0x1200, 8, STT_FUNC, binds[k], 1);
		}
		elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
		struct mw_symbols *s = open_symbols(&b);
		assert_name(s, 0x1104, "z_global");
		assert_name(s, 0x1204, "m_weak");
		mw_symbols_close(s);
	}
}

static void glibc_internal_names_are_used_only_alone(void **state)
{
	struct elf_builder b = program();
	function(&b, "__GI_read", 0x1100, 8);
	add(&b, "read", 0x1100, 8, STT_FUNC, STB_LOCAL, 1);
	function(&b, "__GI_label", 0x1200, 8);
	add(&b, "label", 0x1200, 0, STT_NOTYPE, STB_LOCAL, 1);
	function(&b, "__GI_alone", 0x1300, 8);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1100, "read");
	assert_name(s, 0x1207, "label");
	assert_name(s, 0x1300, "__GI_alone");
	mw_symbols_close(s);
}

static void of_equal_names_one_with_a_size_and_few_underscores_counts(void **state)
{
	struct elf_builder b = program();
	function(&b, "__libc_write", 0x1100, 8);
	function(&b, "write", 0x1100, 8);
	function(&b, "_write", 0x1100, 8);
	function(&b, "a_mark", 0x1200, 0);
	function(&b, "beta", 0x1200, 8);
	function(&b, "alpha", 0x1200, 8);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1100, "write");
	assert_name(s, 0x1200, "alpha");
	mw_symbols_close(s);
}

static void an_inner_function_splits_the_outer_one(void **state)
{
	struct elf_builder b = program();
	function(&b, "outer", 0x1100, 0x100);
	function(&b, "middle", 0x1120, 0x40);
	function(&b, "inner", 0x1130, 0x10);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	static const struct {
		uint64_t address;
		const char *name;
		uint64_t start;
	} expected[] = {{0x1100, "outer", 0x1100},  {0x1120, "middle", 0x1120},
			{0x1130, "inner", 0x1130},  {0x113f, "inner", 0x1130},
			{0x1140, "middle", 0x1120}, {0x115f, "middle", 0x1120},
			{0x1160, "outer", 0x1100},  {0x11ff, "outer", 0x1100}};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_name(s, expected[i].address, expected[i].name);
		assert_start(s, expected[i].address, expected[i].start);
	}
	assert_name(s, 0x1200, NULL);
	mw_symbols_close(s);
}

static void of_functions_that_overlap_the_later_one_has_the_common_part(void **state)
{
	struct elf_builder b = program();
	function(&b, "first", 0x1100, 0x20);
	function(&b, "second", 0x1110, 0x20);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x110f, "first");
	assert_name(s, 0x1110, "second");
	assert_name(s, 0x112f, "second");
	assert_name(s, 0x1130, NULL);
	mw_symbols_close(s);
}

static void of_functions_that_start_together_the_longer_has_the_rest(void **state)
{
	struct elf_builder b = program();
	function(&b, "long_one", 0x1100, 0x20);
	function(&b, "short_one", 0x1100, 0x10);
	add(&b, "hidden", 0x1200, 0x10, STT_FUNC, STB_LOCAL, 1);
	function(&b, "public", 0x1200, 0x20);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x110f, "short_one");
	assert_name(s, 0x1110, "long_one");
	assert_start(s, 0x1110, 0x1100);
	assert_name(s, 0x1200, "public");
	mw_symbols_close(s);
}

static void an_unsized_function_inside_another_ends_with_it(void **state)
{
	struct elf_builder b = program();
	function(&b, "outer", 0x1100, 0x20);
	function(&b, "entry", 0x1110, 0);
	function(&b, "far", 0x1800, 8);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x110f, "outer");
	assert_name(s, 0x111f, "entry");
	assert_name(s, 0x1120, NULL);
	mw_symbols_close(s);
}

static void untyped_labels_name_code_but_not_places_inside_a_function(void **state)
{
	struct elf_builder b = program();
	function(&b, "work", 0x1100, 0x20);
	add(&b, "retry", 0x1110, 0, STT_NOTYPE, STB_LOCAL, 1);
	add(&b, "label", 0x1120, 0, STT_NOTYPE, STB_LOCAL, 1);
	add(&b, "sized_label", 0x1140, 8, STT_NOTYPE, STB_GLOBAL, 1);
	function(&b, "typed", 0x1200, 8);
	add(&b, "untyped", 0x1200, 8, STT_NOTYPE, STB_GLOBAL, 1);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x111f, "work");
	assert_name(s, 0x1120, "label");
	assert_name(s, 0x113f, "label");
	assert_name(s, 0x1147, "sized_label");
	assert_name(s, 0x1148, NULL);
	assert_name(s, 0x1200, "typed");
	mw_symbols_close(s);
}

static void labels_of_assemblers_and_linkers_are_no_names(void **state)
{
	static const char *const labels[] = {"$x", "$d", "$a", "$t", "$d.17", "$xrv64i2p1_m2p0",
					     ".L42", ".Lfunc_begin0", ".annobin_main.c", ""};
	struct elf_builder b = program();
	function(&b, "real", 0x1100, 0);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		add(&b, labels[i], 0x1110 + 4 * i, 0, STT_NOTYPE, STB_LOCAL, 1);
	add(&b, "$dollar", 0x1800, 0, STT_NOTYPE, STB_LOCAL, 1);
	function(&b, "$x", 0x1900, 4);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x17ff, "real");
	assert_name(s, 0x1800, "$dollar");
	assert_name(s, 0x1900, "$x"); /* somebody's function may well be called so */
	mw_symbols_close(s);
}

static void what_is_no_code_has_no_name(void **state)
{
	struct elf_builder b = program();
	uint32_t data = elf_builder_section(
		&b, (struct builder_section){.name = ".data", .type = SHT_PROGBITS,
					     .flags = SHF_ALLOC | SHF_WRITE, .address = 0x3000,
					     .data = "12345678", .size = 8});
	function(&b, "real", 0x1000, 8);
	add(&b, "absolute", 0x1100, 8, STT_FUNC, STB_GLOBAL, SHN_ABS);
	add(&b, "absolute_label", 0x1100, 0, STT_NOTYPE, STB_GLOBAL, SHN_ABS);
	add(&b, "common", 0x1100, 8, STT_FUNC, STB_GLOBAL, SHN_COMMON);
	add(&b, "undefined", 0x1100, 8, STT_FUNC, STB_GLOBAL, SHN_UNDEF);
	add(&b, "object", 0x1100, 8, STT_OBJECT, STB_GLOBAL, 1);
	add(&b, "thread_local", 0x1100, 8, STT_TLS, STB_GLOBAL, 1);
	add(&b, "section", 0x1100, 8, STT_SECTION, STB_LOCAL, 1);
	add(&b, "file.c", 0x1100, 8, STT_FILE, STB_LOCAL, 1);
	add(&b, "in_data", 0x3000, 8, STT_FUNC, STB_GLOBAL, (uint16_t)data);
	add(&b, "elsewhere", 0x5000, 8, STT_FUNC, STB_GLOBAL, 1);
	add(&b, "no_section", 0x1100, 8, STT_FUNC, STB_GLOBAL, 77);
	add(&b, "_etext", 0x2000, 0, STT_NOTYPE, STB_GLOBAL, 1);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1000, "real");
	for (uint64_t address = 0x1008; address < 0x6000; address += 8)
		assert_name(s, address, NULL);
	mw_symbols_close(s);
}

static void a_resolver_keeps_its_own_name(void **state)
{
	struct elf_builder b = program();
	add(&b, "work", 0x1100, 8, STT_GNU_IFUNC, STB_GLOBAL, 1);
	add(&b, "resolve_work", 0x1100, 8, STT_FUNC, STB_LOCAL, 1);
	add(&b, "impl1", 0x1200, 8, STT_FUNC, STB_LOCAL, 1);
	add(&b, "memcpy", 0x1300, 8, STT_GNU_IFUNC, STB_GLOBAL, 1);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1100, "resolve_work");
	assert_name(s, 0x1200, "impl1");
	assert_name(s, 0x1300, "memcpy");
	mw_symbols_close(s);
}

static void bit_zero_of_an_arm_function_is_not_part_of_its_address(void **state)
{
	for (int variant = 0; variant < 2; variant++) {
		struct elf_builder b = elf_builder_init();
		b.is32 = true;
		b.is_big = variant;
		b.machine = EM_ARM;
		elf_builder_text(&b, 0x1000, 0x100);
		function(&b, "thumb", 0x1011, 8);
		function(&b, "arm", 0x1020, 8);
		elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
		struct mw_symbols *s = open_symbols(&b);
		assert_name(s, 0x1010, "thumb");
		assert_name(s, 0x1018, NULL);
		assert_name(s, 0x1020, "arm");
		mw_symbols_close(s);
	}
}

static void function_descriptors_of_powerpc_lead_to_the_code(void **state)
{
	struct elf_builder b = elf_builder_init();
	b.is_big = true;
	b.machine = EM_PPC64;
	b.flags = 1;
	elf_builder_text(&b, 0x1000, 0x100);
	struct buffer opd = {};
	const uint64_t values[] = {0x1010, 0, 0, 0x1040, 0, 0};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		elf_builder_u64(&b, &opd, values[i]);
	uint32_t section = elf_builder_section(
		&b, (struct builder_section){.name = ".opd", .type = SHT_PROGBITS,
					     .flags = SHF_ALLOC | SHF_WRITE, .address = 0x8000,
					     .data = opd.data, .size = opd.n, .align = 8});
	add(&b, "first", 0x8000, 0x20, STT_FUNC, STB_GLOBAL, (uint16_t)section);
	add(&b, "second", 0x8018, 0x20, STT_FUNC, STB_GLOBAL, (uint16_t)section);
	add(&b, "outside", 0x8100, 0x20, STT_FUNC, STB_GLOBAL, (uint16_t)section);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1010, "first");
	assert_name(s, 0x105f, "second");
	assert_name(s, 0x8000, NULL);
	buffer_deinit(&opd);
	mw_symbols_close(s);
}

static void sizes_up_to_64_bits_end_with_the_section(void **state)
{
	static const uint64_t sizes[] = {0x1001, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX,
					 UINT64_MAX - 0xfff};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct elf_builder b = program();
		function(&b, "huge", 0x1100, sizes[i]);
		function(&b, "inner", 0x1200, 0x10);
		elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
		struct mw_symbols *s = open_symbols(&b);
		assert_name(s, 0x11ff, "huge");
		assert_name(s, 0x1200, "inner");
		assert_name(s, 0x1fff, "huge");
		assert_start(s, 0x1fff, 0x1100);
		assert_name(s, 0x2000, NULL);
		mw_symbols_close(s);
	}
}

static void sections_of_any_size_at_any_address_are_survived(void **state)
{
	static const uint64_t values[] = {0, 0x1000, UINT64_C(1) << 32, UINT64_C(1) << 63,
					  UINT64_MAX - 1, UINT64_MAX};
	for (size_t i = 0; i < ARRAY_SIZE(values) * ARRAY_SIZE(values); i++) {
		struct elf_builder b = elf_builder_init();
		uint64_t address = values[i % ARRAY_SIZE(values)];
		elf_builder_section(&b, (struct builder_section){
						.name = ".text", .type = SHT_NOBITS,
						.flags = SHF_ALLOC | SHF_EXECINSTR,
						.address = address,
						.size = values[i / ARRAY_SIZE(values)]});
		function(&b, "real", address, UINT64_MAX);
		function(&b, "other", address + UINT32_MAX, 0);
		function(&b, "third", address + UINT32_MAX * UINT64_C(3), 1);
		elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
		struct mw_error e = {};
		int r = open_result(&b, &e);
		assert_true(r == 0 || r == -ENODATA);
	}
}

/* A hundred thousand symbols, each inside the one before, and as many at one address. */
static void deep_nesting_and_crowds_take_no_time(void **state)
{
	struct elf_builder b = elf_builder_init();
	elf_builder_section(&b, (struct builder_section){.name = ".text", .type = SHT_NOBITS,
							 .flags = SHF_ALLOC | SHF_EXECINSTR,
							 .address = 0x100000, .size = 0x1000000});
	for (uint64_t i = 0; i < 100000; i++) {
		function(&b, "nested", 0x100000 + i, 400000 - 2 * i);
		add(&b, "crowd", 0x800000, 1 + i % 1000, STT_FUNC, STB_LOCAL, 1);
	}
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	struct mw_symbols *s = open_symbols(&b);
	assert_start(s, 0x100000 + 99999, 0x100000 + 99999);
	assert_start(s, 0x100000 + 399999, 0x100000);
	assert_start(s, 0x800000 + 999, 0x800000);
	assert_name(s, 0x800000 + 1000, NULL);
	mw_symbols_close(s);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static struct extract_result extract(struct elf_builder *b)
{
	_cleanup_close_ int fd = elf_builder_fd(b), out = memory_file("", 0);
	elf_builder_deinit(b);
	struct extract_result result;
	struct mw_error e = {};
	if (extract_names(fd, NULL, 0, out, &result, &e) < 0)
		fail_msg("%s", e.msg);
	return result;
}

static void dynsym_is_used_without_symtab_and_beside_a_smaller_one(void **state)
{
	for (int with_symtab = 0; with_symtab < 2; with_symtab++) {
		struct elf_builder b = program();
		function(&b, "exported", 0x1100, 8);
		function(&b, "other", 0x1200, 8);
		elf_builder_symbols(&b, ".dynsym", SHT_DYNSYM);
		if (with_symtab) {
			add(&b, "kept", 0x1300, 8, STT_FUNC, STB_LOCAL, 1);
			elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
		}
		_cleanup_close_ int fd = elf_builder_fd(&b), out = memory_file("", 0);
		elf_builder_deinit(&b);
		struct extract_result result;
		assert_int_equal(extract_names(fd, NULL, 0, out, &result, NULL), 0);
		assert_int_equal(result.n_functions, 2 + with_symtab);
		assert_int_equal(result.source,
				 with_symtab ? SYMBOL_SOURCE_SYMTAB : SYMBOL_SOURCE_DYNSYM);
		assert_int_equal(result.damage.code, 0);
	}
}

static void without_section_headers_the_dynamic_segment_is_used(void **state)
{
	/* How the number of symbols is told: DT_HASH, DT_GNU_HASH, or not at all. */
	for (int variant = 0; variant < 12; variant++) {
		struct elf_builder b = program();
		b.is32 = variant & 1;
		b.is_big = variant & 2;
		b.no_section_headers = true;
		int how = variant / 4;
		add(&b, "undefined", 0, 0, STT_FUNC, STB_GLOBAL, 0);
		function(&b, "exported", 0x1100, 8);
		function(&b, "other", 0x1200, 8);
		uint32_t symbols = elf_builder_symbols(&b, ".dynsym", SHT_DYNSYM);
		uint32_t strings = symbols - 1;
		struct buffer hash = {}, dynamic = {};
		if (how == 0) {
			elf_builder_u32(&b, &hash, 1);
			elf_builder_u32(&b, &hash, 4);
		} else if (how == 1) {
			const uint32_t words[] = {1, 2, 1, 0};
			for (size_t i = 0; i < ARRAY_SIZE(words); i++)
				elf_builder_u32(&b, &hash, words[i]);
			elf_builder_word(&b, &hash, 0);
			elf_builder_u32(&b, &hash, 2);          /* the bucket: symbol 2 */
			elf_builder_u32(&b, &hash, 0x12345678); /* the chain of 2 and 3 */
			elf_builder_u32(&b, &hash, 0x12345679);
		}
		uint32_t hashes = elf_builder_section(
			&b, (struct builder_section){.name = ".hash", .type = SHT_PROGBITS,
						     .data = hash.data, .size = hash.n, .align = 8});
		const uint32_t parts[] = {symbols, hashes, strings};
		const uint64_t addresses[] = {0x8000, 0x9000, 0xa000};
		for (int i = 0; i < 3; i++) {
			b.sections.items[parts[i]].address = addresses[i];
			elf_builder_segment(&b, (struct builder_segment){
							.type = PT_LOAD, .flags = PF_R,
							.section = parts[i]});
		}
		const uint64_t entries[] = {DT_SYMTAB, 0x8000, how == 1 ? DT_GNU_HASH : DT_HASH,
					    how == 2 ? 0 : 0x9000, DT_STRTAB, 0xa000, DT_STRSZ,
					    b.sections.items[strings].size, DT_NULL, 0};
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
			elf_builder_word(&b, &dynamic, entries[i]);
		uint32_t section = elf_builder_section(
			&b, (struct builder_section){.name = ".dynamic", .type = SHT_DYNAMIC,
						     .data = dynamic.data, .size = dynamic.n});
		elf_builder_segment(&b, (struct builder_segment){.type = PT_DYNAMIC,
								 .section = section});
		buffer_deinit(&hash);
		buffer_deinit(&dynamic);
		struct extract_result result = extract(&b);
		assert_int_equal(result.n_functions, 2);
		assert_int_equal(result.source, SYMBOL_SOURCE_DYNAMIC);
	}
}

static void add_debugdata(struct elf_builder *b, const void *data, size_t n)
{
	uint8_t packed[65536];
	size_t packed_size = 0;
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, data, n, packed,
						 &packed_size, sizeof packed),
			 LZMA_OK);
	elf_builder_section(b, (struct builder_section){.name = ".gnu_debugdata",
							.type = SHT_PROGBITS, .data = packed,
							.size = packed_size});
}

static void mini_debug_information_adds_to_dynsym(void **state)
{
	struct elf_builder inner = elf_builder_init(), b = program();
	elf_builder_section(&inner, (struct builder_section){.name = ".text", .type = SHT_NOBITS,
							     .flags = SHF_ALLOC | SHF_EXECINSTR,
							     .address = 0x1000, .size = 0x1000});
	add(&inner, "hidden", 0x1100, 8, STT_FUNC, STB_LOCAL, 1);
	elf_builder_symbols(&inner, ".symtab", SHT_SYMTAB);
	struct buffer file = {};
	elf_builder_finish(&inner, &file);
	add_debugdata(&b, file.data, file.n);
	function(&b, "exported", 0x1200, 8);
	elf_builder_symbols(&b, ".dynsym", SHT_DYNSYM);
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1100, "hidden");
	assert_name(s, 0x1200, "exported");
	mw_symbols_close(s);
	buffer_deinit(&file);
	elf_builder_deinit(&inner);
}

static void damaged_mini_debug_information_is_told_and_the_rest_is_used(void **state)
{
	struct elf_builder b = program();
	elf_builder_section(&b, (struct builder_section){.name = ".gnu_debugdata",
							 .type = SHT_PROGBITS, .data = "\xfd" "7zXZ",
							 .size = 6});
	function(&b, "exported", 0x1200, 8);
	elf_builder_symbols(&b, ".dynsym", SHT_DYNSYM);
	struct extract_result result = extract(&b);
	assert_int_equal(result.n_functions, 1);
	assert_int_equal(result.source, SYMBOL_SOURCE_DYNSYM);
	assert_int_equal(result.damage.code, -EBADMSG);
	assert_non_null(strstr(result.damage.msg, ".gnu_debugdata"));
}

static void files_without_functions_say_so(void **state)
{
	struct elf_builder b = program();
	struct mw_error e = {};
	assert_int_equal(open_result(&b, &e), -ENODATA);
	assert_non_null(strstr(e.msg, "no function symbols"));

	b = program();
	b.type = ET_REL;
	function(&b, "f", 0x1000, 8);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	assert_int_equal(open_result(&b, &e), -ENODATA);

	_cleanup_close_ int fd = memory_file("no ELF file", 11);
	struct mw_symbols *symbols = NULL;
	assert_int_equal(mw_symbols_open(fd, &symbols, &e), -EBADMSG);
}

static void names_outside_their_strings_do_not_count(void **state)
{
	struct elf_builder b = program();
	function(&b, "first", 0x1100, 8);
	function(&b, "second", 0x1200, 8);
	uint32_t section = elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	uint32_t outside = 13; /* the strings have that many bytes */
	memcpy(b.sections.items[section].copy + 24, &outside, 4);
	/* The last string does not end. */
	b.sections.items[section - 1].size -= 1;
	struct mw_symbols *s = open_symbols(&b);
	assert_name(s, 0x1100, NULL);
	assert_name(s, 0x1200, "second");
	mw_symbols_close(s);
}

/* Cut anywhere, and with each byte of the headers set to nonsense: an outcome, never a crash. */
static void files_damaged_anywhere_give_names_or_an_error(void **state)
{
	struct elf_builder b = program();
	b.sections.items[1].size = 0x10; /* to keep the file small */
	function(&b, "first", 0x1000, 4);
	function(&b, "second", 0x1004, 0);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	function(&b, "first", 0x1000, 4);
	elf_builder_symbols(&b, ".dynsym", SHT_DYNSYM);
	struct buffer file = {};
	elf_builder_finish(&b, &file);
	elf_builder_deinit(&b);
	for (size_t i = 0; i < 3 * file.n; i++) {
		_cleanup_free_ uint8_t *copy = malloc(file.n);
		memcpy(copy, file.data, file.n);
		size_t size = i < file.n ? i : file.n;
		if (i >= file.n)
			copy[i % file.n] ^= i < 2 * file.n ? 0xff : 0x81;
		_cleanup_close_ int fd = memory_file(copy, size);
		struct mw_symbols *symbols = NULL;
		struct mw_error e = {};
		int r = mw_symbols_open(fd, &symbols, &e);
		assert_true(r <= 0 && e.code == r);
		struct mw_symbol symbol;
		if (r == 0)
			mw_symbols_find(symbols, 0x1002, &symbol);
		mw_symbols_close(symbols);
	}
	buffer_deinit(&file);
}

/* ---- extraction ------------------------------------------------------------------------------ */

static int extract_split(struct extract_result *result)
{
	struct elf_builder b = program();
	function(&b, "outer", 0x1100, 0x100);
	function(&b, "inner", 0x1120, 0x10);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	_cleanup_close_ int fd = elf_builder_fd(&b);
	elf_builder_deinit(&b);
	int out = memory_file("", 0);
	assert_int_equal(extract_names(fd, NULL, 0, out, result, NULL), 0);
	return out;
}

static void extraction_hands_over_the_split_functions(void **state)
{
	struct extract_result result;
	_cleanup_close_ int out = extract_split(&result);
	assert_int_equal(result.n_functions, 3);
	assert_int_equal(result.n_splits, 1);
	struct gsym_splits splits = {};
	assert_int_equal(extract_take_splits(out, &result, &splits, NULL), 0);
	assert_int_equal(splits.list.n, 1);
	assert_true(gsym_splits_find(&splits, 0x1130) == 0x1100);
	assert_true(gsym_splits_find(&splits, 0x1120) == 0x1120);
	gsym_splits_deinit(&splits);

	/* What is left is a GSYM file, with the file's id in it. */
	struct stat st;
	uint8_t bytes[1024];
	assert_int_equal(fstat(out, &st), 0);
	assert_int_equal(st.st_size, result.gsym_size);
	assert_int_equal(pread(out, bytes, sizeof bytes, 0), result.gsym_size);
	struct gsym gsym;
	assert_int_equal(gsym_init(&gsym, bytes, result.gsym_size, NULL), 0);
	assert_int_equal(gsym.uuid_size, 16); /* HTLHASH */
	struct gsym_entry entry;
	assert_int_equal(gsym_find(&gsym, 0x1130, &entry), 1);
	assert_string_equal(entry.name, "outer");
	struct mw_symbols *symbols;
	assert_int_equal(mw_symbols_open(out, &symbols, NULL), 0);
	assert_name(symbols, 0x1120, "inner");
	mw_symbols_close(symbols);
}

static void the_parent_believes_no_count_of_its_child(void **state)
{
	struct extract_result good;
	_cleanup_close_ int out = extract_split(&good);
	static const uint64_t lies[] = {0, 2, 1000, EXTRACT_SPLITS_MAX + 1, UINT64_C(1) << 60,
					UINT64_MAX};
	for (size_t i = 0; i < 2 * ARRAY_SIZE(lies); i++) {
		struct extract_result lie = good;
		*(i % 2 ? &lie.n_splits : &lie.gsym_size) = lies[i / 2];
		struct gsym_splits splits = {};
		struct mw_error e = {};
		assert_int_equal(extract_take_splits(out, &lie, &splits, &e), -EBADMSG);
		assert_int_equal(e.code, -EBADMSG);
		gsym_splits_deinit(&splits);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	struct elf_builder b = program();
	function(&b, "f", 0x1100, 8);
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	_cleanup_close_ int fd = elf_builder_fd(&b);
	elf_builder_deinit(&b);
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "w");
	assert_non_null(full);
	struct extract_result result;
	struct mw_error e = {};
	assert_int_equal(extract_names(fd, NULL, 0, fileno(full), &result, &e), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_covers_its_size_and_a_gap_has_no_name),
		cmocka_unit_test(a_symbol_without_size_reaches_to_the_next_or_to_its_section_end),
		cmocka_unit_test(a_symbol_without_size_has_that_of_its_namesake),
		cmocka_unit_test(global_comes_before_weak_before_local),
		cmocka_unit_test(glibc_internal_names_are_used_only_alone),
		cmocka_unit_test(of_equal_names_one_with_a_size_and_few_underscores_counts),
		cmocka_unit_test(an_inner_function_splits_the_outer_one),
		cmocka_unit_test(of_functions_that_overlap_the_later_one_has_the_common_part),
		cmocka_unit_test(of_functions_that_start_together_the_longer_has_the_rest),
		cmocka_unit_test(an_unsized_function_inside_another_ends_with_it),
		cmocka_unit_test(untyped_labels_name_code_but_not_places_inside_a_function),
		cmocka_unit_test(labels_of_assemblers_and_linkers_are_no_names),
		cmocka_unit_test(what_is_no_code_has_no_name),
		cmocka_unit_test(a_resolver_keeps_its_own_name),
		cmocka_unit_test(bit_zero_of_an_arm_function_is_not_part_of_its_address),
		cmocka_unit_test(function_descriptors_of_powerpc_lead_to_the_code),
		cmocka_unit_test(sizes_up_to_64_bits_end_with_the_section),
		cmocka_unit_test(sections_of_any_size_at_any_address_are_survived),
		cmocka_unit_test(deep_nesting_and_crowds_take_no_time),
		cmocka_unit_test(dynsym_is_used_without_symtab_and_beside_a_smaller_one),
		cmocka_unit_test(without_section_headers_the_dynamic_segment_is_used),
		cmocka_unit_test(mini_debug_information_adds_to_dynsym),
		cmocka_unit_test(damaged_mini_debug_information_is_told_and_the_rest_is_used),
		cmocka_unit_test(files_without_functions_say_so),
		cmocka_unit_test(names_outside_their_strings_do_not_count),
		cmocka_unit_test(files_damaged_anywhere_give_names_or_an_error),
		cmocka_unit_test(extraction_hands_over_the_split_functions),
		cmocka_unit_test(the_parent_believes_no_count_of_its_child),
		cmocka_unit_test(a_full_disk_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
