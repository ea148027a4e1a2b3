#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Source lines and inlined calls of recordings: from debug information at the end, from the store later,
# and by resymbolize.
. "$(dirname "$0")/lib.sh"

program() { # NAME: true_inner is inlined into true_outer
	cat >prog.c <<-'C'
		#include <time.h>
		static inline __attribute__((always_inline)) long true_inner(long x)
		{
			volatile long s = 0;
			for (long i = 0; i < 20000; i++)
				s += x * i;
			return s;
		}
		__attribute__((noinline)) long true_outer(long x)
		{
			return true_inner(x) + 1;
		}
		int main(void)
		{
			long s = 0;
			while (clock() < CLOCKS_PER_SEC * 4 / 10)
				s += true_outer(s);
			return s == 12345;
		}
	C
	gcc -O2 -g -fno-omit-frame-pointer "${@:2}" prog.c -o "$1"
}
# Below true_outer, its inlined call at a line of prog.c.
shows_inlined() {
	"$mapwright" export -f folded --store "$1" p.mwp >folded &&
		"$mapwright" report --stdio --store "$1" --sort sym,srcline p.mwp >lines &&
		"$mapwright" report --stdio --store "$1" -g p.mwp >graph &&
		grep -q ';true_outer;true_inner_\[i\] ' folded && grep -Eq 'true_outer +.*/prog.c:[4567]$' lines &&
		grep -q 'true_inner (inlined)' graph
}
shows_names_only() {
	"$mapwright" export -f folded --store "$1" p.mwp >folded && grep -q ';true_outer ' folded && ! grep -q true_inner folded
}

it_keeps_lines_and_inlined_calls_in_the_profile() {
	program prog && watch ./prog || return
	rm -rf prog prog.c store
	shows_inlined "$here/none" || { grep true_ folded lines graph; fail "no inlined calls"; }
	"$mapwright" export -f folded --no-inline p.mwp >plain && grep -q ';true_outer [0-9]*$' plain || fail "--no-inline shows more"
}

it_reads_no_debug_information_without_a_budget() {
	program prog && record -q -a -g -F $frequency --symbolize-budget 0 -- ./prog || return
	rm prog && shows_names_only "$here/none" || fail "lines from nowhere"
}

it_asks_the_store_for_lines_that_came_later() {
	program prog && record -q -a -g -F $frequency --symbolize-budget 0 -- ./prog || return
	"$mapwright" store add --store later prog >/dev/null || return
	rm prog
	shows_names_only "$here/none" && shows_inlined "$here/later" || fail "the store was not asked"
}

it_names_a_profile_again_once_a_debug_file_is_there() {
	program prog && objcopy --only-keep-debug prog prog.debug && strip -s -o bare prog &&
		objcopy --add-gnu-debuglink=prog.debug bare && mv prog.debug away || return
	record -q -a -g -F $frequency -- ./bare || return
	"$mapwright" export -f folded --no-inline p.mwp >before
	grep -q true_ before && fail "it should have no names" && return
	mv away prog.debug
	ends_with 0 "$mapwright" resymbolize --store again p.mwp || return
	rm -rf bare prog.debug again store
	shows_inlined "$here/none" || { grep true_ folded lines graph; fail "no better names"; } || return
	# The same samples, and the kernel's names as they were.
	"$mapwright" export -f folded --no-inline --store none p.mwp >after
	[ "$(awk '{ n += $NF } END { print n }' before)" = "$(awk '{ n += $NF } END { print n }' after)" ] || fail "samples were lost"
	diff <(grep -o '[^;]*_\[k\]' before | sort) <(grep -o '[^;]*_\[k\]' after | sort) || fail "kernel frames changed"
}

it_leaves_a_profile_alone_that_it_cannot_read() {
	program prog && watch ./prog || return
	head -c $(($(stat -c %s p.mwp) - 5000)) p.mwp >cut.mwp
	cp cut.mwp before
	ends_with 1 "$mapwright" resymbolize cut.mwp || return
	cmp cut.mwp before && [ "$(echo cut.mwp*)" = cut.mwp ] || fail "something was left behind"
}

run_cases "$@"
