#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Unwinding tables: how long the largest files of the machine take to become tables, CPU time of the
# fastest of three runs, and how large these are. Beside it, what perf must copy for one stack of
# --call-graph dwarf (8 KiB), which these tables make needless.
. "$(dirname "$0")/lib.sh"

survey=$(dirname "$MAPWRIGHT")/../../tests/unwind/unwind_survey
[ -x "$survey" ] || { echo "skip: built without tests"; exit 0; }

cpu_ms() { # FILE -> user and system time
	local best
	for _ in 1 2 3; do
		{ TIMEFORMAT='%U %S'; time "$survey" "$1" >survey.out; } 2>&1 | awk '{ printf "%.0f\n", ($1 + $2) * 1000 }'
	done | sort -n | head -n 1
}

for file in /usr/bin/node /usr/lib/x86_64-linux-gnu/libLLVM-*.so.1 "$(gcc -print-prog-name=cc1plus)" \
	"$(gcc -print-prog-name=cc1)" ~/.rustup/toolchains/stable*/lib/libLLVM*.so* \
	~/.rustup/toolchains/stable*/lib/librustc_driver*.so /usr/bin/containerd \
	/lib/x86_64-linux-gnu/libc.so.6; do
	[ -f "$file" ] || continue
	ms=$(cpu_ms "$file")
	awk -v ms="$ms" -v size="$(stat -L -c %s "$file")" -v file="${file##*/}" '!/^#/ {
		printf "table of %s (%.0f MB): %d ms, %.1f MB, %d rows, %d rules, %d unsupported\n",
			file, size / 1e6, ms, $2 / 1e6, $3, $4, $6 }' survey.out
done
find /usr/bin /usr/sbin /usr/lib /usr/libexec -xdev -type f \( -perm -u+x -o -name '*.so*' \) -size +3k -print0 |
	xargs -0 -n 100000 "$survey" >survey.out 2>/dev/null
awk '!/^#/ { files++; rows += $3; bytes += $2; bad += $6; damaged += $7 }
	END { printf "all files of the machine: %d tables, %.0f MB, %d rows, %d (%.5f %%) cannot be expressed, %d damaged entries\n",
		files, bytes / 1e6, rows, bad, 100 * bad / rows, damaged }' survey.out
