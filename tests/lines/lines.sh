#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: lines.sh BUILD_LINES. Symbol tables with lines and inlined calls, built from programs that this
# machine's compilers make, of all versions of DWARF, compared with llvm-symbolizer (differential.py) and
# read by llvm-gsymutil (llvm_agrees.py). With CHECK_LONG set: more and larger programs, more addresses.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/cases.sh"
build_lines=$(realpath "$1")
work=$(mktemp -d /tmp/mapwright-lines.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for tool in gcc g++ clang llvm-symbolizer llvm-objcopy python3; do
	command -v $tool >/dev/null || { skip lines "$tool is not installed"; exit 77; }
done
cp "$here"/calls.* "$here"/freestanding.c .
export PYTHONDONTWRITEBYTECODE=1

# compile COMPILER SOURCE NAME OPTION...
compile() {
	local compiler=$1 source=$2 name=$3
	shift 3
	case $source in *.cc) set -- -std=c++17 "$@" ;; esac
	$compiler "$@" "$source" -o "$name"
}

# same PROGRAM GSYM COUNT: the answers are llvm-symbolizer's.
same() {
	python3 "$here/differential.py" "$1" "$2" "$3"
}

# program NAME COMPILER SOURCE OPTION...: is compiled, and its table gives the same answers.
program() {
	compile "$2" "$3" "$1" "${@:4}" && "$build_lines" "$1.gsym" "$1" && same "$1" "$1.gsym" 1000
}

all_versions() {
	local version compiler
	for version in 2 3 4 5; do
		for compiler in gcc clang; do
			program "c_${compiler}_$version" $compiler calls.c -O2 -g -gdwarf-$version || return
		done
	done
}

optimizations() {
	local level compiler
	for compiler in gcc clang; do
		for level in -O0 -Og -O3 "-O2 -ffunction-sections -Wl,--gc-sections"; do
			# shellcheck disable=SC2086 # several options
			program "level_$compiler" $compiler calls.c -g $level -fuse-ld=lld || return
		done
	done
	program lto_gcc gcc calls.c -O2 -g -flto && program lto_clang clang calls.c -O2 -g -flto -fuse-ld=lld
}

line_tables_only() {
	program g1_gcc gcc calls.c -O2 -g1 && program g1_clang clang calls.c -O2 -g1 -gdwarf-4 &&
		program g1_asm gcc calls.c -O2 -g "$here/routine.S"
}

cxx() { # COMPILER
	program "cxx_$1" "$1" calls.cc -O2 -g && program "cxx4_$1" "$1" calls.cc -O1 -g -gdwarf-4 -fdebug-types-section
}

compressed() {
	program gz_zlib g++ calls.cc -O2 -g -gz && program gz_gnu gcc calls.c -O2 -g -gz=zlib-gnu &&
		program wide gcc calls.c -O2 -g -gdwarf64
}

# A program that dwz shrunk, with and without what is in the supplementary file.
dwz_of() { # VERSION OPTION...
	local version=$1
	shift
	compile g++ calls.cc "dwz$version" -O2 -g -gdwarf-"$version" && compile g++ calls.cc "other$version" -O1 -g -gdwarf-"$version" &&
		cp "dwz$version" "whole$version" && dwz "$@" -m "common$version" "dwz$version" "other$version" &&
		"$build_lines" "dwz$version.gsym" "dwz$version" - "common$version" && same "whole$version" "dwz$version.gsym" 2000 &&
		"$build_lines" partly.gsym "dwz$version" | grep -q 'debug_info-partly, the supplementary file'
}

split() {
	compile gcc calls.c split -O2 -g -gsplit-dwarf && "$build_lines" split.gsym split | tee split.about &&
		grep -q 'split-skeleton, functions and inlined calls of 1 of 1 units are in split files' split.about &&
		rm split*.dwo &&
		same split split.gsym 1000
}

debug_file() {
	compile g++ calls.cc whole -O2 -g && objcopy --only-keep-debug whole whole.debug && strip -o stripped whole &&
		"$build_lines" stripped.gsym stripped whole.debug && same whole stripped.gsym 2000 &&
		! "$build_lines" none.gsym stripped
}

# Of a relocatable object the addresses are offsets in the file: those of the program, moved.
relocatable() {
	gcc -O2 -g -c calls.c -o calls.o && "$build_lines" calls.o.gsym calls.o &&
		python3 "$here/relocatable.py" calls.o calls.o.gsym
}

# Other machines, classes and byte orders: the program, and the object file with its relocations.
machines() {
	local machine
	for machine in i386-linux-gnu aarch64-linux-gnu aarch64_be-linux-gnu armv7-linux-gnueabihf powerpc-linux-gnu \
		powerpc64le-linux-gnu riscv64-linux-gnu mips-linux-gnu mips64el-linux-gnuabi64; do
		clang --target=$machine -O2 -g -gdwarf-${1:-5} -c freestanding.c -o machine.o &&
			ld.lld machine.o -e _start -o machine && "$build_lines" machine.gsym machine &&
			"$build_lines" machine.o.gsym machine.o && same machine machine.gsym 500 &&
			python3 "$here/moved.py" machine.o machine.o.gsym machine machine.gsym ||
			{ echo "$machine"; return 1; }
	done
}

llvm_reads() {
	compile g++ calls.cc read_cxx -O2 -g && compile clang calls.c read_c -O2 -g1 && compile gcc calls.c read_c2 -O2 -g || return
	local name
	for name in read_cxx read_c read_c2; do
		"$build_lines" $name.gsym $name && python3 "$here/llvm_agrees.py" $name.gsym 400 || return
	done
}

check all_versions all_versions
check optimizations optimizations
check line_tables_only line_tables_only
check cxx_gcc cxx g++
check cxx_clang cxx clang++
check compressed compressed
check_with dwz dwz4 dwz_of 4
check_with dwz dwz5 dwz_of 5 -5
check split split
check debug_file debug_file
check relocatable relocatable
check_with ld.lld machines machines 5
check_with llvm-gsymutil-14 llvm_reads llvm_reads

[ -z "${CHECK_LONG:-}" ] || . "$here/long.sh"
finish
