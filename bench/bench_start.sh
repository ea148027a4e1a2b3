#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# From the start of `record -a` to its first sample, on a machine that is busy.
. "$(dirname "$0")/lib.sh"

for i in $(seq "$(nproc)"); do (while :; do :; done) & done
first_sample() { # -> seconds from the start of the recorder to the first sample
	local t0; t0=$(monotonic_ms)
	"$MAPWRIGHT" record -q -a -F 999 --bucket 1ms --duration 300ms --store store -o s.mwp
	"$MAPWRIGHT" export -f json s.mwp | python3 -c '
import json, sys
t0 = int(sys.argv[1])
p = json.load(sys.stdin)
print((min(s["time_ns"] for s in p["samples"]) / 1e6 - t0) / 1e3)' "$t0"
}
echo "record -a, start to first sample: $(for i in 1 2 3 4 5 6 7; do first_sample; done | median) s (10 ms resolution)"
