/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buffer.h"
#include "base/io.h"
#include "lib/elf_builder.h"
#include "lib/shared.h"
#include "lib/test.h"
#include "profile/naming.h"
#include "store/store.h"
#include "symbols/kernel_image.h"
#include "symbols/symbolizer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char sample[] = "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000000 t local_alias\n"
			     "ffffffff81000000 T startup_64\n"
			     "ffffffff81000100 t helper\n"
			     "ffffffff81000140 W weak_function\n"
			     "ffffffff81000200 T last_function\n"
			     "ffffffff81000280 T _etext\n"
			     "ffffffff81800000 D some_data\n"
			     "ffffffff82000000 T _sinittext\n"
			     "ffffffff82000000 T early_function\n"
			     "ffffffff82000ff0 T last_early_function\n"
			     "ffffffff82001000 B _end\n"
			     "ffffffffc0000000 t module_init\t[first_module]\n"
			     "ffffffffc0000040 t module_last\t[first_module]\n"
			     "ffffffffc0000050 d module_data\t[first_module]\n"
			     "ffffffffc0002000 t other_function\t[other_module]\n"
			     "ffffffffc0003000 t bpf_prog_6deef7357e7b4530_sd_fw_egress\t[bpf]\n"
			     "ffffffffc0003800 t bpf_prog_1122334455667788\t[bpf]\n"
			     "ffffffffc0500000 t ftrace_trampoline\t[__builtin__ftrace]\n";

static struct kernel_symbols *parse(const char *text)
{
	struct kernel_symbols *symbols = NULL;
	struct mw_error e = {};
	if (kernel_symbols_parse(text, strlen(text), &symbols, &e) < 0)
		fail_msg("%s", e.msg);
	return symbols;
}

static void assert_function(const struct kernel_symbols *symbols, uint64_t address,
			    const char *name, const char *module)
{
	struct kernel_symbol symbol = {};
	int r = kernel_symbols_find(symbols, address, &symbol);
	if (!name) {
		if (r)
			fail_msg("%#llx is %s", (unsigned long long)address, symbol.name);
		return;
	}
	assert_int_equal(r, 1);
	assert_string_equal(symbol.name, name);
	assert_true(address >= symbol.start && address < symbol.end);
	if (module)
		assert_string_equal(symbol.module, module);
	else
		assert_null(symbol.module);
}

static void functions_reach_to_the_next_symbol(void **state)
{
	struct kernel_symbols *s = parse(sample);
	assert_function(s, 0xffffffff810000ff, "startup_64", NULL);
	assert_function(s, 0xffffffff81000100, "helper", NULL);
	assert_function(s, 0xffffffff8100013f, "helper", NULL);
	assert_function(s, 0xffffffff81000140, "weak_function", NULL);
	assert_function(s, 0xffffffffc000003f, "module_init", "first_module");
	assert_function(s, 0xffffffffc0003010, "bpf_prog_6deef7357e7b4530_sd_fw_egress", "bpf");
	kernel_symbols_close(s);
}

static void nothing_behind_the_end_of_a_text_has_a_name(void **state)
{
	struct kernel_symbols *s = parse(sample);
	assert_function(s, 0, NULL, NULL);
	assert_function(s, 0xffffffff80ffffff, NULL, NULL);
	assert_function(s, 0xffffffff8100027f, "last_function", NULL);
	assert_function(s, 0xffffffff81000280, NULL, NULL); /* _etext */
	assert_function(s, 0xffffffff81800000, NULL, NULL); /* data */
	assert_function(s, 0xffffffff82000000, "early_function", NULL);
	assert_function(s, 0xffffffff82000fff, "last_early_function", NULL);
	assert_function(s, 0xffffffff82001000, NULL, NULL);
	assert_function(s, 0xffffffffbfffffff, NULL, NULL); /* between kernel and modules */
	assert_function(s, 0xffffffffc000004f, "module_last", "first_module");
	assert_function(s, 0xffffffffc0000050, NULL, NULL); /* the module's data */
	assert_function(s, 0xffffffffc0002fff, "other_function", "other_module");
	assert_function(s, 0xffffffffc0003fff, "bpf_prog_1122334455667788", "bpf");
	assert_function(s, 0xffffffffc0004000, NULL, NULL); /* bpf memory with unnamed programs */
	assert_function(s, 0xffffffffc0500fff, "ftrace_trampoline", "__builtin__ftrace");
	assert_function(s, 0xffffffffc0501000, NULL, NULL);
	assert_function(s, UINT64_MAX, NULL, NULL);
	kernel_symbols_close(s);
}

