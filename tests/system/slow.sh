#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# File systems that may never answer: a program on FUSE has its names as long as the file system answers,
# and a reason when it does not; the recorder is not held up, whatever happens there.
. "$(dirname "$0")/lib.sh"

# mount_fuse: the program, on ./fuse/prog, served by the process $daemon.
mount_fuse() {
	command -v squashfuse >/dev/null || skip "squashfuse is not installed"
	[ -e /dev/fuse ] || skip "this kernel has no FUSE"
	mkdir content fuse
	cp "$PROGRAMS/right" content/prog
	mksquashfs content image -quiet -no-progress >/dev/null || return
	squashfuse -f image fuse &
	daemon=$!
	at_end kill -9 $daemon
	for _ in $(seq 100); do
		[ -x fuse/prog ] && return
		sleep 0.05
	done
	fail "the file system was not mounted"
}

it_names_a_program_on_fuse() {
	mount_fuse || return
	watch fuse/prog 1.2
	seconds=1.2 names_all
}

it_goes_on_when_a_file_system_does_not_answer_any_more() {
	local start
	mount_fuse || return
	fuse/prog 20 &
	at_end kill -9 $!
	# From here on every question to the file system waits, and so does whoever asks.
	until [ "$(cat /proc/$!/comm)" != bash ] && [ "$(awk '{ print $14 }' /proc/$!/stat)" -gt 10 ]; do sleep 0.05; done
	kill -STOP $daemon
	start=$SECONDS
	record -q -a -g -F $frequency -- bash -c "$PROGRAMS/right.static $seconds; sleep 5" || return
	kill -CONT $daemon
	[ $((SECONDS - start)) -lt 20 ] || fail "the recorder was held up for $((SECONDS - start)) seconds" || return
	"$mapwright" report p.mwp >report.txt
	grep -q "timeout.*prog" report.txt || fail "no reason for the program whose file does not answer"
}

run_cases "$@"
