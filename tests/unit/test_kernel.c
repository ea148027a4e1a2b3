/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buffer.h"
#include "base/io.h"
#include "lib/shared.h"
#include "lib/test.h"
#include "symbols/kernel.h"

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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