static void the_order_of_the_lines_does_not_matter(void **state)
{
	struct kernel_symbols *s = parse("c0002000 t c\t[m]\n"
					 "c0000000 T a\n"
					 "c0001000 t b\n"
					 "c0003000 D data\n"
					 "c0002800 t d\t[m]\n");
	assert_int_equal(kernel_symbols_count(s), 4);
	assert_function(s, 0xc0000fff, "a", NULL);
	assert_function(s, 0xc0001001, "b", NULL);
	assert_function(s, 0xc0002001, "c", "m");
	kernel_symbols_close(s);
}

static void a_kernel_that_hides_its_addresses_is_refused(void **state)
{
	struct kernel_symbols *symbols = NULL;
	struct mw_error e = {};
	const char *text = "0000000000000000 T _stext\n0000000000000000 t helper\t[module]\n";
	assert_int_equal(kernel_symbols_parse(text, strlen(text), &symbols, &e), -EPERM);
	assert_non_null(strstr(e.msg, "kptr_restrict"));
	assert_null(symbols);
}

static void damaged_lines_are_passed_over(void **state)
{
	struct kernel_symbols *s = parse("\n\n  \nzz T bad\nffff\nffff T\nffff T \n"
					 "11111111111111111 T too_long\n"
					 "ffff TT twice\n"
					 "1000 T good\n"
					 "2000 T [bracket\t[\n"
					 "3000 t no_newline");
	assert_int_equal(kernel_symbols_count(s), 3);
	assert_function(s, 0x1000, "good", NULL);
	assert_function(s, 0x2000, "[bracket", NULL);
	assert_function(s, 0x3000, "no_newline", NULL);
	kernel_symbols_close(s);

	struct kernel_symbols *none = NULL;
	struct mw_error e;
	assert_int_equal(kernel_symbols_parse("", 0, &none, &e), -ENODATA);
	assert_int_equal(kernel_symbols_parse("\0\0\0", 3, &none, &e), -ENODATA);
}

static void the_last_address_there_is_can_have_a_name(void **state)
{
	struct kernel_symbols *s = parse("ffffffffffffff00 T last\n");
	assert_function(s, 0xfffffffffffffff0, "last", NULL);
	kernel_symbols_close(s);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int tree(char path[32])
{
	strcpy(path, "/tmp/mapwright-XXXXXX");
	assert_non_null(mkdtemp(path));
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	assert_int_equal(mkdirat(root, "proc", 0755) | mkdirat(root, "sys", 0755) |
				 mkdirat(root, "sys/kernel", 0755),
			 0);
	return root;
}

static void put_file(int root, const char *path, const void *data, size_t n)
{
	_cleanup_close_ int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, data, n), 0);
}

static void remove_tree(const char *path)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", path);
	assert_int_equal(system(command), 0);
}

static void everything_is_read_below_a_root_that_may_be_a_dump(void **state)
{
	char path[32];
	_cleanup_close_ int root = tree(path);
	struct kernel_symbols *symbols = NULL;
	struct mw_file_id id;
	struct mw_error e;
	assert_int_equal(kernel_symbols_open(root, &symbols, &e), -ENOENT);
	assert_int_equal(kernel_build_id(root, &id, &e), -ENOENT);

	put_file(root, "proc/kallsyms", sample, strlen(sample));
	struct buffer notes = {};
	const uint32_t header[] = {4, 1, 0x100, 4, 4, 3};
	buffer_bytes(&notes, header, 12);
	buffer_bytes(&notes, "Xen\0\1\0\0\0", 8);
	buffer_bytes(&notes, header + 3, 12);
	buffer_bytes(&notes, "GNU\0\xde\xad\xbe\xef", 8);
	put_file(root, "sys/kernel/notes", notes.data, notes.n);
	buffer_deinit(&notes);
	assert_int_equal(kernel_symbols_open(root, &symbols, &e), 0);
	assert_function(symbols, 0xffffffff81000100, "helper", NULL);
	kernel_symbols_close(symbols);
	assert_int_equal(kernel_build_id(root, &id, &e), 0);
	assert_int_equal(id.size, 4);
	assert_memory_equal(id.bytes, "\xde\xad\xbe\xef", 4);
	remove_tree(path);
}

