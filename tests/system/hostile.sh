#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that run, and whose files lie to whoever parses them: recording goes on, the others keep their
# names, and for these there is a reason.
. "$(dirname "$0")/lib.sh"

# of_each: each hostile file has samples, and a reason that tells of the file. Of two it is only the notes
# or one name that lie: their functions may be read all the same.
readable=' notes_past_the_end one_name_of_a_megabyte '
of_each() {
	local path name bad=0
	"$mapwright" export -f json p.mwp >json || return
	for path in hostile/*; do
		name=$(basename "$path")
		"$tests/query.py" leaves "$here/hostile/$name" <json >leaves
		echo "$name: $(paste -sd , leaves)"
		[ -s leaves ] || { echo "$name was not seen"; bad=1; }
		! grep -E '^(raced|evicted|ghost|file-gone|id-mismatch|no-mapping|not-in-file|none) ' leaves || { echo "$name"; bad=1; }
		if [[ $readable != *" $name "* ]]; then
			grep -Eq '^(parser-failed|stripped|no-symbol-there|timeout) ' leaves || { echo "no reason for $name"; bad=1; }
		fi
	done
	[ $bad -eq 0 ]
}

hostile_programs() {
	mkdir hostile && "$tests/programs/hostile.py" "$PROGRAMS/wrong.static" hostile
}

it_goes_on_whatever_files_claim_to_be() {
	hostile_programs || return
	local start=$SECONDS
	watch sh -c "for p in hostile/*; do \$p 0.1; done; $PROGRAMS/right $seconds" || return
	[ $((SECONDS - start)) -lt 30 ] || fail "it took $((SECONDS - start)) s" || return
	names_all && of_each
}

# The same again, with the store that knows of some failures by now, and all of them at once.
it_goes_on_when_all_of_them_come_at_once() {
	hostile_programs || return
	watch sh -c "for p in hostile/*; do \$p 0.1 & done; wait; $PROGRAMS/right $seconds" || return
	watch sh -c "for p in hostile/*; do \$p 0.1 & done; $PROGRAMS/right $seconds; wait" || return
	names_all && of_each
}

# What a parser could not read must not stand in the store for what the next one can.
it_names_a_whole_file_after_its_cut_one() {
	mkdir cut
	head -c "$(($(stat -c %s "$PROGRAMS/right.static") - 3000))" "$PROGRAMS/right.static" >cut/prog
	chmod +x cut/prog
	watch sh -c "cut/prog 0.3; sleep 0.5; $PROGRAMS/right.static $seconds"
	judge --samples "$(expected 1)" --may-be-more --right 60 --unnamed 40 || return
	ask leaves "$PROGRAMS/right.static" >leaves
	! grep -E '^(parser-failed|stripped|file-gone|no-symbol-there) ' leaves || fail "the whole file suffers for the cut one"
}

it_says_that_code_in_a_file_of_nothing_else_is_no_program() {
	watch "$PROGRAMS/right" $seconds filed code
	judge --samples "$(expected 1)" --right 0 --unnamed 100 || return
	ask leaves "$here/code" >leaves
	grep -Eq '^(parser-failed|stripped) [0-9]{3}' leaves || { cat leaves; fail "no reason"; }
}

# It is emptied while it runs: the pages stay mapped, and there is nothing to read any more.
it_goes_on_when_a_file_is_emptied_under_it() {
	BURN_STARTED=$here/started watch bash -c "$PROGRAMS/other $seconds filed code & until_there started; rm started
		$PROGRAMS/right $seconds & until_there started; : >code; wait; true"
	names_all
}

run_cases "$@"
