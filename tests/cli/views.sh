#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: views.sh MAPWRIGHT MAKE-PROFILE. report and export, as people and scripts use them.
. "$(dirname "$0")/../lib/cases.sh"
mapwright=$(realpath "$1")
make_profile=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NO_COLOR CLICOLOR_FORCE PAGER MAPWRIGHT_PAGER COLUMNS
"$make_profile" mapwright.mwp || { fail the_sample_profile_is_made; finish; }
cp mapwright.mwp other.mwp

report() { "$mapwright" report "$@" </dev/null; }
export_() { "$mapwright" export "$@" </dev/null; }
# fails STATUS TEXT COMMAND...: ends so, and a line of standard error is that text.
fails() {
	local wanted=$1 text=$2 status=0
	shift 2
	"$@" >out 2>err || status=$?
	[ "$status" -eq "$wanted" ] && grep -qxF -- "$text" err || { echo "status $status"; cat err; false; }
}
escape=$'\e['

same_from_everywhere() {
	report >default && [ -s default ] && report other.mwp | cmp - default && report -i other.mwp | cmp - default &&
		"$mapwright" report - <other.mwp | cmp - default && cat other.mwp | "$mapwright" report -i - | cmp - default
}
perf_options() { report --stdio -g --no-children --sort comm,pid,tid,dso,sym,cgroup,cpu --percent-limit 1 >out && [ -s out ]; }
children_differ() { report -g >with && report -g --no-children >without && ! cmp -s with without; }
limit_hides() { report --percent-limit 0 >all && report --percent-limit 99.9 >few && [ "$(wc -l <few)" -lt "$(wc -l <all)" ]; }
plain_for_files() { ! report | grep -qF "$escape"; }
coloured_on_request() { report --color always | grep -qF "$escape" && CLICOLOR_FORCE=1 report | grep -qF "$escape"; }
never_wins() { ! CLICOLOR_FORCE=1 report --color=never | grep -qF "$escape" && ! NO_COLOR=1 CLICOLOR_FORCE=1 report | grep -qF "$escape"; }
head_is_no_failure() { # dies of SIGPIPE, as every program, without a word
	"$mapwright" report 2>err | true
	local status=${PIPESTATUS[0]}
	{ [ "$status" -eq 141 ] || [ "$status" -eq 0 ]; } && ! [ -s err ]
}
in_terminal() { script -qec "$1" /dev/null </dev/null | tr -d '\r'; }
paged_on_a_terminal() {
	in_terminal "PAGER=\"sed 's/^/paged:/'\" TERM=xterm $mapwright report" >out
	grep -q '^paged:# Samples' out && ! grep -qv '^paged:' out && grep -qF "$escape" out
}
pager_keeps_status() {
	script -qec "PAGER='cat >/dev/null' $mapwright report none.mwp" /dev/null </dev/null >out
	[ $? -eq 1 ] && grep -q 'none.mwp: No such file' out
}
not_a_profile() { head -c 4096 /dev/zero >zeros; fails 1 'hint: report and export read what mapwright record wrote' report zeros; }

formats() { "$mapwright" export --help | sed -n 's/^ \{29\}\([a-z]\{1,\}\) .*/\1/p'; }
every_format() {
	local name=
	for name in $(formats); do
		export_ -f "$name" >"$name" && [ -s "$name" ] && export_ -f "$name" -o "$name.2" && cmp "$name" "$name.2" || return
	done
	[ -n "$name" ]
}
json_is_json() { export_ -f json | python3 -m json.tool >/dev/null; }
folded_adds_up() {
	local sum total
	sum=$(export_ -f folded | awk '{ n += $NF } END { print n }')
	total=$(export_ -f json | python3 -c 'import json, sys; print(json.load(sys.stdin)["total_count"])')
	[ "$sum" -eq "$total" ] || { echo "$sum of $total"; false; }
}
failure_keeps_old() {
	echo old >kept
	fails 1 'mapwright: none.mwp: No such file or directory' export_ -f folded none.mwp -o kept &&
		[ "$(cat kept)" = old ] && [ "$(echo kept*)" = kept ]
}

check a_report_is_the_same_wherever_the_profile_comes_from same_from_everywhere
check options_that_perf_users_know_are_taken perf_options
check no_children_makes_a_difference children_differ
check the_percent_limit_hides_rows limit_hides
check a_file_gets_no_colours plain_for_files
check colours_come_on_request coloured_on_request
check colours_stay_away_on_request never_wins
check a_reader_who_leaves_is_no_failure head_is_no_failure
check_with script a_terminal_gets_a_pager_and_colours paged_on_a_terminal
check_with script the_pager_keeps_the_exit_status pager_keeps_status
check a_missing_profile_is_named_with_a_hint fails 1 'hint: mapwright record makes a profile' report none.mwp
check what_is_no_profile_is_refused_with_a_hint not_a_profile
check two_profiles_are_misuse fails 2 'mapwright: report: two profiles: other.mwp and mapwright.mwp' report -i other.mwp mapwright.mwp
check an_unknown_sort_key_is_misuse fails 2 'hint: mapwright report --help shows how it is used' report --sort comm,colour
check a_full_disk_fails_the_report fails 1 'mapwright: standard output: No space left on device' bash -c "$mapwright report >/dev/full"
check every_format_is_written_to_output_and_file every_format
check_with python3 json_is_json json_is_json
check_with python3 folded_counts_add_up_to_all_samples folded_adds_up
check no_format_is_misuse fails 2 'mapwright: export: no format: say -f FORMAT' export_
check an_unknown_format_gets_the_nearest_as_a_hint fails 2 'hint: did you mean folded?' export_ -f foldd
check a_failed_export_keeps_the_old_file failure_keeps_old
finish
