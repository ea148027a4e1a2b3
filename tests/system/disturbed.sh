#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What happens to a machine in the middle of a recording: disks fill up, a FIFO is mounted where a library
# was, processes and files come by the thousand, the recorder is stopped, a CPU is taken away, clocks are
# set. Nothing is wrong, nothing is stuck, and each loss is counted.
. "$(dirname "$0")/lib.sh"

adds_up() {
	local wrong
	wrong=$(ask account) || return
	[ -z "$wrong" ] || fail "$wrong"
}
# soon SECONDS: what began at $start is over in time.
soon() { [ $((SECONDS - start)) -le "$1" ] || fail "it took $((SECONDS - start)) s"; }

# ---- disks ------------------------------------------------------------------------------------------

fill() { head -c 1G /dev/zero >"$1" 2>/dev/null; } # fails, when nothing is left
export -f fill

it_names_programs_of_a_container_that_fills_its_disk() {
	mkdir box
	make_root box "$PROGRAMS/wrong" /bin/prog
	cp box/bin/prog prog
	watch unshare --mount --pid --fork bash -c "mount -t tmpfs -o size=8M none box && . $tests/lib.sh &&
		make_root box $PROGRAMS/right /bin/prog && ! fill box/full && chroot box /bin/prog $seconds" || return
	names_all && adds_up
}

