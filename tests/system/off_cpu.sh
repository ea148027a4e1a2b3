#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The time that tasks wait: all of it is there, at the place where they waited.
. "$(dirname "$0")/lib.sh"

# One store for all cases, in which the files are known: how long making tables takes is not judged here.
record() {
	[ -e "$work/store" ] || "$mapwright" record -q -g -e off-cpu --store "$work/store" -o "$here/p.mwp" -- \
		"$PROGRAMS/waits" asleep 10 200 </dev/null >/dev/null
	"$mapwright" record --store "$work/store" -o "$here/p.mwp" "$@" </dev/null
}

# waits HOW TIMES MS: records it; its own time in `took`.
waits() { record -q -g -e off-cpu -- "$PROGRAMS/waits" "$@" >took; }

# time_in FUNCTION: ms of all stacks of waits that it is in, and of how many.
time_in() {
	"$mapwright" export -f json p.mwp | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["events"][0]["name"] == "off-cpu" and d["events"][0]["unit"] == "ns", d["events"]
found = [s for s in d["samples"] if any(f.get("name") == sys.argv[1] for f in s["frames"])]
print(round(sum(s["value"] for s in found) / 1e6), sum(s["count"] for s in found))' "$1"
}

# is_there FUNCTION COUNT: its time is the program's own within 5 %, in so many waits.
is_there() {
	local ms count
	read -r ms count < <(time_in "$1")
	[ "$count" -eq "$2" ] || { "$mapwright" export -f folded p.mwp; fail "$count waits in $1, not $2"; return; }
	awk -v a="$ms" -v b="$(cat took)" 'BEGIN { exit !(a >= b * 0.95 && a <= b * 1.05) }' || fail "$ms ms of $(cat took)"
}

it_sums_the_time_of_sleep() {
	waits asleep 4 250
	is_there true_wait 4 && is_there main 4
}
it_sums_the_time_of_a_futex() {
	waits word 3 200
	is_there true_wait 3
}
it_sums_the_time_of_a_pipe() {
	waits byte 3 200
	is_there true_read 3
}

it_shows_where_in_the_kernel_a_task_waited() {
	waits asleep 1 100
	"$mapwright" export -f folded p.mwp >out
	grep -q ';main;true_wait;.*_\[k\];.*nanosleep.*_\[k\];.*schedule.*_\[k\] [0-9]*$' out || { cat out; fail "no such stack"; }
	"$mapwright" report --stdio p.mwp >out
	says "of event 'off-cpu'" out
}

it_adds_up_waits_that_are_too_short() {
	record -q -g -e off-cpu --off-cpu-min 100ms -- "$PROGRAMS/waits" asleep 20 10 >took
	[ "$(time_in true_wait)" = "0 0" ] || { time_in true_wait; fail "waits of 10 ms"; return; }
	"$mapwright" export -f json p.mwp | python3 -c '
import json, sys
d = json.load(sys.stdin)
short = {t["name"]: t["count"] for t in d["skipped"] + d["counters"]}
assert short["short-wait"] >= 20 and 200000 <= short["short-waits-us"] <= 2000000, short'
}

it_records_waits_and_work_of_one_program() {
	record -q -g -e cpu-clock -e off-cpu -F 499 -- "$PROGRAMS/waits" asleep 2 100 >took
	"$mapwright" export -f json p.mwp | python3 -c '
import json, sys
d = json.load(sys.stdin)
waits = [s for s in d["samples"] if d["events"][s["event"]]["name"] == "off-cpu"]
assert sum(s["value"] for s in waits) > 190e6, waits'
}

it_refuses_off_cpu_where_the_engine_has_none() {
	ends_with 1 "$mapwright" record -q -a -e off-cpu --engine immediate -o p.mwp --duration 0.1
	says "does not measure waits"
}

run_cases "$@"