static void another_machines_kallsyms_with_modules_is_read(void **state)
{
	_cleanup_free_ char *shared = shared_directory();
	if (!shared)
		skip();
	char command[4200];
	snprintf(command, sizeof command, "xz -dc '%s/corpus/misc/blazesym/kallsyms.xz' 2>/dev/null",
		 shared);
	FILE *pipe = popen(command, "r");
	struct buffer text = {};
	for (size_t n = 1; n;) {
		uint8_t part[65536];
		n = fread(part, 1, sizeof part, pipe);
		buffer_bytes(&text, part, n);
	}
	pclose(pipe);
	if (!text.n) {
		buffer_deinit(&text);
		skip();
	}
	struct kernel_symbols *s = NULL;
	assert_int_equal(kernel_symbols_parse((const char *)text.data, text.n, &s, NULL), 0);
	assert_function(s, 0xbf00ae84, "scanarg", "binfmt_misc");
	assert_function(s, 0xc06578e4, NULL, NULL); /* _etext */
	kernel_symbols_close(s);
	buffer_deinit(&text);
}

/* As many lines as this kernel has; the time is far above what it takes, for slow machines. */
static void a_hundred_and_twenty_thousand_lines_take_little_time(void **state)
{
	struct buffer text = {};
	for (uint64_t i = 0; i < 122000; i++)
		buffer_printf(&text, "%016llx %c some_function_name_%llu\n",
			      0xffffffff81000000ULL + i * 64, i % 3 ? 't' : 'T',
			      (unsigned long long)i);
	struct timespec start, end;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	struct kernel_symbols *s = NULL;
	assert_int_equal(kernel_symbols_parse((const char *)text.data, text.n, &s, NULL), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(kernel_symbols_count(s), 122000);
	assert_function(s, 0xffffffff81000000ULL + 64 * 5000 + 63, "some_function_name_5000", NULL);
	double ms = (double)(end.tv_sec - start.tv_sec) * 1e3 +
		    (double)(end.tv_nsec - start.tv_nsec) / 1e6;
	if (ms > 500)
		fail_msg("%.0f ms", ms);
	kernel_symbols_close(s);
	buffer_deinit(&text);
}

/* ---- the kernel's own file ------------------------------------------------------------------- */

/* The text of the sample is at ffffffff81000000; a file that was linked for 1000000, with sizes. */
static const struct in_image {
	uint64_t start, end;
	const char *name;
} image[] = {{0x1000000, 0x1000080, "startup_64"}, {0x1000100, 0x1000120, "helper"},
	     {0x1000140, 0x1000180, "weak_function"}, {0x1000200, 0x1000208, "last_function"}};

static uint64_t ask_image(const void *context, uint64_t address, const char **name)
{
	const struct in_image *all = context;
	for (size_t i = 0; i < ARRAY_SIZE(image); i++) {
		if (all[i].start == address) {
			*name = all[i].name;
			return all[i].end;
		}
	}
	return 0;
}

static void functions_are_as_long_as_the_kernels_file_says(void **state)
{
	struct kernel_symbols *symbols = parse(sample);
	assert_int_equal(kernel_symbols_text(symbols), 0xffffffff81000000);
	assert_function(symbols, 0xffffffff8100013f, "helper", NULL);
	assert_int_equal(kernel_symbols_refine(symbols, 0x1000000, ask_image, image), 4);
	assert_function(symbols, 0xffffffff8100011f, "helper", NULL);
	assert_function(symbols, 0xffffffff81000120, NULL, NULL);
	assert_function(symbols, 0xffffffff81000207, "last_function", NULL);
	assert_function(symbols, 0xffffffff81000208, NULL, NULL);
	assert_function(symbols, 0xffffffffc0000000, "module_init", "first_module");
	kernel_symbols_close(symbols);
}

static void a_file_with_other_names_is_not_this_kernels(void **state)
{
	static const struct in_image other[] = {{0x1000000, 0x1000001, "a"}, {0x1000100, 0x1000101, "b"},
						{0x1000140, 0x1000141, "c"}, {0x1000200, 0x1000201, "d"}};
	struct kernel_symbols *symbols = parse(sample);
	assert_int_equal(kernel_symbols_refine(symbols, 0x1000000, ask_image, other), -ESTALE);
	assert_function(symbols, 0xffffffff8100013f, "helper", NULL);
	kernel_symbols_close(symbols);
}

static void addresses_of_another_kernel_mean_nothing_here(void **state)
{
	struct kernel_identity here = {.id = {.kind = MW_FILE_ID_GNU, .size = 1, .bytes = {7}},
				       .text = 0xffffffff81000000, .boot = "one"};
	struct kernel_identity there = here;
	uint64_t address;
	assert_int_equal(kernel_translate(&there, &here, 0xffffffffc0000000, &address), 1);
	assert_int_equal(address, 0xffffffffc0000000);
	/* Another start of the same kernel: elsewhere, and its modules anywhere. */
	strcpy(there.boot, "two");
	there.text = 0xffffffff92000000;
	assert_int_equal(kernel_translate(&there, &here, 0xffffffff92000123, &address), 1);
	assert_int_equal(address, 0xffffffff81000123);
	assert_int_equal(kernel_translate(&there, &here, 0xffffffffc0000000, &address), 0);
	assert_int_equal(kernel_translate(&there, &here, 0xffffffff91ffffff, &address), 0);
	there.text = 0;
	assert_int_equal(kernel_translate(&there, &here, 0xffffffff92000123, &address), 0);
	/* Another kernel. */
	there = here;
	there.id.bytes[0] = 8;
	strcpy(there.boot, "three");
	assert_int_equal(kernel_translate(&there, &here, 0xffffffff81000123, &address), 0);
	there.boot[0] = here.boot[0] = '\0';
	there.id.kind = here.id.kind = MW_FILE_ID_NONE;
	assert_int_equal(kernel_translate(&there, &here, 0xffffffff81000123, &address), 0);
}

static void a_file_of_that_build_id_is_taken_into_the_store(void **state)
{
	char path[32];
	_cleanup_close_ int root = tree(path);
	struct store *store;
	struct proc proc;
	struct mw_error e;
	assert_int_equal(proc_init(&proc, "/proc", &e), 0);
	assert_int_equal(store_open_temporary(&(struct store_options){}, &store, &e), 0);
	struct elf_builder b = elf_builder_init();
	struct buffer notes = {}, file = {};
	b.type = ET_EXEC;
	uint32_t text = elf_builder_text(&b, 0x1000000, 0x1000);
	for (size_t i = 0; i < ARRAY_SIZE(image); i++)
		elf_builder_symbol(&b, (struct builder_symbol){image[i].name, image[i].start,
							       image[i].end - image[i].start, STT_FUNC,
							       STB_GLOBAL, (uint16_t)text});
	elf_builder_symbols(&b, ".symtab", SHT_SYMTAB);
	elf_builder_note(&b, &notes, "GNU", 4, 3, "\xde\xad\xbe\xef", 4, 4);
	elf_builder_notes(&b, ".note.gnu.build-id", &notes, 4);
	elf_builder_finish(&b, &file);
	assert_int_equal(mkdirat(root, "boot", 0755), 0);
	put_file(root, "boot/vmlinux-6.18.1", file.data, file.n);
	buffer_deinit(&file);
	buffer_deinit(&notes);
	elf_builder_deinit(&b);

	struct mw_file_id id = {.kind = MW_FILE_ID_GNU, .size = 4, .bytes = {0xde, 0xad, 0xbe, 0xef}};
	struct kernel_image found = {};
	id.bytes[3] = 0; /* another kernel's */
	assert_int_equal(kernel_image_open(store, &proc, NULL, root, "6.18.1", &id, false, &found), -ENOENT);
	id.bytes[3] = 0xef;
	assert_int_equal(kernel_image_open(store, &proc, NULL, root, "6.1.0", &id, false, &found), -ENOENT);
	assert_int_equal(kernel_image_open(store, &proc, NULL, root, "6.18.1", &id, false, &found), 0);
	struct mw_location location;
	assert_int_equal(kernel_image_name(&found, 0xffffffff92000000, 0xffffffff92000110, &location), 1);
	assert_string_equal(location.name, "helper");
	assert_int_equal(kernel_image_name(&found, 0xffffffff92000000, 0xffffffff92000120, &location), 0);
	struct kernel_symbols *symbols = parse(sample);
	assert_int_equal(kernel_image_refine(&found, symbols), 4);
	assert_function(symbols, 0xffffffff81000120, NULL, NULL);
	kernel_symbols_close(symbols);
	kernel_image_deinit(&found);
	store_close(store);
	proc_deinit(&proc);
	remove_tree(path);
}

static void names_of_programs_that_were_replaced_are_taken_back(void **state)
{
	static const char later_text[] = "ffffffff81000000 T _text\nffffffff81000100 t other\n"
					 "ffffffffc0000000 t module_init\t[first_module]\n"
					 "ffffffffc0000040 t module_last\t[first_module]\n"
					 "ffffffffc0002000 t another_function\t[another_module]\n";
	const uint64_t addresses[] = {0xffffffff81000100, 0xffffffffc0000010, 0xffffffffc0002000,
				      0xffffffffc0003800};
	struct kernel_symbols *symbols = parse(sample), *later = parse(later_text);
	struct profile *p;
	struct symbolizer *symbolizer;
	uint32_t event;
	assert_int_equal(profile_new(NULL, &p), 0);
	assert_int_equal(profile_add_event(p, "cpu-clock", "ns", 0, 99, &event), 0);
	assert_int_equal(symbolizer_new(NULL, symbols, &symbolizer), 0);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct frame frame = {.address = addresses[i], .kind = FRAME_KERNEL};
		struct sample s = {.frames = &frame, .n_frames = 1};
		assert_int_equal(profile_add_sample(p, &s), 1);
	}
	struct naming naming = {.profile = p, .symbolizer = symbolizer};
	assert_int_equal(naming_finish(&naming), 0);
	assert_int_equal(naming_check_kernel(&naming, later), 1);
	assert_int_equal(profile_frame_reason(p, &p->frames.items[2]), MW_REASON_RACED);
	const char *const names[] = {"helper", "module_init", "", "bpf_prog_1122334455667788"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(profile_string(p, p->frames.items[i].name.name), names[i]);
	naming_deinit(&naming);
	symbolizer_free(symbolizer);
	profile_free(p);
	kernel_symbols_close(symbols);
	kernel_symbols_close(later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_reach_to_the_next_symbol),
		cmocka_unit_test(nothing_behind_the_end_of_a_text_has_a_name),
		cmocka_unit_test(the_order_of_the_lines_does_not_matter),
		cmocka_unit_test(a_kernel_that_hides_its_addresses_is_refused),
		cmocka_unit_test(damaged_lines_are_passed_over),
		cmocka_unit_test(the_last_address_there_is_can_have_a_name),
		cmocka_unit_test(everything_is_read_below_a_root_that_may_be_a_dump),
		cmocka_unit_test(another_machines_kallsyms_with_modules_is_read),
		cmocka_unit_test(a_hundred_and_twenty_thousand_lines_take_little_time),
		cmocka_unit_test(functions_are_as_long_as_the_kernels_file_says),
		cmocka_unit_test(a_file_with_other_names_is_not_this_kernels),
		cmocka_unit_test(addresses_of_another_kernel_mean_nothing_here),
		cmocka_unit_test(a_file_of_that_build_id_is_taken_into_the_store),
		cmocka_unit_test(names_of_programs_that_were_replaced_are_taken_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
