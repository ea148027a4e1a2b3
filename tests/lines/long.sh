#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Part of lines.sh with CHECK_LONG set: ten programs, 100,000 addresses each. Some are what Debian has
# debug information of, some this project itself, by both compilers.
: "${LONG_ADDRESSES:=100000}"
top=$(cd "$here/../.." && pwd)

# long NAME PROGRAM [WHOLE]: WHOLE is the same program before dwz.
long() {
	"$build_lines" "$1.gsym" "$2" "${@:4}" && same "${3:-$2}" "$1.gsym" "$LONG_ADDRESSES"
}

debian() {
	local inputs=${BENCH_INPUTS:-/var/tmp/mapwright-bench-inputs}
	"$top/bench/fetch_inputs.sh" "$inputs" && long "debian_$1" "$(realpath "$inputs")/$1"
}

# This program, or one of its libraries, in a build of its own.
own() { # COMPILER OPTIONS
	[ -d "own_$1" ] || CC=$1 CFLAGS="$2" meson setup -Dtests=false "own_$1" "$top" >/dev/null || return
	ninja -C "own_$1" src/cli/mapwright src/libmapwright.so.0.1.0 >/dev/null
}

own_gcc() { own gcc "" && long own_gcc own_gcc/src/cli/mapwright; }
own_gcc_library() { own gcc "" && long own_gcc_library own_gcc/src/libmapwright.so.0.1.0; }
own_clang() { own clang -gdwarf-4 && long own_clang own_clang/src/cli/mapwright; }
cxx_large() { # COMPILER NAME OPTION...
	compile "$1" calls.cc "$2" -g "${@:3}" && long "$2" "$2"
}
cxx_dwz() {
	compile g++ calls.cc long_whole -O2 -g && compile g++ calls.cc long_other -O3 -g && cp long_whole long_dwz &&
		dwz -m long_common long_dwz long_other && long long_dwz long_dwz long_whole - long_common
}

check long_python debian python3.11
check long_ceph debian ceph-mon
check long_own_gcc own_gcc
check long_own_gcc_library own_gcc_library
check long_own_clang own_clang
check long_cxx_gcc cxx_large g++ long_gcc -O3 -static
check long_cxx_clang cxx_large clang++ long_clang -O2
check long_cxx_lto cxx_large g++ long_lto -O2 -flto
check long_cxx_sections cxx_large clang++ long_sections -O2 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections -Wl,--icf=all
check_with dwz long_dwz cxx_dwz
