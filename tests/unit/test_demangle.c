/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buffer.h"
#include "lib/test.h"

#include <mapwright/mapwright.h>

#include <string.h>
#include <time.h>

static void assert_demangled(const char *name, int outcome, const char *expected)
{
	char text[1024];
	assert_int_equal(mw_demangle(name, text, sizeof text), outcome);
	assert_string_equal(text, expected);
}

static void cxx_and_rust_names_are_demangled(void **state)
{
	assert_demangled("_ZN3foo3barEi", 1, "foo::bar(int)");
	assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi", 1,
			 "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_demangled("_ZN3foo3barEv.cold", 1, "foo::bar() [clone .cold]");
	assert_demangled("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE", 1,
			 "core::fmt::Formatter::pad");
	assert_demangled("_RNvNtCs1234_7mycrate3foo3bar", 1, "mycrate::foo::bar");
}

static void d_names_are_demangled(void **state)
{
	assert_demangled("_Dmain", 1, "D main");
	assert_demangled("_D3std5stdio7writelnFAyaZv", 1, "std.stdio.writeln(immutable(char)[])");
	assert_demangled("_D3foo3Bar6opCallMxFNaNbNiNfZi", 1, "foo.Bar.opCall() const");
	assert_demangled("_D4core9exception__T7onErrorTiZQlFiZv", 1,
			 "core.exception.onError!(int).onError(int)");
	assert_demangled("_D3std9algorithm9iteration__T3mapS_D3foo3barFiZiZ3mapMFZv", 1,
			 "std.algorithm.iteration.map!(foo.bar(int)).map()");
}

