#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: build.sh DIRECTORY. Builds the programs that the system tests record.
set -eu
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"

burn() { # NAME SIDE OPTION...
	gcc -O1 -pthread -fno-omit-frame-pointer -DP="$2" "$source/burn.c" -o "$1" "${@:3}"
}
for side in right wrong other; do
	burn $side $side
	burn $side.static $side -static
	burn $side.noid $side -Wl,--build-id=none
	burn $side.static.noid $side -static -Wl,--build-id=none
	gcc -O1 -shared -fPIC -fno-omit-frame-pointer -DP=$side "$source/library.c" -o lib$side.so
	gcc -O1 -shared -fPIC -fno-omit-frame-pointer -Wl,--build-id=none -DP=$side "$source/library.c" \
		-o lib$side.noid.so
done
repeat() { printf "$1%.0s" $(seq "$2"); }
burn right.id2 right -Wl,--build-id=0xbeef
burn right.id8 right -Wl,--build-id=0x0123456789abcdef
burn right.id32 right -Wl,--build-id=0x"$(repeat ab 32)"
burn right.id64 right -Wl,--build-id=0x"$(repeat cd 64)"
# The same as that of right.id8 but for the length.
burn other.id20 other -Wl,--build-id=0x0123456789abcdef"$(repeat 00 12)"
burn right.stripped right -s
# Forced on different contents.
for side in right other; do
	burn $side.sameid $side -Wl,--build-id=0x5a3e1d5a3e1d5a3e1d5a3e1d5a3e1d5a3e1d5a3e
	gcc -O1 -shared -fPIC -fno-omit-frame-pointer -Wl,--build-id=0x5a3e1d5a3e1d5a3e1d5a3e1d5a3e1d5a3e1d5a3f \
		-DP=$side "$source/library.c" -o lib$side.sameid.so
done

gcc -O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-plt -Wl,-z,now "$source/turns.c" -o turns
gcc -O1 "$source/nameless.c" -o nameless
gcc -O1 "$source/same_pid.c" -o same_pid
gcc -O1 "$source/events.c" -o events
gcc -O1 "$source/storm.c" -o storm
for side in right other; do
	gcc -O1 -nostdlib -static -Wl,--build-id=none -DP=$side "$source/tiny.c" -o tiny.$side
done
gcc -O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer "$source/made.c" -o made
gcc -O1 -fno-omit-frame-pointer "$source/copies.c" -o copies
gcc -O1 -fno-omit-frame-pointer -fno-toplevel-reorder -DLARGE "$source/copies.c" -o copies.large

stacks() { # NAME COMPILER OPTION...
	"$2" -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -pthread "$source/stacks.cc" -o "stacks.$1" "${@:3}"
}
stacks plain g++
stacks small g++ -Os
stacks fast g++ -O3
stacks static g++ -static
stacks pie g++ -static-pie
stacks no-hdr g++ -Wl,--no-eh-frame-hdr
stacks clang clang++
stacks lld clang++ -O3 -fuse-ld=lld
gcc -O2 -fno-optimize-sibling-calls "$source/waits.c" -o waits