# The store is full from the middle on: what was whole in it is used, what is new is named all the same.
it_names_programs_although_the_disk_of_the_store_fills_up() {
	mkdir small && mount -t tmpfs -o size=4m none small || return
	record -q -a -g -F $frequency --store small/store -- bash -c "$PROGRAMS/other $seconds; sleep 0.5" || return
	ends_with 0 record -a -g -F $frequency --store small/store -- \
		bash -c "! fill small/full && $PROGRAMS/right $seconds && $PROGRAMS/other $seconds" || return
	adds_up && names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_' || return
	says 'small/store' && says 'No space left on device' || return
	rm small/full
	watch "$PROGRAMS/other" $seconds || return
	judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

# ---- what lies where a file was ---------------------------------------------------------------------

it_names_a_library_over_which_a_fifo_was_mounted() {
	local engine start=$SECONDS
	cp "$PROGRAMS/libright.so" "$here/lib.so"
	mkfifo pipe
	for engine in deferred immediate; do
		rm -rf store started
		BURN_STARTED=$here/started PRELOAD_SECONDS=$seconds record -q -a -g -F $frequency --engine $engine -- \
			unshare --mount bash -c "LD_PRELOAD=$here/lib.so $PROGRAMS/right 0.01 & until_there started
				mount --bind pipe lib.so; wait" || return
		adds_up && soon 20 &&
			judge --command preloaded --samples "$(expected 1)" --leaf '^right_work' --may-be-more || return
	done
}

# Where the program's debug file, its link, and the perf map of its process should be.
it_is_not_held_up_by_fifos_where_debug_files_are_looked_for() {
	local start=$SECONDS id directory
	cp "$PROGRAMS/right" prog
	objcopy --only-keep-debug prog prog.debug && objcopy --add-gnu-debuglink=prog.debug --strip-all prog &&
		rm prog.debug && mkfifo prog.debug || return
	id=$(readelf -n prog | sed -n 's/.*Build ID: //p')
	directory=/usr/lib/debug/.build-id/${id:0:2}
	mkdir -p "$directory" && at_end rmdir --ignore-fail-on-non-empty -p "$directory"
	mkfifo "$directory/${id:2}.debug" && at_end rm -f "$directory/${id:2}.debug"
	watch bash -c "mkfifo /tmp/perf-\$\$.map; trap 'rm -f /tmp/perf-\$\$.map' EXIT; ./prog $seconds; $PROGRAMS/other $seconds" || return
	soon 20 && adds_up && judge --samples "$(expected 1)" --right 0 --unnamed 100 &&
		judge --command burn_other --samples "$(expected 1)" --leaf '^other_' || return
	ask reasons "burn_right$BURN_TAG" >why
	grep -q '^stripped ' why || { cat why; fail "no reason"; }
}

# decoy_debug_file: the debug information of another program, under this one's build ID.
it_resolves_a_link_out_of_a_root_in_that_root() {
	local id
	make_root root "$PROGRAMS/right" /real/prog
	id=$(readelf -n root/real/prog | sed -n 's/.*Build ID: //p')
	mkdir -p "root$here/target" target root/usr/lib/debug
	objcopy --only-keep-debug "$PROGRAMS/right" "root$here/target/${id:2}.debug" && strip root/real/prog || return
	objcopy --only-keep-debug "$PROGRAMS/wrong" "target/${id:2}.debug" || return
	objcopy --update-section .note.gnu.build-id=<(objcopy -O binary --only-section=.note.gnu.build-id "$PROGRAMS/right" /dev/stdout) \
		"target/${id:2}.debug" 2>/dev/null
	# Both ways lead out of the root for whoever follows them outside.
	mkdir root/usr/lib/debug/.build-id
	ln -s "../../../../../../../../../..$here/target" "root/usr/lib/debug/.build-id/${id:0:2}"
	ln -s ../real root/link
	mkdir real && cp "$PROGRAMS/wrong" real/prog
	watch chroot root /link/prog $seconds
	names_all && adds_up
}

# ---- by the thousand --------------------------------------------------------------------------------

# named_tiny FILE SIDE: every program of this side has its own name or a reason, nearly all their name.
named_tiny() {
	awk -v side="$2" '{ total += $2 } $1 == side "_tiny" { named += $2; next } $1 ~ /_tiny$/ { wrong += $2 }
		END { printf "%s: %d samples, %d named, %d wrong\n", side, total, named, wrong
			exit !(total >= 50 && !wrong && named >= total * 0.95) }' "$1" ||
		{ head "$1"; fail "names of $2"; }
}
no_file_is_left_open() { ! ls -l "/proc/$recorder/fd" | grep -q "$here/[a-z]*/copy"; }

storms() { # PROCESSES FILES: each of two programs of one layout, beside each other
	local side pids=()
	for side in right other; do
		mkdir -p $side
		(cd $side && cp "$PROGRAMS/tiny.$side" tiny && "$PROGRAMS/storm" ./tiny "$1" "$2" </dev/zero >/dev/null) &
		pids+=($!)
	done
	wait "${pids[0]}" && wait "${pids[1]}"
}

it_accounts_for_ten_thousand_short_lived_processes() {
	start_recording -q -a -g -F 999
	storms 5000 0 || fail "the storm failed" || return
	stop_recording && adds_up || return
	for side in right other; do
		ask names-below "$here/$side" >names.$side && named_tiny names.$side $side || return
	done
}

# A loop of a shell for each program: as many files a second as that makes, each removed at once. What is
# over the store's limit may be there until the next commit.
copy_and_run() { # SIDE NUMBER
	mkdir -p "$1" && cd "$1" || return
	for ((i = 0; i < $2; i++)); do
		cp "$PROGRAMS/tiny.$1" copy$i && echo $i >>copy$i && ./copy$i && rm copy$i
	done
}
blocks_of() { find "$1" -type f -printf '%s\n' | awk '{ n += int(($1 + 4095) / 4096) } END { print n + 0 }'; }
it_names_five_thousand_files_with_a_store_of_a_megabyte() {
	local side pids=()
	[ -n "${CHECK_LONG:-}" ] || skip "runs five thousand programs: make check-long"
	start_recording -q -a -g -F 999 --store-size 1M
	for side in right other; do
		(copy_and_run $side 2500) &
		pids+=($!)
	done
	wait "${pids[@]}" || fail "the storm failed" || return
	until_true no_file_is_left_open || return
	stop_recording && adds_up || return
	[ "$(ask tally files-executed)" -ge 4500 ] || fail "only $(ask tally files-executed) files were seen executed" || return
	for side in right other; do
		ask names-below "$here/$side" >names.$side && named_tiny names.$side $side || return
	done
	[ "$(blocks_of store)" -le $((256 + 32)) ] || fail "the store takes $(blocks_of store) blocks"
}

# Two milliseconds, and its file removed before the first: twenty of each program.
it_names_programs_that_live_two_milliseconds_and_are_removed_at_once() {
	local side
	frequency=4999
	watch bash -c "for i in \$(seq 20); do for side in right other; do
		cp $PROGRAMS/\$side.static.noid p; ./p 0.002 unlinked; done; done; sleep 0.2" || return
	judge --samples "$(seconds=0.04 expected 1)" --may-be-more &&
		judge --command burn_other --samples "$(seconds=0.04 expected 1)" --may-be-more --leaf '^other_' && adds_up
}

# ---- the recorder and the machine -------------------------------------------------------------------

# A program lives and dies while nobody looks, and another takes its path. That its file was not written over
# before it was removed cannot be proved any more (identity.sh has what is written over), so it has a reason.
it_names_what_still_runs_after_the_recorder_was_stopped_for_five_seconds_and_nothing_wrongly() {
	local stopped
	cp "$PROGRAMS/right" prog
	start_recording -q -a -g -F 999
	"$PROGRAMS/other" 7 &
	kill -STOP "$recorder"
	stopped=$SECONDS
	./prog 1
	cp "$PROGRAMS/wrong" decoy && mv decoy prog
	while [ $((SECONDS - stopped)) -lt 5 ]; do sleep 0.05; done
	kill -CONT "$recorder"
	wait %2
	stop_recording && adds_up || return
	echo "lost for want of room: $(ask tally ring-full) samples, $(ask tally user-stack-lost-ring-full) user stacks"
	frequency=999
	judge --samples "$(seconds=1 expected 1)" --right 0 --unnamed 100 && judge --command burn_other --samples "$(seconds=6 expected 1)" --leaf '^other_'
}

set_online() { echo "$1" >"$processor/online"; }
# Samples of a thread that may run on this CPU only, from the time after it came back. On some kernels an
# idle CPU that was away gives no more samples until the next boot, to nobody: only in make check-long.
runs_there() { [ "$(ask processors "preloaded$BURN_TAG" | awk -v cpu="$1" '$1 == cpu { print $2 }')" -ge "$2" ]; }
it_goes_on_when_a_processor_is_taken_away_and_comes_back() {
	local pause
	[ -n "${CHECK_LONG:-}" ] || skip "takes a CPU away: make check-long"
	processor=/sys/devices/system/cpu/cpu1
	[ -w $processor/online ] && [ "$(cat $processor/online)" = 1 ] || skip "no CPU can be taken offline here"
	at_end set_online 1
	start_recording -q -a -g -F 999
	for pause in 1.5 0; do # longer and shorter than the recorder takes to notice
		set_online 0 || { set_online 1; skip "this CPU cannot be taken offline"; }
		sleep $pause
		set_online 1
		"$PROGRAMS/right" 0.5 both
	done
	PRELOAD_SECONDS=0.5 taskset -c 1 env LD_PRELOAD="$PROGRAMS/libright.so" "$PROGRAMS/right" 0.01
	stop_recording && adds_up || return
	frequency=999
	seconds=1.6 names_all && runs_there 1 350 || { ask processors "preloaded$BURN_TAG"; fail "CPU 1 has no samples"; }
}

uptime_ns() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }
now_ns() { date +%s%N; }
restore_clock() { # REALTIME_NS UPTIME_NS: as if nobody had touched it
	date --set="@$(awk -v a="$1" -v b="$2" -v c="$(uptime_ns)" 'BEGIN { printf "%.3f", (a + c - b) / 1e9 }')" >/dev/null
}
step_clock() { date --set="$1" >/dev/null; }

