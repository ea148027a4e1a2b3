#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whether stacks that are walked by our tables are true: real programs are stopped at random moments, and
# each stack is walked by us and by elfutils (tests/unwind/unwind_truth.c, which prints and classes what
# differs). 390 stops and more; 3,000 in `make check-long`. A chain counts as the same only if all of it is.
. "$(dirname "$0")/lib.sh"

truth=$(dirname "$mapwright")/../../tests/unwind/unwind_truth
stops=${TRUTH_STOPS:-30}
[ -z "${CHECK_LONG:-}" ] || stops=200
source_file=$tests/../../src/profile/codec.c
flags="-D_GNU_SOURCE -I$tests/../../src -I$tests/../../include -I$tests/../.. -c -o /dev/null"

# agree COMMAND...: stops what comes of the command; its counts are kept for the sum.
agree() {
	local line
	[ -x "$truth" ] || skip "built without libdw"
	need "$1"
	timeout 120 "$truth" "$stops" "${seed:-1}" "${interval:-3000}" -- "$@" | tee truth.log
	[ -z "${TRUTH_LOG:-}" ] || { echo "== ${FUNCNAME[*]}"; cat truth.log; } >>"$TRUTH_LOG"
	line=$(tail -n 1 truth.log)
	[[ $line =~ ^([0-9]+)\ stops,\ ([0-9]+)\ same.*differ:\ ([0-9]+)\ guess ]] || fail "no stops"
	echo "${BASH_REMATCH[*]:1}" >>"$work/truth-counts"
	[ "${BASH_REMATCH[1]}" -ge "$stops" ] || fail "only ${BASH_REMATCH[1]} stops of $stops"
	# Where there is no rule, elfutils guesses: it is no judge. Else one may differ in a few stops; the sum
	# is held to more.
	[ $((BASH_REMATCH[2] + BASH_REMATCH[3])) -ge $((stops - 1 - stops / 50)) ] || fail "$line"
}
again() { agree bash -c "while :; do $*; done"; }

it_agrees_on_gcc_at_work() { need gcc; again "gcc -O2 $flags $source_file"; }
it_agrees_on_clang_at_work() { need clang; again "clang -O2 $flags $source_file"; }
it_agrees_on_a_compiler_of_cpp() {
	need g++
	printf '#include <map>\n#include <regex>\nint main() { std::regex r("a*"); std::map<int, int> m; return m[1]; }\n' >a.cc
	again "g++ -O1 -c -o /dev/null a.cc"
}
it_agrees_on_python() {
	need /usr/bin/python3
	agree /usr/bin/python3 -c 'import json, re
while True:
    json.dumps({"a": [1, "b"]}); re.sub("a(b)*", "c", "abab" * 20); sorted(map(str, range(100)), key=lambda s: s[::-1])'
}
it_agrees_on_perl() {
	agree perl -e 'my %h; while (1) { for (1..300000) { $h{$_ % 1000} .= "x" if $_ =~ /7(8|9)/ } my @k = sort keys %h; %h = () }'
}
it_agrees_on_bash() { agree bash -c 'while :; do x=${x:0:20}$RANDOM; [[ $x =~ a.b ]]; y=$(echo $x); done'; }
it_agrees_on_sqlite() {
	agree sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 900000) insert into t select x, hex(randomblob(8)) from c; create index i on t(b); select count(*) from t a join t b on a.b = b.b group by substr(a.b, 1, 2); select group_concat(b order by b) from t; select count(*) from t x, t y where x.a < 3000 and y.a < x.a'
}
it_agrees_on_git() {
	need git
	git init -q repository && cd repository || return
	cp "$tests"/../../src/*/*.c . && git add . && git -c user.name=a -c user.email=a@a commit -q -m one
	sed -i 's/static/extern/' ./*.c && git -c user.name=a -c user.email=a@a commit -q -a -m two
	again "git log -p --stat -w; git gc -q --aggressive; git grep -c -P 'a.*b'"
}
it_agrees_on_xz() {
	need xz
	again "xz -9e -T2 -c $(command -v perl)"
}
it_agrees_on_node() {
	# Some of its threads sleep.
	agree node -e 'const m = {}; for (let i = 0; ; i++) { m["k" + (i % 5000)] = JSON.stringify({a: i, b: [i]}); if (i % 10000 == 0) [3, 2, 1].sort((a, b) => a - b).map(x => new RegExp("a" + x)); }'
}
it_agrees_on_openssl() { # hand-written assembly
	need openssl
	again "openssl speed -seconds 1 sha256 sha512; openssl speed -seconds 1 rsa2048 ecdsap256 ecdhx25519; for c in aes-128-gcm aes-256-cbc chacha20-poly1305; do openssl speed -seconds 1 -evp \$c; done"
}
it_agrees_on_rust_programs() {
	local rustc
	rustc=$(ls ~/.rustup/toolchains/*/bin/rustc 2>/dev/null | head -n 1)
	[ -n "$rustc" ] || skip "no Rust compiler"
	printf 'use std::collections::HashMap; fn main() { let mut m = HashMap::new(); for i in 0..10 { m.insert(i, format!("{}", i)); } println!("{:?}", m); }\n' >a.rs
	again "$rustc -O -o $here/a $here/a.rs"
}
it_agrees_on_short_programs_that_start_and_end() {
	interval=700 again "ls -l /usr/bin; sort /etc/passwd; awk 'BEGIN { for (i = 0; i < 9999; i++) s = s i }'; grep -r x /etc/apt"
}

