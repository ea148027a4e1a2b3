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
	"$PROGRAMS/right.static" 1 fork &
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

deep() { "$PROGRAMS/right" "$1" & "$PROGRAMS/other" "$1" & wait; }
export -f deep

# What a sample of the program stands for at its beginning and at its end, in us; and its CPU time, by
# what all of them stand for.
weights() {
	"$mapwright" export -f json p.mwp | python3 -c "
import json, sys
samples = [s for s in json.load(sys.stdin)['samples'] if s['task']['command'] == 'burn_right$BURN_TAG']
first, last = (f(s['time_ns'] for s in samples) for f in (min, max))
def mean(some): return sum(s['value'] for s in some) / max(sum(s['count'] for s in some), 1) / 1000
print(mean([s for s in samples if s['time_ns'] < first + 3e9]), mean([s for s in samples if s['time_ns'] > last - 0.7e9]),
      sum(s['value'] for s in samples) / 1e9)"
}

it_takes_fewer_samples_when_recording_costs_more_than_it_may() {
	ends_with 0 record -a -g -F 4000 --max-overhead 1% -- bash -c "deep 8" || return
	weights >weights
	echo "us a sample at the beginning and at the end, CPU time in s: $(cat weights)"
	says 'fewer samples from here on' || return
	[ "$(ask tally rate-lowered)" -gt 0 ] || fail "the report does not say it" || return
	awk '{ exit !($1 > 240 && $1 < 260 && $2 > 490) }' weights || fail "no fewer samples" || return
	# They make up for those that are not taken.
	awk '{ exit !($3 > 7 && $3 < 9.2) }' weights || fail "the weights do not make up for it"
}

# What user space does is a small part of it: without the time in the kernel the limit would be far.
it_counts_what_it_does_in_the_kernel() {
	local kernel
	record -q -a -g -F 4000 -- bash -c "deep 1" || return
	kernel=$(($(ask fact cost_bpf_ns) / 1000))
	echo "in BPF programs $kernel us, recorder $(($(ask fact cost_user_us) + $(ask fact cost_system_us))) us"
	# 4,000 a second and CPU, each of a microsecond at least, of a tenth of a millisecond at most.
	[ "$kernel" -gt 6000 ] && [ "$kernel" -lt 900000 ] || fail "$kernel us"
}

it_does_not_touch_the_rate_when_it_is_cheap_enough() {
	record -q -a -g -F 99 --max-overhead 20% -- bash -c "deep 7" || return
	[ "$(ask tally rate-lowered)" -eq 0 ] || fail "the rate was lowered" || return
	frequency=99 seconds=7 names_all
}

run_cases "$@"