# Others on the machine notice: only in make check-long.
it_goes_on_when_the_clock_is_set_back_and_forth() {
	local real up start=$SECONDS bucket first last
	[ -n "${CHECK_LONG:-}" ] || skip "sets the machine's clock: make check-long"
	record -q -a -F $frequency -- "$PROGRAMS/other" 0.2 || return # the store has an entry of now
	real=$(now_ns) up=$(uptime_ns)
	at_end restore_clock "$real" "$up"
	step_clock '-1 hour' 2>/dev/null || skip "the clock cannot be set here"
	start_recording -q -a -g -F $frequency --store-size 512K
	cp "$PROGRAMS/right" prog
	BURN_STARTED=$here/started ./prog $seconds &
	until_there started
	rm prog
	step_clock '+2 hours'
	wait $!
	step_clock '-1 day'
	"$PROGRAMS/other" $seconds
	step_clock '+3 days'
	"$PROGRAMS/right.static" $seconds
	stop_recording || fail "the recorder failed" || return
	restore_clock "$real" "$up"
	soon 20 && adds_up || return
	judge --samples "$(expected 2)" && judge --command burn_other --samples "$(expected 1)" --leaf '^other_' || return
	# Samples are dated by a clock that nobody sets.
	last=$(ask last-sample)
	[ "$last" -gt "$up" ] && [ "$last" -le "$(($(uptime_ns) + 200000000))" ] || fail "the last sample is of $last" || return
	awk -v ns="$(ask fact duration_ns)" -v s=$((SECONDS - start + 1)) 'BEGIN { exit !(ns > 1e9 && ns < s * 1e9) }' ||
		fail "the recording took $(ask fact duration_ns) ns" || return
	# What was put into the store in the future ages from now on, and what is in it works.
	watch "$PROGRAMS/right" $seconds && names_all
}

run_cases "$@"
