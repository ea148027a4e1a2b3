#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs every measurement, or those named: the NAMEs of bench_NAME.*. usage: bench/run.sh [MAPWRIGHT [NAME...]]
here=$(dirname "$0")
mapwright=${1:-build/src/cli/mapwright}
shift
[ $# -gt 0 ] || set -- $(ls "$here" | sed -n 's/^bench_\(.*\)\..*$/\1/p')
echo "$(nproc) CPUs, $(uname -r), $(perf --version 2>/dev/null)"
for name in "$@"; do
	echo "== $name"
	"$here/bench_$name".* "$mapwright" || exit 1
done
