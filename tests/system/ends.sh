#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whom a recording is of, at which events, and how it ends.
. "$(dirname "$0")/lib.sh"

# ---- how it ends ------------------------------------------------------------------------------------

it_ends_with_the_status_of_the_command() {
	ends_with 7 record -q -- sh -c 'exit 7' && [ -s p.mwp ]
}

it_ends_with_the_signal_of_the_command() {
	ends_with 137 record -q -- sh -c 'kill -KILL $$' && [ -s p.mwp ]
}

it_ends_when_its_time_is_over() {
	local start=$SECONDS
	ends_with 0 record -q -a --duration 1 && [ $((SECONDS - start)) -le 5 ] || fail "after $((SECONDS - start)) s" || return
	awk -v ns="$(ask fact duration_ns)" 'BEGIN { exit !(ns >= 1e9 && ns < 2e9) }' || fail "it recorded $(ask fact duration_ns) ns"
}

it_ends_the_command_when_its_time_is_over() {
	ends_with 143 record -q --duration 300ms -- sleep 100 && [ -s p.mwp ]
}

it_writes_the_profile_when_interrupted() {
	start_recording -q -a -g -F $frequency
	"$PROGRAMS/right" $seconds
	stop_recording || fail "status $?" || return
	[ ! -s recorder.err ] && names_all
}

it_writes_the_profile_when_terminated() {
	start_recording -q -a -g -F $frequency
	"$PROGRAMS/right" $seconds
	kill -TERM "$recorder"
	wait "$recorder" && names_all
}

# Two signals at once: whatever it was doing, it is over soon, and what is there opens.
it_ends_at_once_when_interrupted_twice() {
	local status=0 start
	start_recording -q -a -g -F $frequency
	"$PROGRAMS/right" 0.3
	start=$SECONDS
	kill -INT "$recorder"
	kill -TERM "$recorder"
	wait "$recorder" || status=$?
	[[ $status =~ ^(0|1|130|143)$ ]] && [ $((SECONDS - start)) -le 3 ] || fail "status $status after $((SECONDS - start)) s" || return
	"$mapwright" export -f json p.mwp >json
}

it_says_nothing_when_it_is_quiet_and_all_is_well() {
	ends_with 0 record -q -a -- "$PROGRAMS/right" 0.1 && says_nothing && [ ! -s out ]
}

# ---- whom it is of ----------------------------------------------------------------------------------

only_right() { # SAMPLES [ARGUMENT...]: there are burn_right and those that lead to it, and never the other
	judge --samples "$@" && [ "$(ask count burn_other$BURN_TAG)" -eq 0 ] || { ask commands; fail "others were recorded too"; }
}

it_records_a_command_alone() {
	"$PROGRAMS/other" 300 &
	at_end kill_if_there $!
	record -q -g -F $frequency -- "$PROGRAMS/right" $seconds || return
	only_right "$(expected 1)" && ! ask commands | grep -vx "right\|burn_right$BURN_TAG"
}

it_records_the_children_of_a_command() {
	record -q -g -F $frequency -- sh -c "sh -c '$PROGRAMS/right $seconds fork; true'; true" || return
	only_right "$(expected 2)"
}

# A shell that waits for a word, then runs a program.
it_records_a_process_and_its_later_children() {
	mkfifo word
	sh -c "read go <word; $PROGRAMS/right $seconds; true" &
	local shell=$!
	at_end kill_if_there $shell
	"$PROGRAMS/other" 300 &
	at_end kill_if_there $!
	start_recording -q -g -F $frequency -p $shell
	echo go >word
	wait $shell
	stop_recording && only_right "$(expected 1)"
}

has_two_threads() { [ "$(ls "/proc/$1/task" | wc -l)" -eq 2 ]; }
it_records_a_thread_and_not_its_process() {
	"$PROGRAMS/right" 300 both &
	local pid=$! thread
	at_end kill_if_there $pid
	until_true has_two_threads $pid || return
	thread=$(ls "/proc/$pid/task" | grep -vx $pid)
	record -q -g -F $frequency -t "$thread" -- "$PROGRAMS/other" 0.5 || return
	judge --samples 100 --may-be-more --leaf '^right_second$' && only_right 100 --may-be-more
	record -q -g -F $frequency -t "$pid" -- "$PROGRAMS/other" 0.5 || return
	judge --samples 100 --may-be-more --leaf '^right_first$'
}

# ---- at which events --------------------------------------------------------------------------------

# about COUNT N: at least N, and not many more.
about() { [ "$1" -ge "$2" ] && [ "$1" -le $(($2 + $2 / 4 + 200)) ] || fail "$1 samples where $2 were to come"; }

it_counts_each_page_fault() {
	record -q -a -c 1 -e page-faults -- "$PROGRAMS/events" faults 3000 || return
	about "$(ask count events$BURN_TAG)" 3000
}

it_counts_each_context_switch() {
	record -q -a -c 1 -e context-switches -- "$PROGRAMS/events" switches 2000 || return
	about "$(ask count events$BURN_TAG)" 1950 # a sleep of no length need not be one
}

it_counts_each_hundredth_page_fault() {
	record -q -a -c 100 -e page-faults -- "$PROGRAMS/events" faults 30000 || return
	[ "$(ask count events$BURN_TAG)" -ge 250 ] && [ "$(ask count events$BURN_TAG)" -le 350 ] || fail "$(ask count events$BURN_TAG) samples of 300"
}

it_keeps_two_events_apart() {
	record -q -a -F $frequency -e cpu-clock -e task-clock -- "$PROGRAMS/right" $seconds || return
	local first second
	first=$(ask count burn_right$BURN_TAG 0) second=$(ask count burn_right$BURN_TAG 1)
	[ "$first" -ge $(($(expected 1) * 8 / 10)) ] || fail "cpu-clock: $first samples" || return
	[ "$second" -gt 0 ] || fail "task-clock: $second samples"
}

it_counts_only_user_space_when_asked_to() {
	record -q -a -g -F $frequency -e cpu-clock:u -- "$PROGRAMS/right" $seconds || return
	"$mapwright" export -f folded p.mwp >folded
	! grep -q '_\[k\]' folded || fail "frames of the kernel" || return
	names_all
}

it_says_so_when_it_takes_another_event_than_cycles() {
	ends_with 0 record -a -- "$PROGRAMS/right" 0.1 || return
	[ "$(ask fact event_used)" = cycles ] || says 'cpu-clock instead of cycles'
}

run_cases "$@"
