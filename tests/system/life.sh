#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs and their files that come and go: unlinked, replaced, without any name; children, threads,
# process ids used again, one program that becomes another.
. "$(dirname "$0")/lib.sh"

# while_running COMMAND: does it once ./prog has got its first samples.
while_running() {
	BURN_STARTED=$here/started watch bash -c "./prog $seconds & until_there started; $1; wait"
}

it_names_a_program_that_was_deleted() {
	cp "$PROGRAMS/right" prog
	while_running "rm prog"
	names_all
}

it_names_a_program_that_was_deleted_before_its_first_sample() {
	cp "$PROGRAMS/right" prog
	watch ./prog $seconds unlinked
	names_all
}

it_names_a_program_that_was_replaced() {
	cp "$PROGRAMS/right" prog
	cp "$PROGRAMS/wrong" new
	while_running "mv new prog"
	names_all
}

it_names_a_program_over_whose_name_a_hard_link_was_moved() {
	cp "$PROGRAMS/right" prog
	cp "$PROGRAMS/wrong" decoy
	ln decoy link
	while_running "mv link prog"
	names_all
}

it_names_a_program_whose_directory_was_replaced() {
	mkdir bin new
	cp "$PROGRAMS/right" bin/prog
	cp "$PROGRAMS/wrong" new/prog
	BURN_STARTED=$here/started watch bash -c "bin/prog $seconds & until_there started; mv bin old; mv new bin; wait"
	names_all
}

it_names_a_program_behind_a_symbolic_link_that_was_turned() {
	cp "$PROGRAMS/right" first
	cp "$PROGRAMS/wrong" second
	ln -s first prog
	while_running "ln -sf second prog; rm first"
	names_all
}

it_names_a_program_in_memory() {
	watch "$PROGRAMS/nameless" memfd "$PROGRAMS/right" $seconds
	names_all
}

it_names_a_program_in_a_file_that_never_had_a_name() {
	watch "$PROGRAMS/nameless" tmpfile "$PROGRAMS/right" $seconds
	names_all
}

it_names_a_program_that_was_run_by_descriptor() {
	cp "$PROGRAMS/right" prog
	watch "$PROGRAMS/nameless" descriptor ./prog $seconds
	names_all
}

# The kernel runs `interpreter TIME ./script`, and burn takes the script's name for the way to burn.
it_names_a_program_that_is_an_interpreter() {
	mkdir bin
	cp "$PROGRAMS/right" bin/interpreter
	printf '#!%s/bin/interpreter %s\n' "$here" $seconds >flat
	chmod +x flat
	BURN_STARTED=$here/started PATH=$here:$PATH watch bash -c "flat & until_there started; rm -r bin flat; wait"
	names_all
}

it_names_parent_and_child() {
	watch "$PROGRAMS/right" $seconds fork
	judge --samples "$(expected 2)" --each right_first right_second
}

it_names_parent_and_child_of_a_vfork() {
	watch "$PROGRAMS/right" $seconds vfork
	judge --samples "$(expected 2)" --each right_first right_second
}

it_names_a_thread_whose_main_thread_has_ended() {
	watch sh -c "$PROGRAMS/right $seconds thread; sleep 1"
	names_all
}

it_names_a_thread_whose_main_thread_has_ended_in_a_chroot() {
	make_root root "$PROGRAMS/right.static" "$here/prog"
	cp "$PROGRAMS/wrong.static" prog
	watch chroot root "$here/prog" $seconds thread
	names_all
}

it_names_a_thread_whose_main_thread_has_ended_and_whose_file_is_deleted() {
	cp "$PROGRAMS/right" prog
	BURN_STARTED=$here/started watch bash -c "./prog $seconds thread & until_there started; rm prog; wait"
	names_all
}

# As many processes as they are short, each of a file of its own that is removed at once.
it_names_processes_of_fifteen_milliseconds() {
	watch sh -c "for i in \$(seq 60); do cp $PROGRAMS/right.static p\$i; ./p\$i 0.015; rm p\$i; done; sleep 0.2"
	judge --samples "$(awk -v f=$frequency 'BEGIN { print int(f * 60 * 0.015) }')"
}

it_names_libraries_that_take_turns() {
	watch "$PROGRAMS/turns" loaded 1.2 0.02 "$PROGRAMS/libright.so" "$PROGRAMS/libother.so"
	names_turns 1.2 --right 80 --unnamed 5 --each right_work other_work
}

# Without build IDs, the immediate engine must find out afterwards what was where, and in vain: no name
# will do, the other's will not.
it_gives_no_wrong_name_to_libraries_that_take_turns_too_fast() {
	local engine
	for engine in deferred immediate; do
		record -q -a -g -F $frequency --engine $engine -- "$PROGRAMS/turns" loaded 1.2 0.004 "$PROGRAMS"/lib{right,other}.noid.so || return
		names_turns 1.2 --right 0 --unnamed 100 --kernel 100 || return
	done
}

it_names_a_library_without_build_id_on_both_engines() {
	local engine
	for engine in deferred immediate; do
		record -q -a -g -F $frequency --engine $engine -- "$PROGRAMS/turns" loaded 0.8 0.8 "$PROGRAMS"/lib{right,other}.noid.so || return
		names_turns 0.8 --right 80 --unnamed 10 || return
	done
}

it_names_libraries_that_were_deleted_after_loading() {
	cp "$PROGRAMS"/lib{right,other}.so .
	watch "$PROGRAMS/turns" unlinked $seconds 0.02 ./libright.so ./libother.so
	! [ -e libright.so ] && names_turns $seconds --each right_work other_work
}

it_names_a_preloaded_library_that_was_deleted() {
	cp "$PROGRAMS/libright.so" lib.so
	BURN_STARTED=$here/started PRELOAD_SECONDS=$seconds \
		watch bash -c "LD_PRELOAD=./lib.so $PROGRAMS/right 0.01 & until_there started; rm lib.so; wait"
	judge --command preloaded --samples "$(expected 1)" --leaf '^right_work' --may-be-more
}

it_tells_two_programs_of_one_process_id_apart() {
	watch "$PROGRAMS/same_pid" 0.1 12 "$PROGRAMS/right" "$PROGRAMS/other"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

it_follows_a_process_that_becomes_another_program_again_and_again() {
	watch "$PROGRAMS/right" 0.02 exec 59 "$PROGRAMS/other"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

names_of_file() { # NAME: runs a program of that name, and asks for one line per stack
	cp "$PROGRAMS/right.stripped" "$1"
	watch "./$1" 0.3
	"$mapwright" export -f folded p.mwp | grep "^burn_right$BURN_TAG;" >stacks
	[ -s stacks ] && ! grep -v "^burn_right.* [0-9]*$" stacks
}

it_keeps_a_file_name_with_a_newline_on_one_line() {
	names_of_file $'new\nline'
	says 'new' stacks
}

it_keeps_a_file_name_that_ends_in_deleted() {
	names_of_file 'name (deleted)'
	says 'name (deleted)' stacks
}

it_keeps_a_file_name_with_a_semicolon_in_one_frame() {
	names_of_file 'semi;right_colon'
	! grep ';right_colon' stacks
}

it_names_a_deleted_program_whose_name_had_a_newline() {
	cp "$PROGRAMS/right" $'new\nline'
	cp "$PROGRAMS/wrong" new
	BURN_STARTED=$here/started watch bash -c "./\$'new\nline' $seconds & until_there started; rm \$'new\nline'; wait"
	names_all
}

run_cases "$@"
