#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each case prints one line: ok NAME, FAIL NAME why, skip NAME reason. A script ends in `finish`.
set -u
failed=0
ok() { echo "ok $1"; }
fail() { echo "FAIL $1 ${*:2}"; failed=1; }
skip() { echo "skip $1 ${*:2}"; }
# check NAME COMMAND...: the case holds if the command succeeds; its output is shown otherwise.
check() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then ok "$name"; else
		fail "$name" "$*"
		sed 's/^/    /' <<<"$output"
	fi
}
# check_with PROGRAM NAME COMMAND...: skipped where the program is missing.
check_with() {
	if command -v "$1" >/dev/null; then check "${@:2}"; else skip "$2" "$1 is not installed"; fi
}
finish() { exit "$failed"; }
