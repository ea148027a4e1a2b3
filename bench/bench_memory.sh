#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a recording holds while it goes on: two recorders, at 99 and at 999 Hz, beside each other for
# MINUTES (10) under a load that changes each minute: a parallel compile, an exec storm, an mmap storm,
# programs that are copied, run once and removed. A line a minute for each: memory of the recorder and
# its children (RSS: all pages; own: without those of files, which are shared), descriptors, processes,
# and memory of its BPF maps.
. "$(dirname "$0")/lib.sh"
MINUTES=${MINUTES:-10}

gcc -O2 -w "$ROOT/bench/programs/work.c" -o work || exit 1
gcc -O1 -nostdlib -static -Wl,--build-id=none -DP=right "$ROOT/tests/system/programs/tiny.c" -o tiny || exit 1
printf 'int main(void) { return 0; }\n' >source.c

copies() { # programs of which each is another file, 100 a second at most
	local i
	for ((i = 0; ; i++)); do
		cp tiny copy.$i && echo $i >>copy.$i && ./copy.$i
		rm -f copy.$i
		sleep 0.01
	done
}
load() { # NUMBER OF THE MINUTE: in the background; $! is its process
	case $(($1 % 4)) in
	0) nice -n 19 ./work counter compile gcc -O2 -c "$WORK/source.c" -o out.o >/dev/null 2>&1 & ;;
	1) nice -n 19 ./work counter exec >/dev/null 2>&1 & ;;
	2) nice -n 19 ./work counter mmap /lib/x86_64-linux-gnu/libc.so.6 >/dev/null 2>&1 & ;;
	3) copies & ;;
	esac
}

tree() { # PID: it and all below it
	local child
	echo "$1"
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do tree "$child"; done
}
kib() { # FIELDS PID...: sum of these fields of status
	local fields=$1 pid
	shift
	for pid; do cat "/proc/$pid/status" 2>/dev/null; done | awk -v f="^($fields):" '$1 ~ f { n += $2 } END { print n + 0 }'
}
map_bytes() { # PID
	awk '/^map_type:/ { map = 1 } /^pos:/ { map = 0 } /^memlock:/ && map { n += $2 } END { print n + 0 }' /proc/$1/fdinfo/* 2>/dev/null
}
holdings() { # HZ PID
	local pids
	pids=$(tree "$2")
	printf '%5s %4s %7.1f %7.1f %4d %3d %7.1f\n' "$minute" "$1" "$(kib VmRSS $pids | awk '{ print $1 / 1024 }')" \
		"$(kib 'RssAnon|RssShmem' $pids | awk '{ print $1 / 1024 }')" \
		"$(for p in $pids; do ls "/proc/$p/fd" 2>/dev/null; done | wc -l)" "$(wc -w <<<"$pids")" \
		"$(map_bytes "$2" | awk '{ print $1 / 1048576 }')"
}

declare -A recorders
for hz in 99 999; do
	"$MAPWRIGHT" record -q -a -g -F $hz --store "store.$hz" --store-size 64M -o $hz.mwp &
	recorders[$hz]=$!
done
sleep 2
echo "  min   Hz  RSS MB  own MB  fds  processes  maps MB"
for ((minute = 0; minute <= MINUTES; minute++)); do
	for hz in 99 999; do holdings $hz "${recorders[$hz]}"; done
	[ "$minute" -lt "$MINUTES" ] || break
	load "$minute"
	sleep 60
	kill $! && wait $! 2>/dev/null
done
kill -INT "${recorders[@]}"
wait "${recorders[@]}"
for hz in 99 999; do
	echo "$hz Hz: $(stat -c %s $hz.mwp) bytes; $("$MAPWRIGHT" report $hz.mwp | grep -a '^# \(lost\|counted\)' | tr '\n' ' ')"
done
