#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: resolve.sh MAPWRIGHT. Addresses of files and processes: resolve, explain, store.
. "$(dirname "$0")/../lib/cases.sh"
mapwright=$(realpath "$1")
layouts=
for directory in ../../.. ../../../..; do # beside the repository, or beside the directory of worktrees
	directory=$(realpath "$(dirname "$0")/$directory")/shared/cases
	[ -z "$layouts" ] && [ -e "$directory/build-elf.sh" ] && layouts=$directory/build-elf.sh
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache
unset COLUMNS

cat >calc.c <<'E_'
static inline __attribute__((always_inline)) int square(int x)
{
	volatile int y = x;
	return y * x;
}
static inline __attribute__((always_inline)) int cube(int x)
{
	return square(x) * x;
}
int main(int c, char **v)
{
	int s = 0;
	for (int i = 0; i < c; i++)
		s += cube(i);
	return s;
}
E_
cat >shapes.cc <<'E_'
#include <algorithm>
#include <string>
#include <vector>
namespace shapes {
struct box {
	int w, h;
	int area() const { return w * h; }
};
__attribute__((noinline)) int largest(std::vector<box> &boxes)
{
	std::sort(boxes.begin(), boxes.end(), [](const box &a, const box &b) { return a.area() < b.area(); });
	return boxes.back().area();
}
}
int main(int c, char **v)
{
	std::vector<shapes::box> boxes;
	for (int i = 0; i < c; i++)
		boxes.push_back({i, i + 1});
	return shapes::largest(boxes) + (int)std::string(v[0]).size();
}
E_
cat >wait.c <<'E_'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int here(void) { return getpid(); }
int main(void) { printf("%p\n", (void *)here); fflush(stdout); return sleep(600) + here(); }
E_
gcc -O2 -g calc.c -o calc && gcc -O2 -g wait.c -o waiting && g++ -O2 -g -fno-pie -no-pie shapes.cc -o shapes ||
	{ echo "FAIL programs cannot be built"; exit 1; }
