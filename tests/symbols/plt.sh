#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: plt.sh NAMES_PROGRAM. Programs and libraries of several linkers: entries of their procedure linkage tables
# have the names that objdump gives them, with section headers, and without.
set -u
names=$(realpath -e "$1") || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
failed=0

cat >far.c <<-'C'
	long far_one(long n) { return n + 1; }
	long far_two(long n) { return n + 2; }
	long far_three(long n) { return n + 3; }
C
cat >main.c <<-'C'
	long far_one(long), far_two(long), far_three(long);
	typedef long (*far_fn)(long);
	static far_fn volatile taken = far_three; /* its address is taken: an entry of .plt.got, with some linkers */
	long used(long n) { return far_one(n) + far_two(n) * far_three(n) + taken(n); }
	void _start(void) { used(1); for (;;) ; }
C

# The start of each entry and its name, as a tool says them.
by_objdump() { "$1" -d "$2" 2>/dev/null | sed -n 's/^0*\([0-9a-f]*\) <\([^>]*\)@plt>:$/\1 \2@plt/p' | sort; }
by_us() { "$names" "$1" | awk '$4 ~ /@plt$/ { print $1, $4 }' | sort; }

say() { # WORD NAME WHY: a case has a name without blanks
	local name=${2//,/}
	echo "$1 ${name// /_} ${3:-}"
}

check() { # NAME OBJDUMP FILE: what it names we name, and nothing else but what it does not look at
	by_objdump "$2" "$3" >theirs
	by_us "$3" >ours
	if [ "$(grep -c far_ theirs)" -lt 2 ]; then
		say skip "$1" "$2 names $(grep -c far_ theirs) entries itself"
	elif ! [ -z "$(comm -13 ours theirs)" ]; then
		say FAIL "$1" "$(comm -13 ours theirs | tr '\n' ',')is missing"
		failed=1
	elif comm -23 ours theirs | awk '{ print $2 }' | grep -qvxF -f <(awk '{ print $2 }' theirs); then
		say FAIL "$1" "$(comm -23 ours theirs | tr '\n' ',')is too much"
		failed=1
	else
		say ok "$1"
	fi
}

# without_headers NAME FILE: the names are the same, if they are found at all; where slots lead to them they are.
without_headers() { # NAME FILE ATLEAST
	llvm-objcopy --strip-sections "$2" "$2.bare" || return
	by_us "$2" >with
	by_us "$2.bare" >without
	if [ -n "$(comm -13 with without)" ]; then
		say FAIL "$1" "$(comm -13 with without | tr '\n' ',')is another name"
		failed=1
	elif [ "$(grep -c far_ without)" -lt "$3" ]; then
		say FAIL "$1" "$(wc -l <without) names"
		failed=1
	else
		say ok "$1"
	fi
}

kind=-pie
build() { # COMPILER OPTION...: a library with far.c beside a program
	"$1" -O1 -shared -fPIC -nostdlib far.c -o libfar.so "${@:2}" 2>/dev/null &&
		"$1" -O1 -nostdlib -fPIE main.c -o prog -rdynamic -L. -lfar "${@:2}" $kind 2>/dev/null &&
		"$1" -O1 -nostdlib -shared -fPIC main.c -o lib.so -L. -lfar "${@:2}" 2>/dev/null
}

variant() { # NAME OBJDUMP ATLEAST COMPILER OPTION...: ATLEAST are found without section headers
	if ! build "${@:4}"; then
		say skip "plt, $1" "cannot be built here"
		return
	fi
	check "plt of a program, $1" "$2" prog
	check "plt of a library, $1" "$2" lib.so
	without_headers "plt of a program without section headers, $1" prog "$3"
	without_headers "plt of a library without section headers, $1" lib.so "$3"
}

variant 'bfd' objdump 2 gcc -Wl,-z,lazy -fcf-protection=none
variant 'bfd and IBT' objdump 2 gcc -Wl,-z,lazy -Wl,-z,ibtplt -fcf-protection=full
variant 'bfd, bound at once' objdump 0 gcc -Wl,-z,now -fcf-protection=none
variant 'bfd and IBT, bound at once' objdump 0 gcc -Wl,-z,now -fcf-protection=full
kind=-no-pie variant 'bfd, fixed address' objdump 2 gcc -Wl,-z,lazy -fcf-protection=none
variant 'gold' objdump 2 gcc -fuse-ld=gold -fcf-protection=none
variant 'lld' llvm-objdump 2 clang -fuse-ld=lld
variant 'lld and IBT' llvm-objdump 2 clang -fuse-ld=lld -fcf-protection=full -Wl,-z,force-ibt
variant 'lld, AArch64' llvm-objdump 2 clang --target=aarch64-linux-gnu -fuse-ld=lld
variant 'lld, AArch64 with BTI' llvm-objdump 2 clang --target=aarch64-linux-gnu -mbranch-protection=standard -fuse-ld=lld \
	-Wl,-z,force-bti
variant 'lld, AArch64 with PAC' llvm-objdump 2 clang --target=aarch64-linux-gnu -mbranch-protection=standard -fuse-ld=lld \
	-Wl,-z,pac-plt
variant 'lld, i386' llvm-objdump 2 clang --target=i386-linux-gnu -fuse-ld=lld
variant 'mold' objdump 0 gcc -fuse-ld=mold
exit $failed
