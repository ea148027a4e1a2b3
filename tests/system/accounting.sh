#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Nothing is lost without being counted, and in an exec storm nobody gets another program's frames.
. "$(dirname "$0")/lib.sh"

adds_up() {
	local wrong
	wrong=$(ask account) || return
	[ -z "$wrong" ] || fail "$wrong"
}

# storm FREQUENCY: three seconds of a shell that runs nothing but /bin/true, as fast as it can.
storm() {
	record -q -a -g -F "$1" -- timeout 3 sh -c 'while :; do /bin/true; done'
	[ $? -eq 124 ] || fail "the recording failed"
}

it_gives_nobody_the_frames_of_another_program_in_an_exec_storm() {
	local shell loader libraries
	shell=$(basename "$(realpath /bin/sh)")
	loader=$(ldd /bin/true | sed -n 's/^\t*\(\/[^ ]*ld[^ ]*\) .*/\1/p')
	libraries="libc.so.6 $(basename "$(realpath "$loader")") [vdso]"
	storm 999 || return
	ask count true
	[ "$(ask count true)" -gt 100 ] || fail "too few samples for a test" || return
	ask intruders true true $libraries >intruders
	ask intruders sh "$shell" $libraries >>intruders
	[ ! -s intruders ] || { sort intruders | uniq -c | sort -rn | head; fail "frames of programs that were not running"; }
}

it_accounts_for_every_event_in_an_exec_storm() {
	storm 999 && adds_up
}

it_accounts_for_every_event_of_an_idle_machine() {
	record -q -a -F 999 --duration 1 && adds_up
}

it_accounts_for_every_event_when_only_one_process_is_recorded() {
	record -q -g -F 999 -- "$PROGRAMS/right" 0.5 && adds_up && [ "$(ask tally other-task)" -gt 0 ]
}

# A recorder that is stopped for a while cannot empty its ring.
it_counts_what_the_ring_had_no_room_for() {
	start_recording -q -a -g -F 999 -m 64K
	kill -STOP "$recorder"
	"$PROGRAMS/right" $seconds
	kill -CONT "$recorder"
	"$PROGRAMS/other" 0.3
	stop_recording && adds_up || return
	[ "$(ask tally ring-full)" -gt 0 ] || fail "no sample was lost for want of room" || return
	judge --command burn_other --samples 240 --leaf '^other_'
}

# None of the samples of a time in which both CPUs work may be missing without a word.
it_counts_what_two_busy_processors_did() {
	record -q -a -F 999 -- sh -c "$PROGRAMS/right 1 & $PROGRAMS/other 1 & wait" || return
	adds_up && judge --samples 999 && judge --samples 999 --command burn_other --leaf '^other_'
}

run_cases "$@"
