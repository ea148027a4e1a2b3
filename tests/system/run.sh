#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: run.sh [FILE...]    as root. Runs the system tests, all of them or those of the files that are
# named (places, life ...), one after the other: recordings would disturb each other. MAPWRIGHT is the
# program to test; default: that of build/. One file alone, or some of its cases: bash FILE.sh [CASE...].
set -u
cd "$(dirname "$0")" || exit 2
MAPWRIGHT=$(realpath -e "${MAPWRIGHT:-../../build/src/cli/mapwright}") || exit 2
export MAPWRIGHT
[ $# -gt 0 ] || set -- report lines ends faults places places_nested life identity code copies jit elf stacks off_cpu \
	accounting kill mounts hostile disturbed bounds unwind_rows unwind_truth \
	containers slow old_kernel \
	endurance

if [ "$(id -u)" -ne 0 ]; then
	for family in "$@"; do echo "skip $family needs root"; done
	exit 0
fi

PROGRAMS=$(mktemp -d /var/tmp/mapwright-programs.XXXXXX)
export PROGRAMS
current=
# The file that runs cleans up by itself.
trap '[ -z "$current" ] || { kill -TERM "$current"; wait "$current"; }; rm -rf "$PROGRAMS"' EXIT
trap 'exit 130' INT TERM HUP PIPE
programs/build.sh "$PROGRAMS" || exit 2
chmod 755 "$PROGRAMS"

failed=0
run() { # FAMILY
	bash "./${1%.sh}.sh" &
	current=$!
	wait "$current" || failed=1
	current=
}
for family in "$@"; do
	run "$family"
	# Where engines differ is where a program lies, what becomes of it and of its file. The first run took
	# the engine that record chooses.
	case $family in places_nested | identity | code) [ -n "${CHECK_LONG:-}" ] || continue ;; esac
	case $family in places* | life* | identity* | code* | jit*) MAPWRIGHT_ENGINE=immediate run "$family" ;; esac
done
exit $failed
