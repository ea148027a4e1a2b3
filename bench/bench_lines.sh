#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Building a symbol table with lines and inlined calls, against `llvm-gsymutil --convert --num-threads=1`
# on the same file, in turns: CPU time (user and system) and the most memory. Inputs: see fetch_inputs.sh.
. "$(dirname "$0")/lib.sh"
BUILD_LINES=$(dirname "$MAPWRIGHT")/../../tests/lines/build_lines
LLVM=$(command -v llvm-gsymutil-14 || command -v llvm-gsymutil) || { echo "lines: llvm-gsymutil is not installed"; exit 0; }
ROUNDS=${ROUNDS:-7}
inputs=$(realpath -m "${BENCH_INPUTS:-/var/tmp/mapwright-bench-inputs}")
"$ROOT/bench/fetch_inputs.sh" "$inputs" || { echo "lines: no inputs"; exit 0; }

measure() { # NAME COMMAND...: adds a line "CPU-seconds KiB" to NAME
	/usr/bin/time -f '%U %S %M' -a -o "$WORK/$1.time" "${@:2}" >/dev/null 2>&1
}

column() { # NAME AWK-EXPRESSION
	awk "NF == 3 { print $2 }" "$WORK/$1.time" | median
}

for program in python3.11 ceph-mon; do
	rm -f "$WORK"/*.time
	for _ in $(seq "$ROUNDS"); do
		measure ours "$BUILD_LINES" ours.gsym "$inputs/$program"
		measure llvm "$LLVM" --convert="$inputs/$program" --num-threads=1 --out-file=llvm.gsym
	done
	for what in "CPU s:\$1 + \$2" "peak MB:\$3 / 1024"; do
		ours=$(column ours "${what#*:}")
		llvm=$(column llvm "${what#*:}")
		echo "lines of $program, ${what%%:*}: ours $ours, llvm-gsymutil $llvm, ratio $(ratio "$llvm" "$ours")"
	done
	echo "lines of $program, size: ours $(stat -c %s ours.gsym), llvm-gsymutil $(stat -c %s llvm.gsym)"
done
