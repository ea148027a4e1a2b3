#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Code made at run time, and the perf maps that name it: the right name or a reason, never one that was
# there before or came after.
. "$(dirname "$0")/lib.sh"

# run_made HOW [ROOT]: in a /tmp of its own.
in_own_tmp() { unshare -m sh -c 'mount -t tmpfs none /tmp && exec "$@"' sh "$@"; }
export -f in_own_tmp
run_made() { watch bash -c 'in_own_tmp "$@"' bash "$PROGRAMS/made" $seconds "$@"; }
names_made() { judge --command made --samples "$(expected 1)" "$@"; }
# names_turns_made ARGUMENT...: two names, each for its half but for what is between two looks.
names_turns_made() { names_made --leaf '^(right|other)_first$' --each right_first other_first --share 30 "$@"; }
has_reason() { # REASON [ATLEAST]
	ask reasons made$BURN_TAG >reasons
	awk -v want="$1" -v atleast="${2:-1}" '$1 == want { n += $2 } END { exit !(n >= atleast) }' reasons ||
		{ cat reasons; fail "$1 is not told ${2:-1} times"; }
}

it_names_code_by_the_map_of_its_process() {
	run_made plain
	names_made --leaf '^right_first$|^right second: of \(many\) words$' \
		--each right_first 'right second: of (many) words'
}

it_keeps_what_a_map_said_that_went_with_its_process() {
	run_made brief
	names_made --leaf '^right' || return
	sqlite3 p.mwp "SELECT count(*) FROM code JOIN file ON file = file.number
		WHERE name = 'right_first' AND valid_until > valid_from AND valid_from > 0 AND end = start + 256" >rows
	[ "$(cat rows)" -eq 1 ] || { sqlite3 p.mwp 'SELECT * FROM code'; fail "no word of when it was valid"; }
}

it_names_code_by_the_map_in_its_own_tmp_where_the_host_has_a_wrong_one() {
	mkdir -p root/tmp root/proc
	run_made chroot "$PWD/root"
	names_made --leaf '^right_first$'
}

it_names_code_by_the_number_in_the_innermost_pid_namespace() {
	run_made inner
	names_made --leaf '^right_first$'
}

it_skips_lines_that_make_no_sense_and_counts_them() {
	run_made odd
	names_made --leaf '^right' || return
	[ "$(ask tally perf-map-lines-broken)" -eq 8 ] ||
		fail "$(ask tally perf-map-lines-broken) broken lines, not 8"
}

it_gives_each_its_own_name_where_code_is_replaced() {
	run_made replaced
	names_turns_made --right 80 --unnamed 20
}
it_gives_each_its_own_name_where_a_map_is_written_anew() {
	run_made rewritten
	names_turns_made --right 70 --unnamed 30
}
it_gives_each_its_own_name_where_a_map_is_replaced() {
	run_made renamed
	names_turns_made --right 70 --unnamed 30
}
it_gives_no_name_to_what_ran_before_it_was_announced() {
	run_made late
	names_made --leaf '^right_first$' --right 30 --unnamed 65 || return
	has_reason jit-no-map 20
}
it_gives_no_wrong_name_to_code_that_moves_all_the_time() {
	run_made swapped
	names_made --leaf '^(right|other)_first$' --right 0 --unnamed 100
}

it_resolves_addresses_in_made_code_of_a_living_process() {
	unshare -m sh -c 'mount -t tmpfs none /tmp && exec "$@"' sh "$PROGRAMS/made" 20 plain &
	local pid=$! address
	at_end kill_if_there $pid
	until_true test -s "/proc/$pid/root/tmp/perf-$pid.map" || return
	until_true grep -q words "/proc/$pid/root/tmp/perf-$pid.map" || return
	address=$(awk '/right_first/ { print $1 }' "/proc/$pid/root/tmp/perf-$pid.map")
	"$mapwright" resolve --store "$here/store" -p $pid "$address" >out 2>err || { cat err; fail "resolve failed"; } || return
	says ': right_first' out
}

has_no_map() { # HOW [REASON]
	run_made "$1"
	names_made --right 0 --unnamed 100 || return
	has_reason "${2:-jit-no-map}" $(($(expected 1) * 8 / 10))
}
it_takes_no_fifo_for_a_map() { has_no_map fifo; }
it_takes_no_directory_for_a_map() { has_no_map directory; }
it_follows_no_link_to_a_map() { has_no_map link; }
it_takes_no_map_of_another_user() { has_no_map foreign; }
it_gives_up_a_map_without_end() { has_no_map endless evicted; }

it_takes_no_map_that_is_older_than_the_process() {
	export seconds
	# Process 1 of each namespace has the same number.
	watch bash -c 'in_own_tmp bash -c "
		printf \"%x ffffffff0000 wrong_first\n\" 1 >/tmp/perf-1.map; sleep 2.2
		unshare -pf $PROGRAMS/made $seconds silent"'
	names_made --right 0 --unnamed 100 && has_reason jit-no-map $(($(expected 1) * 8 / 10))
}

# ---- node -------------------------------------------------------------------------------------------

write_script() {
	cat >"$1" <<-'SCRIPT'
		function right_first(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * 7) % 1000003; return s; }
		function right_second(n) { return n < 2 ? n : right_second(n - 1) + right_second(n - 2); }
		const end = Date.now() + 1200;
		let sum = 0;
		while (Date.now() < end) { sum += right_first(100000); sum += right_second(22); }
		console.log(sum > 0);
	SCRIPT
}
# Of node's samples, those in made code have a name but for the first moments.
names_script() { # COMMAND PATH
	"$mapwright" export -f folded p.mwp | awk -v command="$1" '
		{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, f, ";") }
		f[1] != command { next }
		{ total += n }
		f[k] ~ /JS:.*right_first .*script.js:1:/ { first += n }
		f[k] ~ /JS:.*right_second .*script.js:2:/ { second += n }
		f[k] ~ /^\[/ { unnamed += n; if (n > 3) print f[k], n }
		END { print total, first, second, unnamed
		      exit !(total > 100 && first > total / 10 && second > total / 10 && unnamed < total / 10) }' >node ||
		{ cat node; fail "node's code has no names"; }
}

it_names_the_functions_of_node() {
	need node
	write_script script.js
	watch bash -c 'in_own_tmp node --perf-basic-prof script.js'
	names_script node
}

podman_here() {
	podman --root "$here/storage" --runroot "$work/run" --runtime runc --cgroup-manager cgroupfs "$@"
}
run_podman() {
	podman_here run --rm --network none --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 mapwright-case:1 "$@"
}
export -f podman_here run_podman

it_names_the_functions_of_node_in_a_podman_container() {
	need node podman runc
	export here work
	make_root root "$(command -v node)" /bin/node
	write_script root/script.js
	tar -C root -c . | podman_here import -q - mapwright-case:1 >/dev/null 2>&1 || skip "podman import does not work here"
	run_podman /bin/node -e 0 >/dev/null 2>&1 || skip "podman run does not work here"
	watch bash -c 'run_podman /bin/node --perf-basic-prof /script.js; podman_here rmi -f mapwright-case:1 >/dev/null'
	names_script node
}

run_cases "$@"
