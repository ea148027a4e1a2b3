#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a recorder may take of the machine: memory of its maps in the kernel and of all its processes, and
# CPU time with --max-overhead, what it does in the kernel included.
. "$(dirname "$0")/lib.sh"

# tree PID: it and all below it.
tree() {
	local child
	echo "$1"
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do tree "$child"; done
}

# Each map of the recorder, once: TYPE, bytes that it holds now, and bytes that it holds when it is full.
# What the kernel adds to an element of a hash table is 48 bytes.
maps_of() { # PID
	local file
	for file in "/proc/$1/fdinfo/"*; do
		awk -v cpus="$(nproc)" '{ v[$1] = $2 } END {
			if (!("map_type:" in v)) exit
			type = v["map_type:"]; n = v["max_entries:"]; size = v["key_size:"] + v["value_size:"]
			if (type == 27) full = n             # ring buffer
			else if (type == 6) full = n * size * cpus # for each CPU
			else if (type == 1) full = n * (size + 48) # hash
			else full = n * size
			print v["map_id:"], type, v["memlock:"], full }' "$file" 2>/dev/null
	done | sort -u
}
sum_of() { awk -v column="$1" '{ n += $column } END { printf "%d\n", n / 1048576 }'; }

it_holds_maps_of_64_mib_at_most() {
	local engine
	for engine in deferred immediate; do
		start_recording -q -a -g -F 999 --engine $engine
		"$PROGRAMS/right" 0.3
		maps_of "$recorder" >maps
		stop_recording || return
		cat maps
		[ "$(wc -l <maps)" -ge 4 ] || fail "these are not all maps" || return
		[ "$(sum_of 3 <maps)" -lt 64 ] || fail "$engine: maps of $(sum_of 3 <maps) MiB" || return
		[ "$(sum_of 4 <maps)" -lt 64 ] || fail "$engine: maps of $(sum_of 4 <maps) MiB when they are full" || return
	done
}

# Resident memory of all its processes, while it works hardest: thousands of files, and node's like of
# symbol tables.
it_holds_64_mib_of_memory_at_most() {
	local most=0 now storm
	start_recording -q -a -g -F 999
	(mkdir storm && cd storm && "$PROGRAMS/storm" "$PROGRAMS/tiny.right" 4000 1000 </dev/zero >/dev/null) &
	storm=$!
	"$PROGRAMS/right.static" 2 fork &
	until is_gone $storm; do
		now=$(for pid in $(tree "$recorder"); do cat "/proc/$pid/smaps_rollup" 2>/dev/null; done |
			awk '/^Pss:/ { n += $2 } END { print int(n / 1024) }')
		[ "$now" -le "$most" ] || most=$now
	done
	wait %2
	stop_recording || return
	echo "$most MiB"
	[ "$most" -gt 4 ] && [ "$most" -le 64 ] || fail "$most MiB"
}

# ---- --max-overhead ---------------------------------------------------------------------------------

# share_of_the_machine: what the recording cost, in thousandths of the machine: CPU time and BPF programs.
share_of_the_machine() {
	local spent
	spent=$((($(ask fact cost_user_us) + $(ask fact cost_system_us)) * 1000 + $(ask fact cost_bpf_ns)))
	echo $((spent * 1000 / $(ask fact duration_ns) / $(nproc)))
}
deep() { "$PROGRAMS/right" "$1" & "$PROGRAMS/other" "$1" & wait $!; }
export -f deep

it_takes_fewer_samples_when_recording_costs_more_than_it_may() {
	local without with
	ends_with 0 record -q -a -g -F 20000 -- bash -c "deep 9" || return
	without=$(ask count "burn_right$BURN_TAG")
	ends_with 0 record -a -g -F 20000 --max-overhead 1% -- bash -c "deep 9" || return
	with=$(ask count "burn_right$BURN_TAG")
	echo "$without samples without a limit, $with with one of 1 %"
	says 'fewer samples from here on' || return
	[ "$(ask tally rate-lowered)" -gt 0 ] || fail "the report does not say it" || return
	[ "$with" -lt $((without * 8 / 10)) ] || fail "no fewer samples" || return
	# Each of those that are left weighs more: the time is the same.
	"$mapwright" export -f json p.mwp | python3 -c "
import json, sys
p = json.load(sys.stdin)
seconds = sum(s['value'] for s in p['samples'] if s['task']['command'] == 'burn_right$BURN_TAG') / 1e9
print(f'{seconds:.2f} s')
sys.exit(not 7.2 < seconds < 9.9)" || fail "the weights do not make up for it"
}

# The time in the kernel alone exceeds the limit: what user space does is a small part of it here.
it_counts_what_it_does_in_the_kernel() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	record -q -a -g -F 20000 --duration 2 -- bash -c "deep 2"
	local kernel user
	kernel=$(($(ask fact cost_bpf_ns) / 1000)) user=$(($(ask fact cost_user_us) + $(ask fact cost_system_us)))
	echo "in BPF programs $kernel us, recorder $user us"
	# 20,000 a second and CPU, each of at least a microsecond.
	[ "$kernel" -gt 40000 ] || fail "only $kernel us in the kernel"
}

it_does_not_touch_the_rate_when_it_is_cheap_enough() {
	record -q -a -g -F 99 --max-overhead 20% -- bash -c "deep 7" || return
	[ "$(ask tally rate-lowered)" -eq 0 ] || fail "the rate was lowered" || return
	frequency=99 seconds=7 names_all
}

run_cases "$@"
