#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long the report of a 20-second parallel compile takes, beside perf's of the same run.
. "$(dirname "$0")/lib.sh"

compile 21 &
"$MAPWRIGHT" record -q -a -g -F 999 --duration 20 --store store -o c.mwp &
recorder=$!
if command -v perf >/dev/null; then
	perf record -q -a -g -e cpu-clock -F 999 -o c.data -- sleep 20 >/dev/null 2>&1
fi
wait $recorder
wait

ours=$(for i in 1 2 3 4 5; do seconds "$MAPWRIGHT" report --stdio -g c.mwp; done | median)
plain=$(for i in 1 2 3 4 5; do seconds "$MAPWRIGHT" report --stdio c.mwp; done | median)
echo "report -g of a 20 s compile: $ours s; without -g: $plain s"
echo "profile: $(stat -c %s c.mwp) bytes"
[ -f c.data ] || exit 0
theirs=$(for i in 1 2 3; do seconds perf report --stdio -i c.data; done | median)
echo "perf report --stdio: $theirs s; perf.data: $(stat -c %s c.data) bytes"
echo "ratio perf / mapwright: $(ratio "$theirs" "$ours")"
