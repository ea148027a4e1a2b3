#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: fuzz.sh BUILD-DIR. Runs each harness (fuzz/NAME.c) for FUZZ_SECONDS, as many at once as there
# are CPUs, from its corpus in fuzz/corpus/NAME, with fuzz/NAME.dict if there is one. New inputs stay
# in BUILD-DIR/corpus, what makes a harness fail is kept in BUILD-DIR/findings.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
seconds=${FUZZ_SECONDS:-600}

ninja -C "$build" || exit 1
mkdir -p "$build/findings"
shopt -s nullglob
harnesses=()
for file in "$build"/fuzz/fuzz_*; do
	[ -f "$file" ] && [ -x "$file" ] && [ "${file##*/}" != fuzz_seeds ] && harnesses+=("$file")
done
[ ${#harnesses[@]} -gt 0 ] || { echo "fuzz: there is no harness in $build/fuzz" >&2; exit 1; }

fuzz() { # HARNESS
	local name=${1##*/fuzz_} seeds=()
	mkdir -p "$build/corpus/$name"
	[ -d "fuzz/corpus/$name" ] && seeds=("fuzz/corpus/$name")
	[ -f "fuzz/$name.dict" ] && seeds+=("-dict=fuzz/$name.dict")
	if "$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "${seeds[@]}" \
		>"$build/findings/$name.log" 2>&1 </dev/null; then
		echo "ok $name $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/findings/$name.log") runs"
	else
		echo "FAIL $name"
		tail -n 30 "$build/findings/$name.log"
		return 1
	fi
}

bad=0
running=0
for harness in "${harnesses[@]}"; do
	if [ $running -ge "$(nproc)" ]; then
		wait -n || bad=1
		running=$((running - 1))
	fi
	fuzz "$harness" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || bad=1
	running=$((running - 1))
done
exit $bad
