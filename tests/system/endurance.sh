#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A day in some minutes: 200,000 processes and 20,000 distinct files, with a store that is far too small.
# After the first tenth the recorder grows no more: memory, descriptors, processes, mounts. Part of
# `make check-long`.
. "$(dirname "$0")/lib.sh"

# What the recorder and its children hold: memory of their own in KiB, descriptors, processes; and the
# machine's mounts.
holdings() { # PID
	local pid memory=0 descriptors=0 processes=0
	for pid in "$1" $(pgrep -P "$1") $(pgrep -P "$1" | xargs -r -n 1 pgrep -P); do
		memory=$((memory + $(awk '/^Rss(Anon|Shmem)/ { n += $2 } END { print n + 0 }' "/proc/$pid/status" 2>/dev/null || echo 0)))
		descriptors=$((descriptors + $(ls "/proc/$pid/fd" 2>/dev/null | wc -l)))
		processes=$((processes + 1))
	done
	echo "$memory $descriptors $processes $(wc -l </proc/self/mountinfo)"
}

# settled_holdings PID: after a moment without work, when the children have ended.
settled_holdings() {
	sleep 4
	holdings "$1"
}

it_does_not_grow_in_a_long_storm() {
	local processes=200000 files=20000 first last done
	[ -n "${CHECK_LONG:-}" ] || skip "takes some minutes: make check-long"
	"$mapwright" record -q -a -g -F 499 --store tiny-store --store-size 1M -o storm.mwp &
	recorder=$!
	at_end kill -9 $recorder
	mkfifo go
	"$PROGRAMS/storm" "$PROGRAMS/tiny.right" $processes $files <go >tenths &
	exec 3>go
	for done in 1 2 3 4 5 6 7 8 9 10; do
		until [ "$(wc -l <tenths)" -ge $done ]; do sleep 0.2; done
		last=$(settled_holdings $recorder)
		echo "$(tail -n 1 tenths) processes: memory (KiB), descriptors, processes, mounts: $last"
		[ $done -eq 1 ] && first=$last
		echo >&3
	done
	kill -INT $recorder && wait $recorder || fail "the recorder failed" || return
	"$mapwright" report storm.mwp | sed -n '1,10p'
	awk -v first="$first" -v last="$last" 'BEGIN {
		split(first, a); split(last, b)
		# Of each sampled task and each sampled file the profile keeps some bytes: they are what it is for.
		exit b[1] > a[1] + 24 * 1024 || b[2] > a[2] + 4 || b[3] > a[3] || b[4] > a[4] }' ||
		fail "it grew: from $first to $last" || return
}

run_cases "$@"
