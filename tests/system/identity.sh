#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which content it was: build IDs of every length, none, files that change under a running program,
# different files with one path, one inode, one size and one time.
. "$(dirname "$0")/lib.sh"

names_build_id() { # LENGTH HEX
	cp "$PROGRAMS/right.id$1" prog
	watch ./prog $seconds
	names_all && [ "$(ask file-id "$here/prog")" = "gnu:$2" ] || fail "the id is $(ask file-id "$here/prog")"
}
repeat() { printf "$1%.0s" $(seq "$2"); }
it_names_a_program_with_a_build_id_of_2_bytes() { names_build_id 2 beef; }
it_names_a_program_with_a_build_id_of_8_bytes() { names_build_id 8 0123456789abcdef; }
it_names_a_program_with_a_build_id_of_32_bytes() { names_build_id 32 "$(repeat ab 32)"; }
it_names_a_program_with_a_build_id_of_64_bytes() { names_build_id 64 "$(repeat cd 64)"; }

it_tells_a_build_id_from_a_longer_one_that_begins_with_it() {
	watch sh -c "$PROGRAMS/right.id8 $seconds; $PROGRAMS/other.id20 $seconds"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

it_names_a_program_without_build_id() {
	watch "$PROGRAMS/right.noid" $seconds
	names_all
}

it_names_a_static_program_without_build_id() {
	watch "$PROGRAMS/right.static.noid" $seconds
	names_all
}

it_names_a_program_without_build_id_that_was_replaced() {
	cp -p "$PROGRAMS/right.noid" prog
	cp -p "$PROGRAMS/wrong.noid" new
	touch -r prog new
	BURN_STARTED=$here/started watch bash -c "./prog $seconds & until_there started; mv new prog; wait"
	names_all
}

# One path, programs of one size without build ID, several times each, faster than a report is made.
it_tells_programs_without_build_id_apart_that_replace_each_other() {
	watch sh -c "for i in 1 2 3 4 5 6; do cp -p $PROGRAMS/right.noid new; mv new prog; ./prog 0.1
		cp -p $PROGRAMS/other.noid new; mv new prog; ./prog 0.1; done"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

# On tmpfs the next file may get the inode number of the last.
it_tells_programs_apart_that_use_an_inode_again() {
	mkdir bin
	mount -t tmpfs none bin
	cp "$PROGRAMS"/{right,other}.noid .
	watch sh -c "for i in 1 2 3 4 5 6; do cp -p right.noid bin/prog; bin/prog 0.1; rm bin/prog
		cp -p other.noid bin/prog; bin/prog 0.1; rm bin/prog; done"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

it_tells_programs_apart_that_are_written_over_each_other() {
	watch sh -c "for i in 1 2 3 4 5 6; do cat $PROGRAMS/right.noid >prog; chmod +x prog; ./prog 0.1
		cat $PROGRAMS/other.noid >prog; ./prog 0.1; done"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

it_tells_programs_apart_that_are_written_over_each_other_with_their_time_set_back() {
	watch sh -c "for i in 1 2 3 4 5 6; do cat $PROGRAMS/right.noid >prog; chmod +x prog; touch -d @1000000000 prog; ./prog 0.1
		cat $PROGRAMS/other.noid >prog; touch -d @1000000000 prog; ./prog 0.1; done"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

# The same head, the same tail and the same size: all that a hash of both ends would see.
it_tells_programs_apart_that_differ_only_in_the_middle() {
	local side
	for side in right other; do
		cp "$PROGRAMS/$side.noid" $side
		head -c 8192 /dev/zero >>$side
	done
	watch sh -c "./right $seconds; ./other $seconds"
	# A reason will do, another's name will not.
	judge --samples "$(expected 1)" --right 0 --unnamed 100 &&
		judge --command burn_other --leaf '^other_' --samples "$(expected 1)" --right 0 --unnamed 100
}

# The program itself writes the library and knows whose turn it is. Few have names when turns are short:
# the content may be another's by the time that the file is opened.
overwritten() { # HOW SLICE RIGHT [KIND]
	local kind=${4:-so}
	cp "$PROGRAMS"/lib{right,other}.$kind .
	watch "$PROGRAMS/turns" "$1" 1.5 "$2" ./lib{right,other}.$kind
	names_turns 1.5 --right "$3" --unnamed 100 --kernel 100
}
it_names_a_library_by_what_was_in_it_at_the_sample() { overwritten written 0.3 80; }
it_gives_no_wrong_name_to_a_library_that_is_written_every_ten_milliseconds() { overwritten written 0.01 0; }
it_gives_no_wrong_name_to_a_library_whose_time_is_set_back() { overwritten restored 0.3 0; }
it_gives_no_wrong_name_to_a_library_whose_time_is_set_back_every_ten_milliseconds() { overwritten restored 0.01 0; }
it_gives_no_wrong_name_to_a_library_whose_time_is_set_back_every_five_milliseconds() { overwritten restored 0.005 0; }
it_names_a_library_without_build_id_by_what_was_in_it_at_the_sample() { overwritten written 0.4 40 noid.so; }
it_gives_no_wrong_name_to_a_library_without_build_id_that_is_written_every_ten_milliseconds() { overwritten written 0.01 0 noid.so; }
it_gives_no_wrong_name_to_a_library_without_build_id_whose_time_is_set_back() { overwritten restored 0.1 0 noid.so; }

# The recorder sleeps meanwhile: what it finds under the executed file's inode is another content by then,
# of the same size and modification time.
it_gives_no_wrong_name_to_a_program_that_is_written_over_while_the_recorder_is_stopped() {
	local side
	for side in right wrong; do
		cp "$PROGRAMS/$side" $side
		truncate -s 100K $side
	done
	touch -r right wrong
	watch bash -c 'kill -STOP $PPID; ./right '$seconds'; cp -p wrong right; sleep 0.2; kill -CONT $PPID; sleep 0.3'
	judge --samples "$(expected 1)" --right 0 --unnamed 100
}

# And is gone then, so that an unlink could be why its change time moved on.
it_gives_no_wrong_name_to_a_program_that_is_written_over_and_removed_while_the_recorder_is_stopped() {
	local side
	for side in right wrong; do
		cp "$PROGRAMS/$side" $side
		truncate -s 100K $side
	done
	touch -r right wrong
	watch bash -c 'kill -STOP $PPID; ./right '$seconds'; cp -p wrong right; rm right; sleep 0.2; kill -CONT $PPID; sleep 0.3'
	judge --samples "$(expected 1)" --right 0 --unnamed 100
}

# ---- one build ID, several contents -----------------------------------------------------------------

# The immediate engine knows the id first, and may have to say that it tells nothing: --right and --unnamed.
if [ "${MAPWRIGHT_ENGINE:-}" = immediate ]; then same_id="--right 0 --unnamed 100"; else same_id=; fi

names_both() { # SAMPLES OPTION...: of burn_right and burn_other
	judge --samples "$(expected "$1")" "${@:2}" && judge --command burn_other --samples "$(expected "$1")" --leaf '^other_' "${@:2}"
}
it_tells_programs_apart_that_have_one_build_id() {
	watch sh -c "$PROGRAMS/right.sameid $seconds; $PROGRAMS/other.sameid $seconds"
	names_both 1 $same_id
}
it_tells_programs_apart_that_have_one_build_id_and_run_together() {
	watch sh -c "$PROGRAMS/right.sameid $seconds & $PROGRAMS/other.sameid $seconds & wait"
	names_both 1 $same_id
}
it_tells_programs_apart_that_have_one_build_id_and_replace_each_other() {
	watch sh -c "for i in 1 2 3 4 5 6; do cp $PROGRAMS/other.sameid new; mv new prog; ./prog 0.1
		cp $PROGRAMS/right.sameid new; mv new prog; ./prog 0.1; done"
	names_both 1 $same_id
}
it_tells_programs_apart_that_have_one_build_id_and_are_written_over_each_other() {
	watch sh -c "for i in 1 2 3 4 5 6; do cat $PROGRAMS/right.sameid >prog; chmod +x prog; ./prog 0.1
		cat $PROGRAMS/other.sameid >prog; ./prog 0.1; done"
	names_both 1 $same_id
}
# The store knows one of them from before, and of the other it has the same id.
it_tells_programs_apart_that_have_one_build_id_in_another_recording() {
	local side
	for side in other right other right; do
		watch "$PROGRAMS/$side.sameid" $seconds
		judge --command burn_$side --samples "$(expected 1)" --leaf "^${side}_" $same_id || return
	done
}
it_tells_libraries_apart_that_have_one_build_id() {
	watch "$PROGRAMS/turns" loaded 1.2 0.1 "$PROGRAMS"/lib{right,other}.sameid.so
	names_turns 1.2 --right 80 --unnamed 5 --each right_work other_work $same_id
}
it_tells_libraries_apart_that_have_one_build_id_and_are_written_over_each_other() {
	cp "$PROGRAMS"/lib{right,other}.sameid.so .
	watch "$PROGRAMS/turns" written 1.5 0.3 ./lib{right,other}.sameid.so
	names_turns 1.5 --right 60 --unnamed 100 --kernel 100 $same_id
}
# Stripped or not, it is one content, and what the one is called the other is called, too.
it_names_a_stripped_program_by_a_copy_that_is_not() {
	cp "$PROGRAMS/right" whole
	strip -o stripped whole
	watch sh -c "./stripped $seconds; ./whole $seconds"
	judge --samples "$(expected 2)" --each right_first right_second
}

it_gives_no_wrong_name_to_a_library_that_was_written_over_and_unlinked_while_the_recorder_was_stopped() {
	local kind
	for kind in so noid.so; do
		rm -f gone
		watch bash -c "kill -STOP \$PPID; $PROGRAMS/turns gone 1 0.3 $PROGRAMS/lib{right,other}.$kind &
			until_there gone; kill -CONT \$PPID; wait"
		names_turns 1 --right 0 --unnamed 100 --kernel 100 || return
	done
}

it_says_that_a_program_is_stripped() {
	watch "$PROGRAMS/right.stripped" $seconds
	ask reasons burn_right$BURN_TAG >reasons
	grep -q '^stripped ' reasons || { cat reasons; fail "no word of it"; }
}

run_cases "$@"
