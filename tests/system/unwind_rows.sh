#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whether the rows of unwinding tables say what the files say: each against what elfutils makes of the same
# .eh_frame at the same address (tests/unwind/unwind_rows.c). `make check-long` asks all files of the machine.
. "$(dirname "$0")/lib.sh"

rows=$(dirname "$mapwright")/../../tests/unwind/unwind_rows

# same_rows LEAST FILE...: nothing differs, and at least so many rows were compared.
same_rows() {
	local least=$1 line
	shift
	[ -x "$rows" ] || skip "built without libdw"
	"$rows" "$@" | tee rows.log || return
	line=$(tail -n 1 rows.log)
	[[ $line =~ ,\ ([0-9]+)\ same ]] && [ "${BASH_REMATCH[1]}" -ge "$least" ] ||
		fail "fewer than $least rows: $line"
}

library() { ldconfig -p | awk -v name="$1" '$1 == name && !seen++ { print $NF }'; }

it_agrees_on_system_libraries() {
	same_rows 20000 "$(library libc.so.6)" "$(library libm.so.6)" "$(library ld-linux-x86-64.so.2)" \
		"$(library libstdc++.so.6)" "$(library libgcc_s.so.1)"
}
it_agrees_on_hand_written_assembly() {
	local file
	file=$(library libcrypto.so.3)
	[ -n "$file" ] || skip "no libcrypto"
	same_rows 10000 "$file"
}
it_agrees_on_programs() { same_rows 10000 "$(command -v bash)" "$(command -v perl)" "$mapwright"; }

# What compilers make of everything that moves a stack.
write_source() {
	cat >shapes.cc <<-'END'
		#include <alloca.h>
		#include <stdarg.h>
		#include <string.h>
		extern "C" void sink(void *);
		struct guard { int n; ~guard() { sink(this); } };
		int recursion(int n) { return n ? recursion(n - 1) * 3 + n : 1; }
		int variable(int n) { char a[n]; sink(a); return a[n / 2]; }
		int claimed(int n) { char *a = (char *)alloca(n); sink(a); guard g{n}; sink(a); return *a; }
		int aligned(int n) { alignas(128) char a[256]; memset(a, n, sizeof a); sink(a); char *b = (char *)alloca(n); sink(b); return a[n & 255]; }
		int arguments(const char *f, ...) { va_list v; va_start(v, f); int n = va_arg(v, int); va_end(v); return n; }
		int thrown(int n) { guard g{n}; try { sink(&g); if (n > 3) throw n; } catch (int c) { sink(&c); return c; } return 0; }
		double many(double a, double b, int *p) { double s = 0; for (int i = 0; i < 99; i++) { sink(p); s += a * p[i] - b; } return s; }
		int large(int n) { char a[1 << 20]; sink(a); return a[n]; }
		extern "C" int main(int c, char **v) { int n[99] = {}; return recursion(c) + variable(c) + claimed(c) + aligned(c) + arguments("", c) + thrown(c) + (int)many(c, c, n) + large(c); }
		extern "C" __attribute__((noinline)) void sink(void *p) { asm volatile("" : : "r"(p) : "memory"); }
	END
}
build_shapes() { # COMPILER FLAG...
	write_source
	local options n=0
	for options in -O0 -O1 -O2 -O3 -Os '-O2 -fno-omit-frame-pointer' '-O2 -static' '-O2 -static-pie' \
		'-O2 -Wl,-z,separate-code' '-O2 -g -fno-asynchronous-unwind-tables' "${@:2}"; do
		n=$((n + 1))
		# Not every compiler can do each of them here.
		$1 $options -w -o "shape.$n" shapes.cc 2>>build.log || rm -f "shape.$n"
	done
	[ "$(ls shape.* | wc -l)" -ge 5 ] || { cat build.log; fail "building failed"; }
}
it_agrees_on_what_gcc_makes() { need g++; build_shapes g++ '-O2 -mavx2 -ftree-vectorize' '-O2 -fsplit-stack' '-O2 -fcf-protection=full -Wl,-z,ibtplt'; same_rows 1000 shape.*; }
it_agrees_on_what_clang_makes() { need clang++; build_shapes clang++ '-O2 -fuse-ld=lld' '-O2 -fuse-ld=lld -Wl,--no-rosegment'; same_rows 1000 shape.*; }
it_agrees_on_what_linkers_make() {
	need g++
	local linker
	write_source
	for linker in bfd gold lld mold; do
		command -v "ld.$linker" >/dev/null || continue
		g++ -O2 -w -fuse-ld=$linker -o "linked.$linker" shapes.cc
		g++ -O2 -w -fuse-ld=$linker -no-pie -Wl,-z,now -o "linked.$linker.now" shapes.cc
	done
	same_rows 100 linked.*
}
it_agrees_on_programs_of_aarch64() {
	need aarch64-linux-gnu-gcc
	write_source
	grep -v 'thrown\|guard\|include <alloca' shapes.cc | sed 's/alignas(128) char/char __attribute__((aligned(128)))/; s/extern "C"//' |
		sed '1i #include <alloca.h>\nvoid sink(void *);' | grep -v '^int main\|^ int main' >shapes.c
	echo 'int main(int c, char **v) { int n[99] = {0}; return recursion(c) + variable(c) + aligned(c) + arguments("", c) + (int)many(c, c, n) + large(c); }' >>shapes.c
	local options n=0
	for options in -O0 -O2 -Os '-O2 -mbranch-protection=standard' '-O2 -fomit-frame-pointer' '-O2 -static'; do
		n=$((n + 1))
		aarch64-linux-gnu-gcc $options -w -o "arm.$n" shapes.c || fail "$options"
	done
	same_rows 1000 arm.*
}
it_agrees_on_files_of_the_corpus() {
	local directory
	for directory in "${MW_SHARED:-}" "$tests/../../../shared" /work/shared; do
		[ -d "$directory/corpus/elf" ] && break
	done
	[ -d "$directory/corpus/elf" ] || skip "no shared/corpus here; set MW_SHARED"
	[ -x "$rows" ] || skip "built without libdw"
	find "$directory/corpus/elf" -type f -print0 | xargs -0 "$rows" | tee rows.log
	tail -n 1 rows.log | grep -q ' 0 differ$'
}
it_agrees_on_every_file_of_the_machine() {
	[ -n "${CHECK_LONG:-}" ] || skip "takes a minute: make check-long"
	[ -x "$rows" ] || skip "built without libdw"
	find /usr/bin /usr/sbin /usr/lib /usr/libexec -xdev -type f \( -perm -u+x -o -name '*.so*' \) -size +3k -print0 |
		xargs -0 -n 400 "$rows" >rows.log
	grep -v ' 0 differ$' rows.log && fail "rows differ"
	awk '{ n += $1; same += $3; unlike += $5 } END { print n " rows, " same " same, " unlike " not compared" }' rows.log
}

run_cases "$@"
