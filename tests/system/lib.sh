#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the system tests share. A file of tests sources this, defines its cases, functions whose names
# begin with it_ and say what mapwright does, and ends in `run_cases "$@"`.
#
# A case runs in a subshell and in a directory of its own, whose name it finds in $here. It passes if it
# returns 0; `skip REASON` ends it as not run. Each prints one line, `ok NAME`, `FAIL NAME why` or
# `skip NAME reason`, and a failed one what it said, indented. Mounts and loop devices under its
# directory, and whatever was given to at_end, are undone after it, also when it is interrupted.
#
# Needs root, and MAPWRIGHT, the program to test.
set -u -o pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mapwright=$(realpath -e "${MAPWRIGHT:-$tests/../../build/src/cli/mapwright}") || exit 2
frequency=499
seconds=0.6 # CPU time of each program that is to be named

# ---- cleaning up ------------------------------------------------------------------------------------

# at_end COMMAND...: runs it after the case.
at_end() { endings+=("$(printf '%q ' "$@")"); }

unmount_below() { # DIRECTORY: the last mount first
	local point
	awk -v below="$1/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | tac |
		while read -r point; do umount -l "$(printf '%b' "$point")"; done
}

detach_loops_of() { # DIRECTORY
	losetup --list --noheadings --output NAME,BACK-FILE 2>/dev/null | while read -r device file; do
		case $file in "$1"/*) losetup --detach "$device" ;; esac
	done
}

undo() { # DIRECTORY
	local i
	for ((i = ${#endings[@]} - 1; i >= 0; i--)); do eval "${endings[i]}"; done
	cd /
	unmount_below "$1"
	detach_loops_of "$1"
	rm -rf --one-file-system "$1"
}

# ---- running cases ----------------------------------------------------------------------------------

skip() {
	echo "$*" >"$here.skipped"
	exit 0
}

run_case() { # NAME
	local name=${1#it_} why
	(
		here=$work/$name
		endings=()
		trap 'undo "$here" >&2' EXIT
		trap 'exit 130' TERM
		mkdir "$here" && cd "$here" && "$1"
	) >"$work/$name.log" 2>&1 </dev/null &
	current=$!
	if wait $current; then
		if [ -e "$work/$name.skipped" ]; then echo "skip $name $(cat "$work/$name.skipped")"; else echo "ok $name"; fi
	else
		why=$(grep -v '^+' "$work/$name.log" | tail -n 1 | cut -c 1-300)
		echo "FAIL $name $why"
		tail -n 20 "$work/$name.log" | cut -c 1-400 | sed 's/^/    /'
		failed=1
	fi
	current=
}

# run_cases [NAME...]: those of the file, in its order, or those named.
run_cases() {
	local name
	failed=0
	current=
	work=$(mktemp -d /var/tmp/mapwright-system.XXXXXX)
	trap '[ -z "$current" ] || { kill "$current"; wait "$current"; }; undo "$work"' EXIT
	trap 'exit 130' INT TERM HUP PIPE
	endings=()
	BURN_TAG=$(printf -- '-%04x' $(($$ % 65536)))
	export BURN_TAG
	if [ -z "${PROGRAMS:-}" ]; then
		PROGRAMS=$work/programs
		"$tests/programs/build.sh" "$PROGRAMS" || exit 2
	fi
	[ $# -gt 0 ] || set -- $(sed -n 's/^it_\([a-z0-9_]*\)().*/\1/p' "$0")
	for name in "$@"; do run_case "it_$name"; done
	exit $failed
}

# ---- saying what is wrong ---------------------------------------------------------------------------

fail() { echo "$*"; return 1; }

# ends_with STATUS COMMAND...: output and messages are left in the files out and err.
ends_with() {
	local wanted=$1 status=0
	shift
	"$@" >out 2>err </dev/null || status=$?
	[ "$status" -eq "$wanted" ] || { cat out err; fail "status $status, not $wanted: $*"; }
}
# says TEXT [FILE]: what a person is to be told is in it.
says() { grep -qF -- "$1" "${2:-err}" || { cat "${2:-err}"; fail "not said: $1"; }; }
says_nothing() { ! [ -s err ] || { cat err; fail "messages where there should be none"; }; }

# ---- waiting ----------------------------------------------------------------------------------------

# until_true COMMAND...: waits for it, twenty seconds at most.
until_true() {
	local i
	for ((i = 0; i < 1000; i++)); do
		"$@" 2>/dev/null && return 0
		sleep 0.02
	done
	fail "this never came: $*"
}
until_there() { until_true test -e "$1"; }
is_gone() { ! [ -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }
export -f until_true until_there fail

# ---- recording --------------------------------------------------------------------------------------

# record ARGUMENT...: with a store of its own, so that nothing is known from before.
record() { "$mapwright" record --store "$here/store" -o "$here/p.mwp" "$@" </dev/null; }

# watch COMMAND...: records the whole machine while COMMAND runs.
watch() { record -q -a -g -F $frequency -- "$@"; }

# start_recording ARGUMENT...: in the background; $recorder is its process id. Returns once its events
# count, or it has ended.
start_recording() {
	"$mapwright" record --store "$here/store" -o "$here/p.mwp" "$@" </dev/null 2>"$here/recorder.err" &
	recorder=$!
	at_end kill_if_there "$recorder"
	until_true has_events "$recorder"
}
has_events() {
	is_gone "$1" || [ "$(ls -l "/proc/$1/fd" | grep -c perf_event)" -ge "$(nproc)" ]
}
kill_if_there() { kill -KILL "$1" 2>/dev/null; }
stop_recording() { # its exit status
	kill -INT "$recorder"
	wait "$recorder"
}

# judge ARGUMENT...: see judge.py.
judge() { "$mapwright" export -f folded "$here/p.mwp" | "$tests/judge.py" "$@"; }

# ask QUESTION [ARGUMENT...]: see query.py.
ask() { "$mapwright" export -f json "$here/p.mwp" | "$tests/query.py" "$@"; }

# names_all [ARGUMENT...]: the ordinary burn_right has its names: as many samples as its CPU time gives,
# both of its functions, and nobody else's.
names_all() { judge --samples "$(expected 1)" --each right_first right_second "$@"; }
# names_turns SECONDS [ARGUMENT...]: of the program turns, which took so much time. Each library's function
# has its own name or none, never the other's.
names_turns() {
	judge --command turns --samples "$(seconds=$1 expected 1)" --leaf '^(right|other)_work$' "${@:2}"
}
expected() { awk -v f=$frequency -v s=$seconds -v k="$1" 'BEGIN { print int(f * s * k) }'; }

# ---- places -----------------------------------------------------------------------------------------

# make_root DIRECTORY PROGRAM PATH: a root directory in which PROGRAM, with its libraries, lies at PATH.
make_root() {
	local library
	mkdir -p "$1/proc" "$1/tmp" "$1$(dirname "$3")"
	cp "$2" "$1$3"
	for library in $(ldd "$2" 2>/dev/null | grep -o '/[^ ]*'); do
		mkdir -p "$1$(dirname "$library")"
		cp "$library" "$1$library"
	done
}

need() { # COMMAND...
	local command
	for command in "$@"; do
		command -v "$command" >/dev/null || skip "$command is not installed"
	done
}
need_file_system() {
	grep -qw "$1" /proc/filesystems || modprobe "$1" 2>/dev/null || skip "this kernel has no $1"
}
