#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: demo.sh MAPWRIGHT. Records the whole machine for five seconds, while it runs four programs:
#
#   demo_ordinary   as programs are run every day
#   demo_chroot     inside a root directory of its own, which is removed before the recording ends
#   demo_deleted    its file is unlinked while it runs
#   demo_gone       ends, and its file is removed, long before the recording ends
#
# and prints the report. Each spends its time in a function that tells which it is (ordinary_work,
# chroot_work ...); the demo fails if one of these is not in the profile. Leaves nothing behind.
set -eu
mapwright=$(realpath "$1")

if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "make run records the whole machine, which needs root" >&2; exit 1; }
	exec sudo "$0" "$mapwright"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/mapwright-demo.XXXXXX")
children=()
clean() {
	local child
	for child in "${children[@]}"; do kill "$child" 2>/dev/null || :; done
	wait
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

cat >"$work/demo.c" <<'C'
#include <stdlib.h>
#include <time.h>
/* Works for so many seconds, whatever part of the CPU it gets. */
__attribute__((noinline)) void WORK(double seconds)
{
	struct timespec now, start;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (volatile int i = 0; i < 20000000; i++)
			;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
}
int main(int argc, char **argv)
{
	WORK(argc > 1 ? atof(argv[1]) : 1);
	return 0;
}
C
mkdir -p "$work/root/bin"
build() { # NAME FILE [OPTION...]
	gcc -O1 -fno-omit-frame-pointer -DWORK="$1_work" "${@:3}" -o "$2" "$work/demo.c"
}
build ordinary "$work/demo_ordinary"
build chroot "$work/root/bin/demo_chroot" -static # so that its root needs no libraries
build deleted "$work/demo_deleted"
build gone "$work/demo_gone"

echo "recording the whole machine for five seconds"
"$mapwright" record -a -g -F 199 --duration 5 -o "$work/demo.mwp" --store "$work/store" &
recorder=$!
children+=("$recorder")
sleep 0.7

"$work/demo_ordinary" 3 &
children+=($!)
"$work/demo_deleted" 3 &
children+=($!)
("$work/demo_gone" 1.5 && rm "$work/demo_gone") &
children+=($!)
(chroot "$work/root" /bin/demo_chroot 2 && rm -rf "$work/root") &
children+=($!)
sleep 0.3
rm "$work/demo_deleted"

wait "$recorder"
children=("${children[@]:1}")

# The programs and the directory they lay in are gone now; what the report says comes from the profile.
MAPWRIGHT_PAGER="" "$mapwright" report --percent-limit 1 "$work/demo.mwp"

missing=0
"$mapwright" export -f folded "$work/demo.mwp" >"$work/folded"
for name in ordinary chroot deleted gone; do
	grep -q ";${name}_work [0-9]*\$" "$work/folded" && continue
	echo "demo_$name was not seen" >&2
	missing=1
done
exit $missing
