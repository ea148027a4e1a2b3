# SPDX-License-Identifier: LGPL-2.1-or-later
# What the measurements share. Each bench/bench_*.sh prints lines `NAME: VALUE (RANGE) ...`.
set -u
MAPWRIGHT=$(realpath "${1:-build/src/cli/mapwright}")
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
WORK=$(mktemp -d /var/tmp/mwbench.XXXXXX)
trap 'cd /; kill $(jobs -p) 2>/dev/null; rm -rf "$WORK"' EXIT
cd "$WORK"

monotonic_ms() { # CLOCK_MONOTONIC, as samples have it
	awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime
}

median() { # numbers on standard input -> "median (lowest to highest of n)"
	sort -g | awk '{ v[NR] = $1 } END { printf "%.3f (%.3f to %.3f of %d)", v[int((NR + 1) / 2)], v[1], v[NR], NR }'
}
first_number() { awk '{ print $1 }' <<<"$1"; }
ratio() { # A B -> A/B
	awk -v a="$(first_number "$1")" -v b="$(first_number "$2")" 'BEGIN { printf "%.1f", b ? a / b : 0 }'
}

seconds() { # COMMAND... -> seconds of wall clock; its output is thrown away
	local t=$EPOCHREALTIME
	"$@" >/dev/null 2>&1
	awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f\n", b - a }'
}

compile() { # SECONDS: builds this project again and again, in parallel, for so long
	local end=$((SECONDS + $1)) n=0
	while [ $SECONDS -lt $end ]; do
		n=$((n + 1))
		meson setup -Dtests=false "$WORK/compile.$n" "$ROOT" >/dev/null 2>&1
		timeout $((end - SECONDS + 1)) ninja -C "$WORK/compile.$n" -j3 >/dev/null 2>&1
		rm -rf "$WORK/compile.$n"
	done
}
