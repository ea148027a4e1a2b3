#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a report of a real recording says, and that exports are what they claim to be.
. "$(dirname "$0")/lib.sh"

# One that has a name, one that has none, for about as long.
record_both() { watch sh -c "$PROGRAMS/right 0.3; $PROGRAMS/right.stripped 0.3"; }

report() { ends_with 0 "$mapwright" report --stdio "$@" p.mwp && says_nothing; }

it_says_what_was_recorded_and_what_it_cost() {
	record_both && report || return
	local text
	for text in "$(uname -n)" "$(uname -r)" "$(nproc) CPUs" cpu "499 Hz" deferred; do says "$text" out || return; done
	grep -q '^# lost: ' out && grep -q '^# counted: ' out && grep -q '^# recorder: .*CPU.*memory.*written' out ||
		{ head -n 12 out; fail "losses or costs are missing"; }
}

it_shows_command_file_and_function() {
	record_both && report || return
	grep -Eq "^ +[0-9.]+% .*burn_right$BURN_TAG +right +\[\.\] right_first\$" out || { head -n 40 out; fail "no such row"; }
}

it_says_what_has_no_name_and_why() {
	record_both && report || return
	grep -q '^#.* stripped .*right\.stripped' out || { cat out; fail "no reason"; } || return
	says 'dbgsym' out
}

it_shows_callers_in_call_graphs() {
	record_both && report -g || return
	grep -q '[|-]main$' out || grep -q ' main$' out || { head -n 40 out; fail "no caller"; } || return
	grep -q '^# Children ' out
	report -g --no-children && ! grep -q '^# Children ' out
}

it_sorts_by_each_key_that_perf_has() {
	record_both || return
	local key
	for key in comm pid tid dso sym cgroup cpu comm,dso,sym pid,cpu; do
		report --sort $key || fail "--sort $key" || return
		grep -Eq '^ +[0-9]+\.[0-9]+%' out || { cat out; fail "no rows for --sort $key"; } || return
	done
	report --sort comm && grep -Eq "^ +[0-9.]+% +burn_right$BURN_TAG *\$" out
}

it_refuses_a_key_that_there_is_not() {
	record_both
	ends_with 2 "$mapwright" report --stdio --sort colour p.mwp || ends_with 1 "$mapwright" report --stdio --sort colour p.mwp || return
	says colour
}

it_leaves_out_what_is_below_the_limit() {
	record_both && report --percent-limit 10 || return
	! grep -E '^ +[0-9]\.[0-9]+%' out || fail "rows below ten per cent"
}

it_writes_no_colours_to_a_file() {
	record_both && report || return
	! grep -q $'\033' out
}

it_writes_json_that_python_reads() {
	record_both || return
	"$mapwright" export -f json p.mwp | python3 -m json.tool >/dev/null
}

it_writes_folded_stacks_that_begin_with_the_command() {
	record_both || return
	"$mapwright" export -f folded p.mwp >folded
	grep -q "^burn_right$BURN_TAG;.*;main;.*;right_first [0-9]*\$" folded || { head folded; fail "no such stack"; } || return
	! grep -Ev '^[^;]+(;[^;]+)* [0-9]+$' folded
}

it_gives_the_same_report_from_a_copy_on_another_machine() {
	record_both && report || return
	mv out first
	mkdir elsewhere && mv p.mwp elsewhere && rm -r store || return
	# No /proc, no store, no programs: nothing but the file.
	cd elsewhere && ends_with 0 "$mapwright" report --stdio p.mwp && diff ../first out
}

run_cases "$@"
