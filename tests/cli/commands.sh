#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: commands.sh MAPWRIGHT. What every command has in common: exit status, messages, help.
. "$(dirname "$0")/../lib/cases.sh"
mapwright=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset COLUMNS

# ends_with STATUS ARGUMENT...: the rest of the output is left in the files out and err.
ends_with() {
	local wanted=$1 status=0
	shift
	"$mapwright" "$@" >out 2>err </dev/null || status=$?
	[ "$status" -eq "$wanted" ] || { echo "status $status"; cat out err; false; }
}
# says TEXT: a line of standard error is exactly that.
says() { grep -qxF -- "$1" err || { echo "not said: $1"; cat err; false; }; }
silent() { ! [ -s "$1" ] || { cat "$1"; false; }; }

no_command() { ends_with 2 && silent out && grep -q '^Usage: ' err; }
unknown_command() { ends_with 2 rcord -a && says 'hint: did you mean mapwright record?' && silent out; }
far_command() { ends_with 2 xyzzy && says 'hint: mapwright help lists the commands'; }
unknown_option() {
	ends_with 2 record --frequncy 99 && says 'mapwright: record: unknown option --frequncy' &&
		says 'hint: did you mean --freq?' && silent out
}
too_many() { ends_with 2 doctor now && says 'mapwright: doctor: unexpected argument "now"'; }
output_to_nowhere() { ends_with 2 record -a -o - && silent out && ! [ -e ./- ]; }
nothing_to_record() { ends_with 2 record && says 'hint: mapwright record --help shows how it is used'; }
excluding() { ends_with 2 record -a -F 9 -c 9 && ends_with 2 record -a -p 1; }
out_of_range() { ends_with 2 record -a -F 0 && says 'mapwright: record: -F: 0 is not from 1 to 100000'; }

commands() { "$mapwright" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p'; }
every_help() {
	local name=
	for name in $(commands); do
		ends_with 0 "$name" --help && silent err || return
		mv out with_option
		ends_with 0 "$name" -h && cmp out with_option && ends_with 0 help "$name" && cmp out with_option || return
	done
	[ -n "$name" ]
}
help_width() { # lines are cut to the terminal, where words allow
	COLUMNS=60 ends_with 0 record --help && ! grep -q '^[^U].\{60\}' out
}
help_beats_misuse() { ends_with 0 record -a -p 1 --help; }
version_forms() {
	ends_with 0 version && grep -q '^mapwright [0-9]' out && mv out version &&
		ends_with 0 --version && cmp out version && ends_with 0 -V && cmp out version
}
version_json() { ends_with 0 version --json && python3 -c '
import json, sys
version = json.load(open("out"))
assert version["version"] and isinstance(version["features"]["bpf"], bool)'; }
full_disk() {
	local status=0
	"$mapwright" help >/dev/full 2>err || status=$?
	[ $status -eq 1 ] && says 'mapwright: standard output: No space left on device'
}
closed_output() {
	local status=0
	"$mapwright" help >&- 2>err || status=$?
	[ $status -eq 1 ] && grep -q 'standard output: Bad file descriptor' err
}

check no_command_is_misuse_and_shows_the_commands no_command
check an_unknown_command_gets_the_nearest_as_a_hint unknown_command
check an_unknown_command_far_from_all_is_told_where_to_look far_command
check an_unknown_option_is_misuse_with_a_hint unknown_option
check an_argument_too_many_is_misuse too_many
check recording_nothing_is_misuse nothing_to_record
check recording_to_standard_output_is_misuse output_to_nowhere
check options_that_exclude_each_other_are_misuse excluding
check a_value_out_of_range_is_misuse out_of_range
check every_command_has_help_in_three_ways every_help
check help_keeps_to_the_width help_width
check help_is_shown_whatever_else_is_wrong help_beats_misuse
check the_version_is_told_in_three_ways version_forms
check_with python3 the_version_is_told_as_json version_json
check a_full_disk_is_a_failure full_disk
check a_closed_output_is_a_failure closed_output
finish
