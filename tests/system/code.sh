#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Code that moves: copied over itself, moved to other addresses, one file's mapped over another's. The
# right name or a reason, never another's name.
. "$(dirname "$0")/lib.sh"

it_names_code_copied_over_itself_by_its_bytes() {
	watch "$PROGRAMS/right" $seconds over
	judge --samples "$(expected 1)" --right 85 --unnamed 15
}

it_names_code_that_was_moved() {
	watch "$PROGRAMS/right" $seconds moved
	judge --samples "$(expected 1)" --leaf '^right_first$'
}

it_says_that_copied_code_has_no_map() {
	watch "$PROGRAMS/right" $seconds copied
	judge --samples "$(expected 1)" --right 0 --unnamed 100
	ask reasons burn_right$BURN_TAG >reasons
	grep -q '^jit-no-map ' reasons || { cat reasons; fail "no word of it"; }
}

turns_mapped() { # SLICE RIGHT
	cp "$PROGRAMS"/lib{right,other}.so .
	watch "$PROGRAMS/turns" mapped 1.2 "$1" ./libright.so ./libother.so
	names_turns 1.2 --right "$2" --unnamed $((100 - $2)) --each right_work other_work
}
it_names_files_that_take_turns_at_one_address() { turns_mapped 0.1 95; }
it_names_files_that_take_turns_at_one_address_every_millisecond() { turns_mapped 0.001 80; }

# What is written through a mapping leaves no trace in the times of the file.
it_gives_no_wrong_name_to_memory_that_is_written_every_five_milliseconds() {
	watch "$PROGRAMS/turns" shared 1.2 0.005 "$PROGRAMS"/lib{right,other}.so
	names_turns 1.2 --right 0 --unnamed 100 --kernel 100
}
it_gives_no_wrong_name_to_a_file_that_is_mapped_to_be_written() {
	watch "$PROGRAMS/turns" shared 1.2 0.1 "$PROGRAMS"/lib{right,other}.so
	names_turns 1.2 --right 0 --unnamed 100
}


# Neither here nor below is there a build ID, by which the kernel would tell.
nothing_wrong() { # HOW SLICE
	cp "$PROGRAMS"/lib{right,other}.noid.so .
	watch "$PROGRAMS/turns" "$1" 1.5 "$2" ./lib{right,other}.noid.so
	names_turns 1.5 --right 0 --unnamed 100 --kernel 100
}
it_gives_no_wrong_name_to_files_that_are_mapped_over_the_start_of_the_program() { nothing_wrong start 0.1; }
it_gives_no_wrong_name_to_files_that_are_mapped_over_the_start_of_the_program_every_five_milliseconds() { nothing_wrong start 0.005; }
it_gives_no_wrong_name_to_memory_without_build_id_that_is_written_to() { nothing_wrong shared 0.1; }
it_gives_no_wrong_name_to_a_file_without_build_id_that_is_mapped_to_be_written() { nothing_wrong filed 0.1; }
it_gives_no_wrong_name_to_a_file_without_build_id_that_is_written_without_a_trace() { nothing_wrong once 0.4; }
it_gives_no_wrong_name_to_a_file_on_tmpfs_that_is_written_without_a_trace() {
	mkdir memory && mount -t tmpfs none memory && cd memory || return
	nothing_wrong once 0.4
}

run_cases "$@"
