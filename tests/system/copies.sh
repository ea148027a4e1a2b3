#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Code that was copied onto memory without its file, on both engines: the file's name if place and bytes
# prove it, marked as inferred; where other bytes run, never.
. "$(dirname "$0")/lib.sh"

# both FUNCTION...: with each engine that this kernel has, whose name is in $engine.
both() {
	local engine ran=
	for engine in deferred immediate; do
		if ! record -q -g --engine $engine -- true 2>no; then
			grep -q 'this kernel lacks' no || { cat no; fail "the $engine engine does not start"; return 1; }
			continue
		fi
		rm -rf store
		"$@" || { fail "with the $engine engine"; return 1; }
		ran=1
	done
	[ "$ran" ] || skip "no engine works here"
}
run_copies() { # PROGRAM HOW [FILE]
	record -q -g --engine "$engine" -F $frequency -- "$PROGRAMS/$1" $seconds "${@:2}"
}

# The first look takes a moment, and the immediate engine another to be sure of the mapping.
names_copy() { # PROGRAM HOW
	local status=0
	run_copies "$@" || status=$?
	[ $status -ne 77 ] || skip "no huge pages are to be had here"
	judge --samples "$(expected 1)" --leaf '^right_first$' --right 85 --unnamed 15 || return 1
	ask inferred right_first >inferred
	[ "$(cat inferred)" = 100 ] || { cat inferred; fail "not marked as inferred"; }
	"$mapwright" report --stdio -i p.mwp >report 2>/dev/null
	grep -q '\[~\] right_first' report && says '# inferred: [~] marks' report
}
it_names_a_page_that_was_copied() { both names_copy copies page; }
it_names_a_whole_text_that_was_copied() { both names_copy copies whole; }
it_names_text_on_transparent_huge_pages() { both names_copy copies.large huge; }
it_names_text_on_a_memfd() { both names_copy copies memfd; }
it_names_text_on_shared_memory() { both names_copy copies shared; }
it_names_text_on_reserved_huge_pages() {
	local before
	before=$(cat /proc/sys/vm/nr_hugepages) || skip "this kernel has no huge pages"
	at_end reserve_huge_pages "$before"
	reserve_huge_pages $((before + 4))
	both names_copy copies.large hugetlb
}
reserve_huge_pages() { echo "$1" >/proc/sys/vm/nr_hugepages; }

names_nothing() { # HOW [FILE]
	run_copies copies "$@" || return 1
	judge --command burn_other --samples "$(expected 1)" --right 0 --unnamed 100 || return 1
	ask inferred right_first >inferred
	[ "$(cat inferred)" = 0 ] || { cat inferred; fail "inferred from other bytes"; }
}
it_does_not_name_other_bytes_at_the_same_place() { both names_nothing foreign; }
it_does_not_name_one_function_after_another() { both names_nothing neighbour; }
it_does_not_name_code_by_files_that_merely_lie_around_it() {
	both names_nothing beside "$PROGRAMS/libwrong.so"
}

names_until_rewritten() {
	run_copies copies rewritten || return 1
	judge --command burn_other --samples "$(expected 0.5)" --right 0 --unnamed 100 || return 1
	judge --samples "$(expected 0.5)" --leaf '^right_first$' --right 65 --unnamed 35
}
it_names_code_until_it_is_rewritten() { both names_until_rewritten; }

names_right_turns() {
	run_copies copies flicker || return 1
	judge --command burn_other --samples "$(expected 0.5)" --right 0 --unnamed 100
}
it_gives_no_wrong_name_to_code_that_is_rewritten_every_millisecond() { both names_right_turns; }

run_cases "$@"
