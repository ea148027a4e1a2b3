#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A recorder that is killed at any moment leaves a profile that opens by itself and lacks two seconds at
# most, and nothing else behind.
. "$(dirname "$0")/lib.sh"

# As CLOCK_MONOTONIC, by which samples are dated, counts where nobody suspends the machine.
now() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }

# kill_and_look SECONDS: kills a recorder that many seconds after its start, and looks at the profile
# alone, in a directory where nothing else lies.
kill_and_look() {
	local started killed last
	rm -rf p.mwp* alone && mkdir alone
	started=$(now)
	"$mapwright" record -q -a -g -F $frequency --store "$here/store" -o p.mwp </dev/null &
	recorder=$!
	sleep "$1"
	kill -KILL $recorder
	killed=$(now)
	wait $recorder 2>/dev/null
	if [ ! -e p.mwp ]; then # it had not begun
		awk -v after="$1" 'BEGIN { exit !(after < 1) }' || fail "after $1 s: no profile"
		return
	fi
	cp p.mwp alone/p.mwp
	"$mapwright" export -f json alone/p.mwp >alone/json || fail "after $1 s: it does not open" || return
	"$mapwright" report --stdio alone/p.mwp >alone/report || fail "after $1 s: no report" || return
	last=$("$tests/query.py" last-sample <alone/json) || return
	[ "$last" -gt "$started" ] || last=$started
	[ $((killed - last)) -lt 2000000000 ] ||
		fail "after $1 s: $(((killed - last) / 1000000)) ms are missing"
}

it_leaves_a_profile_that_opens_when_killed_at_any_moment() {
	local i burner
	"$PROGRAMS/right" 300 &
	burner=$!
	at_end kill_if_there $burner
	for i in 0.02 0.1 0.3 0.6 $(awk 'BEGIN { srand(); for (i = 0; i < 16; i++) printf "%.2f ", 0.4 + rand() * 2 }'); do
		kill_and_look "$i" || return
	done
}

# Samples of the time before the last two seconds are there in number, not only some.
it_keeps_all_samples_of_earlier_seconds_when_killed() {
	local killed
	start_recording -q -a -F $frequency
	"$PROGRAMS/right" 1
	sleep 2
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	judge --samples $frequency --right 0 --unnamed 100
}

it_names_what_it_knew_when_killed() {
	start_recording -q -a -F $frequency
	"$PROGRAMS/right" $seconds
	sleep 2
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	names_all
}

helpers_of() { # PID: the processes it has started
	cat "/proc/$1/task/$1/children" 2>/dev/null
}

it_leaves_no_process_behind_when_killed() {
	local helper helpers
	start_recording -q -a -F $frequency
	helpers=$(helpers_of "$recorder")
	[ -n "$helpers" ] || fail "no helpers: nothing to test" || return
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
	for helper in $helpers; do until_true is_gone "$helper" || return; done
}

# The store was in use when the recorder died: the next one finds it whole.
it_leaves_a_store_that_works_when_killed() {
	local i
	for i in 0.25 0.3 0.35 0.4; do
		"$mapwright" record -q -a -F 999 --store "$here/store" -o killed.mwp </dev/null &
		recorder=$!
		"$PROGRAMS/right.static" $i &
		"$PROGRAMS/other" $i &
		sleep $i
		kill -KILL $recorder
		wait
	done
	watch "$PROGRAMS/right" $seconds && names_all && watch "$PROGRAMS/right.static" $seconds && names_all
}

run_cases "$@"
