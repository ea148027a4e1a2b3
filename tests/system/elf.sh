#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# ELF files of awkward layout, each run and recorded alone. They are built by cases/build-elf.sh of the
# project's shared directory, and the names they must get are in its README. MW_SHARED says where it is.
. "$(dirname "$0")/lib.sh"

shared_cases() {
	local directory
	for directory in "${MW_SHARED:-}" "$tests/../../../shared" /work/shared; do
		[ -x "$directory/cases/build-elf.sh" ] && echo "$directory/cases" && return
	done
}

# The files, built once for all cases of this run.
build_all() {
	local cases
	[ ! -d "$work/elf" ] || return 0
	need clang ld.lld objcopy xz python3
	cases=$(shared_cases) && [ -n "$cases" ] || skip "no shared/cases here; set MW_SHARED"
	"$cases/build-elf.sh" "$work/elf" >"$work/elf.log" 2>&1
	[ -x "$work/elf/b01_bfd_pie" ] || { cat "$work/elf.log"; fail "building failed"; }
}

# names LEAVES PROGRAM...: each has samples in each of the leaves, about as many in one as in the other,
# and hardly any elsewhere. What a program lacks is told for all of them together.
names() {
	local leaves=$1 program bad=0
	shift
	build_all || return
	for program in "$@"; do
		[ -x "$work/elf/$program" ] || { echo "$program was not built"; bad=1; continue; }
		record -q -F 999 -- "$work/elf/$program" 200000000 2>&1 | grep -v '^$'
		leaves_are "$leaves" "$(basename "$program")" || { echo "$program: not $leaves"; bad=1; }
	done
	[ $bad -eq 0 ]
}

leaves_are() { # LEAVES COMMAND
	judge --untagged --command "$(command_name "$2")" --samples 75 --may-be-more --each $1 --share 15 --leaf "^($(tr ' ' '|' <<<"$1"))\$"
}
# As the kernel cuts it, and as folded stacks escape it.
command_name() { python3 -c 'import sys; print(sys.argv[1][:15].replace("\n", "\\x0a"))' "$1"; }

id_of() { # PROGRAM: what follows the head of its first note of that kind, in hexadecimal
	objcopy --dump-section .note.gnu.build-id="$work/note" "$work/elf/$1" /dev/null 2>/dev/null
	tail -c +17 "$work/note" | od -An -v -tx1 | tr -d ' \n'
}
has_id() { # PROGRAM ID
	build_all && record -q -F 999 -- "$work/elf/$1" 100000000 || true
	[ "$(ask file-id "/$1")" = "$2" ] || fail "$1: $(ask file-id "/$1"), not $2"
}

it_names_programs_of_three_linkers() {
	names 'hot_a hot_b' b01_bfd_pie b01_lld_pie b01_lld_nopie b01_lld_norosegment b01_gold_pie b01_noseparate
}
it_names_a_program_whose_first_address_is_not_zero() { names 'hot_a hot_b' b02_dyn_base_nonzero; }
it_names_programs_aligned_to_two_megabytes() { names 'hot_a hot_b' b03_2m_align b03_lld_2m_sep; }
it_names_functions_in_two_executable_segments() { names 'hot_far hot_near' b04_two_exec_nopie b04_two_exec_pie; }
it_does_not_take_bss_for_code() { names hot_after_bss b05_bss_overlap; }
it_names_the_chosen_implementation() { names impl1 b08_ifunc; }
it_names_the_hot_part_of_a_split_function() { names work b09_cold; }
it_names_static_programs() { names 'hot_a hot_b' b10_static b10_static_pie b10_static_nobid; }
it_names_programs_with_build_ids_of_every_length() {
	names 'hot_a hot_b' b11_bid_{none,0xdead,0x0102030405060708,md5,uuid,sha1,lldfast,32bytes,64bytes}
}
it_has_build_ids_byte_by_byte() {
	local kind bad=0
	build_all || return
	for kind in 0xdead 0x0102030405060708 md5 uuid sha1 lldfast 32bytes 64bytes; do
		has_id b11_bid_$kind "gnu:$(id_of b11_bid_$kind)" || bad=1
	done
	[ $bad -eq 0 ] || return
	record -q -F 999 -- "$work/elf/b11_bid_none" 100000000
	[[ $(ask file-id /b11_bid_none) == htl:* ]] || fail "$(ask file-id /b11_bid_none)"
}
it_takes_the_first_of_two_build_ids() {
	names 'hot_a hot_b' b12_two_buildids && has_id b12_two_buildids "gnu:$(id_of b12_two_buildids)"
}
it_finds_build_ids_wherever_they_are() {
	local program
	names 'hot_a hot_b' b13_note_align8 b14_buildid_late b14_buildid_after_data || return
	for program in b13_note_align8 b14_buildid_late b14_buildid_after_data; do
		has_id $program "gnu:$(id_of $program)" || return
	done
}
it_names_a_program_by_its_debug_link() { names 'hot_a hot_b' b15_stripped selfname/prog; }
# A debug file of which the checksum is wrong may be used if its build ID is right; nothing else may.
it_gives_no_wrong_name_where_debug_links_are_broken() {
	local program
	build_all || return
	for program in b15_badcrc b15_shortcrc; do
		record -q -F 999 -- "$work/elf/$program" 200000000
		judge --untagged --command $program --samples 150 --may-be-more --right 0 --unnamed 100 || return
		"$mapwright" export -f folded p.mwp | grep "^$program;" | grep -Ev '(hot_[ab]|main|\]|_\[k\]) [0-9]+$' &&
			fail "strange leaves" && return 1
	done
	return 0
}
it_names_a_program_by_its_mini_debug_information() { names 'hot_a hot_b' b16_minidebug; }
it_names_programs_of_strange_names() {
	names 'hot_a hot_b' 'b17 space name' 'b17_name (deleted)' $'b17_new\nline' 'b17_back\012slash'
}
# It exports nothing and has no section headers: there is nothing to name it by.
it_says_why_a_program_without_section_headers_has_no_names() {
	build_all && record -q -F 999 -- "$work/elf/b18_noshdr" 200000000
	ask reasons b18_noshdr >reasons
	grep -Eq '^(stripped|no-symbol-there) [0-9]{3}' reasons || { cat reasons; fail "no reason"; } || return
	has_id b18_noshdr "gnu:$(id_of full)"
}
it_names_programs_with_every_kind_of_debug_information() {
	names 'hot_a hot_b' b20_g1 b21_split5 b22_gz b22_types
}

run_cases "$@"