# Every kind of stack that is hard to walk, as compilers and linkers make it.
stacks() { # COMPILER FLAG...
	need "$1"
	"$1" -w -o hard_stacks "${@:2}" "$tests/programs/hard_stacks.cc" -pthread || fail "it does not build"
	stops=$((stops * 2)) interval=1500 agree ./hard_stacks
	! grep -q '^ends with' truth.log
}
it_agrees_on_hard_stacks_of_gcc() { stacks g++ -O2; }
it_agrees_on_hard_stacks_without_optimization() { stacks g++ -O0; }
it_agrees_on_hard_stacks_optimized_for_size() { stacks g++ -Os -static-pie; }
it_agrees_on_hard_stacks_of_clang_and_lld() { stacks clang++ -O3 -fuse-ld=lld; }
it_agrees_on_hard_stacks_linked_statically() { stacks g++ -O3 -mavx2 -static -fuse-ld=gold; }

# Layouts of every linker, without section headers, cut, without a build ID.
it_agrees_on_programs_of_awkward_layout() {
	local directory program line
	[ -n "${CHECK_LONG:-}" ] || skip "only in make check-long"
	for directory in "${MW_SHARED:-}" "$tests/../../../shared" /work/shared; do
		[ -x "$directory/cases/build-elf.sh" ] && break
	done
	[ -x "$directory/cases/build-elf.sh" ] || skip "no shared/cases here; set MW_SHARED"
	"$directory/cases/build-elf.sh" "$here/elf" >build.log 2>&1
	for program in elf/b*; do
		[ -x "$program" ] && file -L "$program" | grep -q 'executable\|interpreter' &&
			[[ $program != *.debug && $program != *.so && $program != *b06* ]] || continue
		line=$(timeout 20 "$truth" 8 1 1000 -- "./$program" 100000000 | tail -n 1)
		[[ $line == "8 stops, 8 same"*" 8 whole"* ]] || { echo "$program: $line"; touch bad; }
	done
	[ ! -e bad ]
}

it_agrees_in_at_least_99_5_percent_of_all() {
	[ -s "$work/truth-counts" ] || skip "nothing was compared"
	awk '{ n += $1; same += $2; guess += $3 }
		END {
			print same " of " n " chains are the same: " 100 * same / n " %; " guess " part where elfutils has no rule"
			exit same + guess < n * 0.995 || same < n * 0.97
		}' "$work/truth-counts"
}

run_cases "$@"
