/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The awkward layouts of ../shared/cases/build-elf.sh, built with this machine's compilers and
 * linkers: the identities and names that cases/README.md demands. And the corpus of real files:
 * each one opens or says why not, and has the build ID that readelf shows.
 */
#include "lib/shared.h"
#include "lib/test.h"
#include "symbols/extract.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *shared;
static char cases[] = "/tmp/mapwright-cases-XXXXXX";

/* ---- helpers --------------------------------------------------------------------------------- */

static int open_case(const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", cases, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("%s was not built", name);
	return fd;
}

static struct elf_identity identity_of_case(const char *name)
{
	_cleanup_close_ int fd = open_case(name);
	struct elf_identity identity;
	struct mw_error e = {};
	if (extract_identity(fd, &identity, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
	return identity;
}

static struct mw_symbols *symbols_of_case(const char *name)
{
	_cleanup_close_ int fd = open_case(name);
	struct mw_symbols *symbols = NULL;
	struct mw_error e = {};
	if (mw_symbols_open(fd, &symbols, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
	return symbols;
}

static void assert_names(const char *file, const struct mw_symbols *symbols, uint64_t from,
			 uint64_t to, const char *name)
{
	for (uint64_t address = from; address <= to; address++) {
		struct mw_symbol symbol = {.name = "nothing"};
		int r = mw_symbols_find(symbols, address, &symbol);
		if (r != (name != NULL) || (name && strcmp(name, symbol.name) != 0))
			fail_msg("%s: %#llx is %s instead of %s", file, (unsigned long long)address,
				 symbol.name, name ? name : "nothing");
	}
}

/* What readelf -n shows first; "" if nothing. */
static void readelf_build_id(const char *path, char id[200])
{
	char command[1200], line[400];
	id[0] = '\0';
	snprintf(command, sizeof command, "readelf -nW '%s' 2>/dev/null", path);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof line, pipe)) {
		const char *found = strstr(line, "Build ID: ");
		if (found && !id[0])
			sscanf(found, "Build ID: %199[0-9a-f]", id);
	}
	pclose(pipe);
}

/* Symbol addresses as nm shows them. */
static uint64_t address_of(const char *file, const char *symbol)
{
	char command[1200], line[400], name[200], type;
	unsigned long long address, found = 0;
	snprintf(command, sizeof command, "nm '%s/%s'", cases, file);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof line, pipe)) {
		if (sscanf(line, "%llx %c %199s", &address, &type, name) == 3 &&
		    strcmp(name, symbol) == 0)
			found = address;
	}
	pclose(pipe);
	if (!found)
		fail_msg("nm does not know %s in %s", symbol, file);
	return found;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void the_symbols_of_b06_are_chosen_as_demanded(void **state)
{
	static const struct {
		uint64_t from, to;
		const char *name;
	} expected[] = {
		{0x401000, 0x401003, "sized"},     {0x401004, 0x401043, NULL},
		{0x401044, 0x401048, "zero_size"}, {0x401049, 0x40104a, "next"},
		{0x40104b, 0x40104d, "glob"},      {0x40104e, 0x40104f, "outer"},
		{0x401050, 0x401052, "inner"},     {0x401053, 0x401055, "outer"},
		{0x401056, 0x401057, "work.cold"}, {0x401058, 0x401059, "notype_label"},
		{0x40105a, 0x40105f, "_start"},    {0x1234, 0x1234, NULL},
	};
	struct mw_symbols *s = symbols_of_case("b06_symbols");
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_names("b06_symbols", s, expected[i].from, expected[i].to, expected[i].name);
	mw_symbols_close(s);

	/* The same as a library, then with its dynamic symbols alone. */
	uint64_t base = address_of("b06_symbols.so", "sized") - 0x401000;
	s = symbols_of_case("b06_symbols.so");
	for (size_t i = 0; i + 2 < ARRAY_SIZE(expected); i++)
		assert_names("b06_symbols.so", s, expected[i].from + base, expected[i].to + base,
			     expected[i].name);
	mw_symbols_close(s);
	s = symbols_of_case("b07_dynsym_only.so");
	for (size_t i = 0; i < 8; i++)
		assert_names("b07_dynsym_only.so", s, expected[i].from + base, expected[i].to + base,
			     expected[i].name);
	mw_symbols_close(s);
}

static void build_ids_of_every_length_are_exact(void **state)
{
	static const struct {
		const char *file;
		int size;
		const char *hex;
	} expected[] = {
		{"b11_bid_none", 0, ""},
		{"b11_bid_0xdead", 2, "dead"},
		{"b11_bid_0x0102030405060708", 8, "0102030405060708"},
		{"b11_bid_lldfast", 8, NULL},
		{"b11_bid_md5", 16, NULL},
		{"b11_bid_uuid", 16, NULL},
		{"b11_bid_sha1", 20, NULL},
		{"b11_bid_32bytes", 32, NULL},
		{"b11_bid_64bytes", 64, NULL},
		{"b12_two_buildids", 20, NULL},
		{"b13_note_align8", 20, NULL},
		{"b14_buildid_late", 20, NULL},
		{"b14_buildid_after_data", 20, NULL},
		{"b18_noshdr", 20, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct elf_identity identity = identity_of_case(expected[i].file);
		char text[MW_FILE_ID_TEXT_MAX], path[512], shown[200];
		if (!expected[i].size) {
			assert_int_equal(identity.id.kind, MW_FILE_ID_HTL);
			continue;
		}
		assert_int_equal(identity.id.kind, MW_FILE_ID_GNU);
		assert_int_equal(identity.id.size, expected[i].size);
		mw_file_id_to_text(&identity.id, text, sizeof text);
		if (expected[i].hex) { /* readelf cannot read the one of 2 bytes */
			assert_string_equal(text + strlen("gnu:"), expected[i].hex);
			continue;
		}
		snprintf(path, sizeof path, "%s/%s", cases, expected[i].file);
		readelf_build_id(path, shown);
		assert_string_equal(text + strlen("gnu:"), shown);
	}
}

/* Each hot function: its symbol, and the conversion of its address to the file and back. */
static void hot_functions_are_found_in_every_layout(void **state)
{
	static const struct {
		const char *file, *function;
	} expected[] = {
		{"b01_bfd_pie", "hot_a"},       {"b01_lld_pie", "hot_a"},
		{"b01_lld_nopie", "hot_b"},     {"b01_lld_norosegment", "hot_a"},
		{"b01_gold_pie", "hot_b"},      {"b01_noseparate", "hot_a"},
		{"b02_dyn_base_nonzero", "hot_a"}, {"b03_2m_align", "hot_a"},
		{"b03_lld_2m_sep", "hot_b"},    {"b04_two_exec_nopie", "hot_near"},
		{"b04_two_exec_nopie", "hot_far"}, {"b04_two_exec_pie", "hot_near"},
		{"b04_two_exec_pie", "hot_far"}, {"b05_bss_overlap", "hot_after_bss"},
		{"b08_ifunc", "impl1"},         {"b09_cold", "work.cold"},
		{"b10_static", "hot_a"},        {"b10_static_nobid", "hot_b"},
		{"b10_static_pie", "hot_a"},    {"b20_g1", "hot_a"},
		{"b21_split5", "hot_b"},        {"b22_gz", "hot_a"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const char *file = expected[i].file;
		uint64_t address = address_of(file, expected[i].function), offset, back;
		uint32_t flags;
		struct mw_symbols *s = symbols_of_case(file);
		assert_names(file, s, address, address + 1, expected[i].function);
		mw_symbols_close(s);
		struct elf_identity identity = identity_of_case(file);
		assert_int_equal(elf_identity_address_to_offset(&identity, address, &offset), 1);
		assert_int_equal(elf_identity_offset_to_address(&identity, offset, &back, &flags), 1);
		assert_true(back == address && flags & PF_X);
	}
}

static void mini_debug_information_names_the_hot_functions(void **state)
{
	struct mw_symbols *s = symbols_of_case("b16_minidebug");
	uint64_t a = address_of("full", "hot_a"), b = address_of("full", "hot_b");
	assert_names("b16_minidebug", s, a, a + 1, "hot_a");
	assert_names("b16_minidebug", s, b, b + 1, "hot_b");
	mw_symbols_close(s);
}

static void a_truncated_file_gives_its_identity_and_a_clear_error(void **state)
{
	struct elf_identity identity = identity_of_case("b19_truncated");
	assert_int_equal(identity.id.kind, MW_FILE_ID_GNU);
	assert_true(identity.is_truncated && identity.n_segments >= 2);
	_cleanup_close_ int fd = open_case("b19_truncated");
	struct mw_symbols *symbols = NULL;
	struct mw_error e = {};
	assert_int_equal(mw_symbols_open(fd, &symbols, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "end of the file"));
}

/* Of a library without section headers, made here: the case's own program exports nothing. */
static void names_come_from_the_dynamic_segment_without_section_headers(void **state)
{
	_cleanup_close_ int fd = open_case("b07_dynsym_only.so");
	uint8_t bytes[65536];
	ssize_t n = read(fd, bytes, sizeof bytes);
	assert_true(n > 64 && n < (ssize_t)sizeof bytes);
	memset(bytes + 40, 0, 8); /* e_shoff */
	memset(bytes + 58, 0, 6);
	char path[512];
	snprintf(path, sizeof path, "%s/b18_library.so", cases);
	_cleanup_fclose_ FILE *out = fopen(path, "w");
	assert_int_equal(fwrite(bytes, 1, (size_t)n, out), n);
	fflush(out);
	uint64_t address = address_of("b06_symbols.so", "inner");
	struct mw_symbols *s = symbols_of_case("b18_library.so");
	assert_names("b18_library.so", s, address, address + 2, "inner");
	assert_names("b18_library.so", s, address + 3, address + 5, "outer");
	mw_symbols_close(s);
}

/* ---- the corpus ------------------------------------------------------------------------------ */

static int n_files, n_names, n_ids;

static void check_identity(const char *path, int fd)
{
	struct elf_identity identity;
	struct mw_error e = {};
	if (extract_identity(fd, &identity, &e) < 0)
		fail_msg("%s: %s", path, e.msg);
	if (identity.id.kind != MW_FILE_ID_GNU)
		return;
	char text[MW_FILE_ID_TEXT_MAX], shown[200];
	mw_file_id_to_text(&identity.id, text, sizeof text);
	readelf_build_id(path, shown);
	if (!shown[0])
		return;
	if (strcmp(text + strlen("gnu:"), shown) != 0)
		fail_msg("%s: %s instead of %s", path, text, shown);
	n_ids++;
}

/* The other way round: what readelf finds, we find. */
static void check_nothing_is_missed(const char *path, int fd)
{
	struct elf_identity identity;
	char shown[200];
	readelf_build_id(path, shown);
	assert_int_equal(extract_identity(fd, &identity, NULL), 0);
	if (strlen(shown) >= 2 && strlen(shown) <= 128 && strspn(shown, "0") != strlen(shown) &&
	    identity.id.kind != MW_FILE_ID_GNU)
		fail_msg("%s: the build ID %s is not found", path, shown);
}

static int check_file(const char *path, const struct stat *st, int type)
{
	if (type != FTW_F || st->st_size == 0)
		return 0;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n_files++;
	check_identity(path, fd);
	check_nothing_is_missed(path, fd);
	struct mw_symbols *symbols = NULL;
	struct mw_error e = {};
	int r = mw_symbols_open(fd, &symbols, &e);
	if (r < 0 && (e.code != r || strlen(e.msg) < 5))
		fail_msg("%s: no reason for %d", path, r);
	n_names += r == 0;
	mw_symbols_close(symbols);
	return 0;
}

static void every_file_of_the_corpus_opens_or_says_why_not(void **state)
{
	char path[512];
	snprintf(path, sizeof path, "%s/corpus/elf", shared);
	if (ftw(path, check_file, 16) < 0)
		skip();
	print_message("%d files, %d with names, %d with build IDs\n", n_files, n_names, n_ids);
	assert_true(n_files > 50 && n_names > 30 && n_ids > 30);
}

static void corpus_addresses_have_the_names_that_their_origin_says(void **state)
{
	static const struct {
		const char *file;
		uint64_t address;
		const char *name;
	} expected[] = {
		/* samply's tests (INDEX.md, files 49 to 51), which count from the image's base */
		{"samply/other/issue-776-nonpie-aarch64", 0x8580, "func_74"},
		{"samply/other/example-linux", 0x401156, "main"},
		{"samply/other/example-linux", 0x401158, NULL},
		{"samply/other/example-linux", 0x401160, "f"},
		{"samply/other/example-linux-fallback", 0x6, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		char path[1024];
		snprintf(path, sizeof path, "%s/corpus/elf/%s", shared, expected[i].file);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			skip();
		struct mw_symbols *s = NULL;
		assert_int_equal(mw_symbols_open(fd, &s, NULL), 0);
		assert_names(expected[i].file, s, expected[i].address, expected[i].address,
			     expected[i].name);
		mw_symbols_close(s);
	}
}

static int build_cases(void **state)
{
	char command[1200];
	if (!mkdtemp(cases))
		return -1;
	snprintf(command, sizeof command, "'%s/cases/build-elf.sh' %s >/dev/null 2>&1", shared, cases);
	/* Its status is that of its last line; what is missing is told by the test that needs it. */
	return system(command) == -1 ? -1 : 0;
}

static int remove_cases(void **state)
{
	char command[80];
	snprintf(command, sizeof command, "rm -rf %s", cases);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_symbols_of_b06_are_chosen_as_demanded),
		cmocka_unit_test(build_ids_of_every_length_are_exact),
		cmocka_unit_test(hot_functions_are_found_in_every_layout),
		cmocka_unit_test(mini_debug_information_names_the_hot_functions),
		cmocka_unit_test(a_truncated_file_gives_its_identity_and_a_clear_error),
		cmocka_unit_test(names_come_from_the_dynamic_segment_without_section_headers),
		cmocka_unit_test(every_file_of_the_corpus_opens_or_says_why_not),
		cmocka_unit_test(corpus_addresses_have_the_names_that_their_origin_says),
	};
	shared = shared_directory();
	if (!shared) {
		puts("skipped: no ../shared with cases and corpus (or set MAPWRIGHT_SHARED)");
		return TEST_SKIPPED;
	}
	int r = cmocka_run_group_tests(tests, build_cases, remove_cases);
	free(shared);
	return r;
}