store=$work/store
resolve() { "$mapwright" resolve --store "$store" "$@"; }
# every byte of the functions of a program's own
addresses() {
	nm -S --defined-only "$1" | awk 'NF == 4 && $3 ~ /[tTwW]/ { print $1, $2 }' | while read -r start size; do
		for ((i = 0; i < 16#$size; i++)); do printf '0x%x\n' $((16#$start + i)); done
	done
}
start_of() { nm "$1" | awk -v name="$2" '$3 == name { print $1; exit }'; }
first_line() { echo "0x$(start_of calc $1 | sed 's/^0*//'): $1 at $(addr2line -e calc "$(start_of calc $1)")"; }
is() { [ "$1" = "$2" ] || { printf 'got\n%s\ninstead of\n%s\n' "$1" "$2"; false; }; }

chain() {
	local at
	at=$(addr2line -fie calc $(addresses calc) | grep -m1 -n '^square$' >/dev/null && addresses calc | while read -r a; do
		[ "$(addr2line -fe calc "$a" | head -1)" = square ] && echo "$a" && break; done)
	is "$(resolve -e calc "$at")" "$at: square at $work/calc.c:$(addr2line -e calc "$at" | sed 's/.*://')
 (inlined by) cube at $work/calc.c:8
 (inlined by) main at $work/calc.c:14"
}
# Of the sources binutils 2.40 now and then names the unit's own
# instead of the one that the line is in, which shows where that has no such line.
as_addr2line() {
	addresses "$1" >list
	[ -s list ] || return 1
	addr2line "$2" -e "$1" <list >theirs
	resolve --addr2line ${3:-} -e "$1" --file list >ours && [ "$(wc -l <ours)" -eq "$(wc -l <theirs)" ] &&
		paste -d '\n' theirs ours | awk -v last="$(wc -l <shapes.cc)" 'NR % 2 { theirs = $0; next }
			theirs != $0 && !(match(theirs, /shapes.cc:[0-9]+$/) && substr(theirs, RSTART + 10) + 0 > last) {
				print theirs; print $0; bad = 1 } END { exit bad }' | cut -c1-200
	[ "${PIPESTATUS[1]}" -eq 0 ]
}
no_debug_information() {
	strip -g -o stripped calc && resolve -e calc 0 >/dev/null &&
		is "$(resolve -e stripped "$(start_of calc main)")" "$(first_line main)"
}
warm() {
	resolve --store warm -e calc 0x0 >/dev/null && resolve -v --store warm -e calc 0x0 2>&1 | grep -q 'lines: in the store'
}
offsets() { # of a program whose text has another offset than its address
	clang -O1 -g -fuse-ld=lld -fPIE -pie calc.c -o lld || return
	local address offset
	address=$(start_of lld main)
	offset=$(readelf -SW lld | sed 's/\[ *[0-9]*\]//' | awk '$1 == ".text" { print $3, $4 }' |
		{ read -r a o; printf '%x' $((16#$address - 16#$a + 16#$o)); })
	[ "$((16#$address))" -ne "$((16#$offset))" ] &&
		is "$(resolve -e lld --offsets "$offset" | sed 's/^[^ ]* //')" "$(resolve -e lld "$address" | sed 's/^[^ ]* //')" &&
		is "$(resolve --build-id "$(readelf -n lld | awk '/Build ID/ { print $3 }')" "$offset")" "$(resolve -e lld --offsets "$offset")"
}
reasons() {
	is "$(resolve -e calc 0x0)" '0x0: ?? (no-symbol-there)' && is "$(resolve -e calc --offsets 0x0)" '0x0: ?? (ghost)' &&
		is "$(resolve -e calc --offsets 0xffffffffffc00000)" '0xffffffffffc00000: ?? (not-in-file)' &&
		is "$(resolve --build-id 00112233445566778899 0x10)" '0x10: ?? (file-gone)'
}
demangled() {
	local at
	at=$(nm shapes | awk '/largest/ && $2 ~ /[tT]/ { print $1; exit }')
	resolve -e shapes "$at" | grep -q 'shapes::largest(std::vector<' && resolve --mangled -e shapes "$at" | grep -q '_ZN6shapes7largest'
}
json() {
	addresses calc | resolve --json -e calc | python3 -c '
import json, sys
answers = [json.loads(line) for line in sys.stdin]
assert len(answers) > 30
deep = [a for a in answers if len(a["frames"]) == 3]
assert deep and [f["symbol"] for f in deep[0]["frames"]] == ["square", "cube", "main"], deep[:1]
assert [f.get("inlined", False) for f in deep[0]["frames"]] == [True, True, False]
assert all(a["file_id"].startswith("gnu:") and "offset" in a for a in answers)'
}
in_turn() { # each answer comes before the next question
	local answer
	coproc RESOLVE { "$mapwright" resolve --store "$store" -e calc; }
	for at in $(addresses calc | head -5); do
		echo "$at" >&"${RESOLVE[1]}"
		read -t 20 -r answer <&"${RESOLVE[0]}" || return 1
		case $answer in "$at: "*) ;; *) echo "$answer"; return 1 ;; esac
		while read -t 0.2 -r answer <&"${RESOLVE[0]}"; do :; done
	done
	exec {RESOLVE[1]}>&-
	wait "$RESOLVE_PID"
}
bad_lines() {
	local status=0
	printf '0x0\nhello\n0x1\n' | resolve -e calc >out 2>err || status=$?
	is "$(wc -l <out)" 2 && [ $status -eq 1 ] && grep -q 'standard input: line 2: not an address: hello' err
}
misuse() {
	local status=0
	resolve 0x1 2>err || status=$?
	[ $status -eq 2 ] && grep -q 'addresses of what?' err
}
no_elf() {
	local status=0
	resolve -e calc.c 0x1 >out 2>err || status=$?
	[ $status -eq 1 ] && grep -q 'calc.c: not an ELF file' err && ! [ -s out ]
}
unwritable() { # as root everything can be written to, but not a directory that is none
	: >blocked && is "$("$mapwright" resolve --store "$work/blocked/store" -e calc "$(start_of calc main)" | wc -l)" 1
}
many() { # more than one batch, in the order of the questions
	for _ in $(seq 300); do addresses calc; done | shuf --random-source=<(yes) >list
	[ "$(wc -l <list)" -gt 20000 ] && resolve -e calc --file list | sed -n 's/^\(0x[0-9a-f]*\): .*/\1/p' | cmp - list
}
closed_pipe() { # a reader who leaves ends it, without a word
	resolve -e calc --file list 2>err | head -1 >/dev/null
	! [ -s err ] || { cat err; false; }
}
process() {
	local pid at
	./waiting >where &
	pid=$!
	while ! [ -s where ]; do sleep 0.05; done
	at=$(cat where)
	resolve -p $pid "$at" 0x10 >out
	"$mapwright" explain --store "$store" -p $pid "$at" >why
	kill $pid
	wait $pid 2>/dev/null
	grep -q "^$at: here at $work/wait.c:3" out && grep -q '^0x10: ?? (no-mapping)' out &&
		grep -q '^mapping .*waiting' why && grep -q '^tried .*map_files: opened' why && grep -q '^answer .*here' why
}
replaced() { # the file that runs, not the one of its name
	local pid at
	cp waiting moving && ./moving >where &
	sleep 0.1
	while ! [ -s where ]; do sleep 0.05; done
	pid=$(pgrep -nx moving)
	cp calc moving.new && mv moving.new moving
	at=$(cat where)
	resolve -p "$pid" "$at" >out
	kill "$pid"
	wait 2>/dev/null
	grep -q "^$at: here" out || { cat out; false; }
}
explained() {
	objcopy --only-keep-debug calc calc.debug && strip -o bare calc && objcopy --add-gnu-debuglink=calc.debug bare &&
		"$mapwright" explain --store other -e bare "$(start_of calc main)" >why &&
		grep -q '^has *\.symtab *there is none' why && grep -q '^has *\.gnu_debuglink .*calc.debug' why &&
		grep -q '^debug .*calc.debug: used: the same build ID' why && grep -q "^answer *$(first_line main | sed 's/.*: //')" why &&
		"$mapwright" explain --json --store other -e bare "$(start_of calc main)" | python3 -c '
import json, sys
why = json.load(sys.stdin)
assert why["answer"] and why["has"] and why["debug"] and why["file_id"], why'
}
wrong_link() { # without build IDs the checksum decides
	gcc -O2 -g -Wl,--build-id=none calc.c -o plain && objcopy --only-keep-debug plain plain.debug &&
		strip -o unsigned plain && objcopy --add-gnu-debuglink=plain.debug unsigned && printf x >>plain.debug || return
	is "$("$mapwright" resolve --store link -e unsigned "$(start_of plain main)" | sed 's/.*: //')" '?? (stripped)' &&
		"$mapwright" explain --store link2 -e unsigned "$(start_of plain main)" | grep -q 'not used: its checksum'
}

stored() {
	"$mapwright" store add --store kept calc shapes >out && grep -q '^calc: gnu:.*names: .symtab, lines: debug_info' out &&
		[ "$("$mapwright" store ls --store kept --json | wc -l)" -eq 2 ] && "$mapwright" store verify --store kept >out &&
		grep -q '^2 files, 0 faults' out && [ -d "$("$mapwright" store path --store kept "$(readelf -n calc | awk '/Build ID/ { print $3 }')")" ]
}
broken_store() {
	local entry status=0
	cp -r kept broken
	entry=$("$mapwright" store path --store broken "$(readelf -n calc | awk '/Build ID/ { print $3 }')")
	printf x | dd of="$entry/lines.gsym" bs=1 seek=60 conv=notrunc 2>/dev/null
	"$mapwright" store verify --store broken >out || status=$?
	[ $status -eq 1 ] && grep -q 'lines: is not the file that its meta describes' out &&
		is "$("$mapwright" resolve --store broken -e calc "$(start_of calc main)" | tail -1)" "$(first_line main)" &&
		"$mapwright" store verify --store broken >/dev/null
}
cleaned() {
	"$mapwright" store gc --store kept --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["entries"] == 2'
}
no_store_action() {
	local status=0
	"$mapwright" store fly 2>err || status=$?
	[ $status -eq 2 ] && grep -q 'fly is none of ls, add, gc, verify, path' err
}

# The layouts of shared/cases, each with a store of its own: many have the same build ID.
build_layouts() { mkdir -p elf && bash "$layouts" "$work/elf" >/dev/null 2>&1 && [ -x elf/full ]; }
layout_names() { # the functions of each file, where they are
	local file name at failed=0
	for file in elf/b0[1-5]* elf/b08* elf/b09* elf/b1[0-4]* elf/b20* elf/b22* "elf/b17 space name"; do
		for name in hot_a hot_b hot_far hot_near hot_after_bss impl1 work work.cold; do
			at=$(start_of "$file" $name)
			[ -n "$at" ] && [ "$file $name" != 'elf/b08_ifunc work' ] || continue
			rm -rf fresh
			case $("$mapwright" resolve --store fresh -e "$file" "$at" 2>&1 | tail -1) in
			*": $name"* | *") $name"*) ;;
			*) echo "$file: $name at $at"; failed=1 ;;
			esac
		done
	done
	[ $failed -eq 0 ]
}
layout_symbols() {
	is "$("$mapwright" resolve --store symbols -e elf/b06_symbols 401000 401003 401004 401043 401044 401048 401049 40104b 40104e \
		401050 401052 401053 401056 401058 401059 40105a 1234 | sed 's/.*: //' | tr '\n' ' ')" \
		'sized sized ?? (no-symbol-there) ?? (no-symbol-there) zero_size zero_size next glob outer inner inner outer work.cold notype_label notype_label _start ?? (no-symbol-there) '
}
layout_links() {
	local file wanted at failed=0
	at=$(start_of elf/full hot_a)
	while read -r file wanted; do
		rm -rf fresh
		"$mapwright" resolve --store fresh -e "elf/$file" "$at" 2>/dev/null | grep -q ": $wanted" || { echo "$file: not $wanted"; failed=1; }
	done <<-'E_'
		b15_stripped hot_a at .*spin.c:2
		b15_badcrc hot_a at .*spin.c:2
		b15_shortcrc ?? (stripped)
		selfname/prog hot_a at .*spin.c:2
		b16_minidebug hot_a$
		b18_noshdr ??
		b19_truncated ??
	E_
	[ $failed -eq 0 ]
}

check inlined_calls_come_innermost_first chain
check the_output_is_addr2lines_for_c as_addr2line calc -fipa
check the_output_is_addr2lines_for_cplusplus as_addr2line shapes -fipaC -C
check a_stripped_program_is_found_by_its_build_id no_debug_information
check a_second_run_reads_the_store_only warm
check_with ld.lld offsets_and_addresses_are_told_apart offsets
check what_has_no_name_has_a_reason reasons
check names_are_demangled_unless_asked_otherwise demangled
check_with python3 json_has_each_frame json
check questions_are_answered_one_by_one in_turn
check lines_that_are_no_addresses_are_told bad_lines
check without_anything_to_ask_it_is_misuse misuse
check what_is_no_elf_file_is_an_error no_elf
check without_a_writable_store_a_temporary_one_does unwritable
check many_answers_come_in_the_order_of_the_questions many
check a_reader_who_leaves_is_no_error closed_pipe
if [ "$(id -u)" -eq 0 ]; then
	check a_living_process_is_asked process
	check a_replaced_program_is_asked_itself replaced
else
	skip a_living_process_is_asked 'needs root'
	skip a_replaced_program_is_asked_itself 'needs root'
fi
check each_step_is_explained explained
check a_debug_file_with_another_checksum_is_not_used wrong_link
check files_are_put_into_the_store stored
check a_broken_part_is_found_and_made_again broken_store
check_with python3 a_store_is_cleaned cleaned
check an_action_that_is_none_is_misuse no_store_action
if [ -n "$layouts" ] && build_layouts; then
	check names_of_awkward_layouts_are_right layout_names
	check one_of_several_symbols_is_chosen layout_symbols
	check debug_links_and_cut_files_are_told layout_links
else
	skip names_of_awkward_layouts_are_right 'no shared/cases/build-elf.sh'
fi
finish