/* Each of them keeps the demangler busy for longer than anybody waits, or takes all memory. */
static void d_names_that_explode_are_returned_as_they_are(void **state)
{
	static const struct {
		const char *start, *part, *end;
	} bombs[] = {
		{"_D1aF", "FC1a", ""},		 /* functions on trial */
		{"_D1aF", "FC1aF", "Z"},
		{"_D3foo__T1aS", "11aS12S", ""}, /* numbers that can be cut */
		{"_D3foo__T1aS", "123__T1aS_D12aFS", ""},
		{"_D3foo3barF", "AAAA", "Zv"},	 /* only deep */
		{"_D3foo3barF", "HQbQbQb", "Zv"},
	};
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (size_t i = 0; i < ARRAY_SIZE(bombs); i++) {
		for (int n = 10; n <= 5000; n += n / 3) {
			struct buffer name = {};
			char text[64];
			buffer_printf(&name, "%s", bombs[i].start);
			for (int k = 0; k < n; k++)
				buffer_printf(&name, "%s", bombs[i].part);
			buffer_bytes(&name, bombs[i].end, strlen(bombs[i].end) + 1);
			mw_demangle((const char *)name.data, text, sizeof text);
			buffer_deinit(&name);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - start.tv_sec <= 5);
}

/* Types of two types each, all by back references: aQb -> each twice the one before. */
static void d_back_references_do_not_explode(void **state)
{
	char name[1024] = "_D3foo3barFHii", text[64];
	for (int i = 0; i < 100; i++)
		strcat(name, i % 2 ? "HQdQf" : "HQeQg");
	strcat(name, "Zv");
	mw_demangle(name, text, sizeof text);
}

static void other_names_stay_as_they_are(void **state)
{
	static const char *const names[] = {"", "main", "_", "_Z", "_ZZZZ", "_R", "_RXX", "_start",
					    "i", "f", "_D", "_Dfoo", "_D0foo", "_D9foo", "foo__Fi", "_ZN3foo3bar",
					    "Java_java_lang_Object", "work.cold", "__Zfoo"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_demangled(names[i], 0, names[i]);
}

static void the_text_is_cut_to_its_buffer(void **state)
{
	for (size_t size = 0; size < 20; size++) {
		char text[20], plain[20];
		memset(text, '#', sizeof text);
		memset(plain, '#', sizeof plain);
		assert_int_equal(mw_demangle("_ZN3foo3barEi", text, size), 1);
		assert_int_equal(mw_demangle("foo::bar(int)", plain, size), 0);
		size_t n = size ? MIN(size - 1, 13) : 0;
		assert_memory_equal(text, "foo::bar(int)", n);
		assert_memory_equal(text, plain, sizeof text);
		if (size)
			assert_int_equal(text[n], '\0');
		assert_int_equal(text[size < 20 ? MAX(size, n + 1) : 19], '#');
	}
}

/* A number as substitutions and back references have it: 0 is nothing, n is n - 1 in the base. */
static void put_reference(struct buffer *out, size_t n, size_t base, const char *digits)
{
	if (n > base)
		buffer_u8(out, (uint8_t)digits[(n - 1) / base]);
	if (n > 0)
		buffer_u8(out, (uint8_t)digits[(n - 1) % base]);
	buffer_u8(out, '_');
}

/* void f(A<int, int>, B<A, A>, B<B, B>, ...): each type has the one before it twice. */
static void explosive_cxx(struct buffer *out, size_t levels)
{
	buffer_printf(out, "_Z1f1AIiiE");
	for (size_t level = 1; level <= levels; level++) {
		buffer_printf(out, "1BI");
		for (int i = 0; i < 2; i++) {
			buffer_u8(out, 'S');
			/* Each type so far made two substitutions: its template and itself. */
			put_reference(out, 2 * level - 1, 36, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		}
		buffer_printf(out, "E");
	}
	buffer_u8(out, 0);
}

/* a::f::<(i8, i8), (tuple, tuple), ...> */
static void explosive_rust(struct buffer *out, size_t levels)
{
	buffer_printf(out, "_RINvC1a1f");
	size_t before = out->n - 2;
	buffer_printf(out, "TaaE");
	for (size_t level = 1; level <= levels; level++) {
		size_t here = out->n - 2;
		buffer_printf(out, "T");
		for (int i = 0; i < 2; i++) {
			buffer_u8(out, 'B');
			put_reference(out, before, 62,
				      "0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		}
		buffer_printf(out, "E");
		before = here;
	}
	buffer_printf(out, "E");
	buffer_u8(out, 0);
}

/* Forty levels would be a text of terabytes; three show that the names are made right. */
static void a_name_that_explodes_is_returned_as_it_is(void **state)
{
	struct buffer names[4] = {};
	explosive_cxx(&names[0], 2);
	explosive_rust(&names[1], 2);
	assert_demangled((char *)names[0].data, 1,
			 "f(A<int, int>, B<A<int, int>, A<int, int> >, "
			 "B<B<A<int, int>, A<int, int> >, B<A<int, int>, A<int, int> > >)");
	assert_demangled((char *)names[1].data, 1,
			 "a::f::<(i8, i8), ((i8, i8), (i8, i8)), "
			 "(((i8, i8), (i8, i8)), ((i8, i8), (i8, i8)))>");
	explosive_cxx(&names[2], 40);
	explosive_rust(&names[3], 40);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 2; i < 4; i++)
		assert_demangled((char *)names[i].data, 0, (char *)names[i].data);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - start.tv_sec <= 2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		buffer_deinit(&names[i]);
}

static void deep_and_long_names_do_not_crash(void **state)
{
	static const char *const parts[] = {"P", "K", "N", "I", "S_", "F", "L", "X", "cv", "pp", "T_",
					    "Z", "1aI", "NvC", "INvC1a", "TR", "QQ", "dn"};
	static const char *const starts[] = {"_Z", "_ZN", "_Z1f", "_R", "_RNvC1a", "_RINvC1a"};
	for (size_t i = 0; i < ARRAY_SIZE(starts) * ARRAY_SIZE(parts); i++) {
		for (size_t length = 1000; length <= 100000; length *= 10) {
			struct buffer name = {};
			buffer_printf(&name, "%s", starts[i % ARRAY_SIZE(starts)]);
			const char *part = parts[i / ARRAY_SIZE(starts)];
			while (name.n < length)
				buffer_bytes(&name, part, strlen(part));
			buffer_u8(&name, 0);
			char text[128];
			mw_demangle((const char *)name.data, text, sizeof text);
			assert_true(strlen(text) < sizeof text);
			buffer_deinit(&name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_and_rust_names_are_demangled),
		cmocka_unit_test(d_names_are_demangled),
		cmocka_unit_test(d_names_that_explode_are_returned_as_they_are),
		cmocka_unit_test(d_back_references_do_not_explode),
		cmocka_unit_test(other_names_stay_as_they_are),
		cmocka_unit_test(the_text_is_cut_to_its_buffer),
		cmocka_unit_test(a_name_that_explodes_is_returned_as_it_is),
		cmocka_unit_test(deep_and_long_names_do_not_crash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
