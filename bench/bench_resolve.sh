#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Names, lines and inlined calls of 100,000 random addresses, beside today's tools, in one run.
# usage: bench_resolve.sh [MAPWRIGHT [INPUTS]]. INPUTS: a directory that bench/fetch_inputs.sh fills (400 MB).
. "$(dirname "$0")/lib.sh"
inputs=${2:-/var/tmp/mapwright-bench-inputs}
"$ROOT/bench/fetch_inputs.sh" "$inputs" || exit 1
build=${MAPWRIGHT%/src/cli/mapwright}
cc -O2 -I"$ROOT/include" "$ROOT/bench/programs/lookups.c" -o lookups -L"$build/src" -lmapwright -Wl,-rpath,"$build/src" || exit 1

# cost FILE COMMAND...: appends CPU seconds and peak KiB of one run to FILE
cost() {
	local file=$1
	shift
	/usr/bin/time -o "$file.one" -f '%U %S %M' "$@" >/dev/null 2>&1
	awk '{ print $1 + $2, $3 }' "$file.one" >>"$file"
}
cpu() { awk '{ print $1 }' "$1" | median; }
mib() { awk '{ if ($2 > most) most = $2 } END { printf "%.1f", most / 1024 }' "$1"; }
compare() { # NAME OURS THEIRS
	echo "$1: $(cpu "$2") s CPU, $(mib "$2") MiB; $4: $(cpu "$3") s, $(mib "$3") MiB;" \
		"$(ratio "$(cpu "$3")" "$(cpu "$2")") times faster, in 1/$(ratio "$(mib "$3")" "$(mib "$2")") of its memory"
}

for program in ceph-mon python3.11; do
	file=$inputs/$program
	python3 "$ROOT/bench/addresses.py" "$file" 100000 2>/dev/null >addresses
	python3 "$ROOT/bench/addresses.py" "$file" 100000 offsets 2>/dev/null >offsets
	id=$(readelf -n "$file" 2>/dev/null | awk '/Build ID/ { print $3 }')
	rm -f warm cold llvm llvm_demangled demangled binutils api
	"$MAPWRIGHT" resolve --store store -e "$file" 0x0 >/dev/null
	for _ in 1 2 3 4 5; do # side by side: the machine drifts
		cost llvm llvm-symbolizer -i --no-demangle -e "$file" <addresses
		cost warm "$MAPWRIGHT" resolve --store store --mangled -e "$file" --file addresses
		cost demangled "$MAPWRIGHT" resolve --store store -e "$file" --file addresses
		rm -rf cold.store
		cost cold "$MAPWRIGHT" resolve --store cold.store --mangled -e "$file" --file addresses
		./lookups store "$id" offsets 10 >>api
	done
	cost llvm_demangled llvm-symbolizer -i -e "$file" <addresses
	cost binutils addr2line -fi -e "$file" <addresses
	compare "$program, warm" warm llvm llvm-symbolizer
	compare "$program, warm, demangled" demangled llvm_demangled llvm-symbolizer
	compare "$program, from an empty store" cold llvm llvm-symbolizer
	compare "$program, warm" warm binutils 'addr2line -fi'
	echo "$program, by the interface without text: $(awk '$1 == "chains" { print $2 }' api | median) s CPU;" \
		"$(ratio "$(cpu llvm)" "$(awk '$1 == "chains" { print $2 }' api | median)") times faster than llvm-symbolizer"
	echo "$program, first look-up of a process: $(awk '$1 == "first" { print $2 * 1000 }' api | median) ms"
done

file=$inputs/node
python3 "$ROOT/bench/addresses.py" "$file" 100000 2>/dev/null >addresses
python3 "$ROOT/bench/addresses.py" "$file" 100000 offsets 2>/dev/null >offsets
id=$(readelf -n "$file" 2>/dev/null | awk '/Build ID/ { print $3 }')
rm -f cold llvm api
for _ in 1 2 3 4 5; do
	cost llvm llvm-symbolizer --no-demangle -e "$file" <addresses
	rm -rf cold.store
	cost cold "$MAPWRIGHT" resolve --store cold.store --mangled -e "$file" --file addresses
	"$MAPWRIGHT" resolve --store store -e "$file" 0x0 >/dev/null
	./lookups store "$id" offsets 20 >>api
done
compare "node (symbol table only), from an empty store" cold llvm llvm-symbolizer
for order in random sorted single; do
	echo "node, names by the interface, $order: $(awk -v k="names_$order" '$1 == k { print $2 / 1e6 }' api | median) million a second"
done
