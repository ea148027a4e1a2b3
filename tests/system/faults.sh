#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What goes wrong around a recording: it ends with a clear message, or goes on and says what is missing.
. "$(dirname "$0")/lib.sh"

small_disk() { # DIRECTORY SIZE
	mkdir "$1" && mount -t tmpfs -o size="$2" none "$1"
}

# is_a_clear_failure ARGUMENT...: of record: status 1, one message and nothing else, no crash.
is_a_clear_failure() {
	ends_with 1 record "$@" || return
	[ ! -s out ] && [ "$(grep -c '^mapwright: ' err)" -ge 1 ] || { cat out err; fail "no clear message"; }
}

# ---- disks and stores -------------------------------------------------------------------------------

# Random stacks do not compress well: the disk is full within two seconds.
it_says_that_the_disk_is_full_and_keeps_what_was_written() {
	small_disk small 128k || return
	local status=0
	"$mapwright" record -a -g -F 9999 --bucket 1ms --duration 20 --store store -o small/p.mwp </dev/null 2>err &
	recorder=$!
	at_end kill_if_there $recorder
	"$PROGRAMS/right" 3 fork
	wait $recorder || status=$?
	[ $status -eq 1 ] || { cat err; fail "status $status"; } || return
	says 'small/p.mwp' && says 'No space left on device' || return
	"$mapwright" report --stdio small/p.mwp >report || fail "what was written does not open"
}

it_says_that_the_limit_of_file_sizes_is_reached_and_keeps_what_was_written() {
	local status=0
	bash -c "ulimit -f 64; exec '$mapwright' record -q -a -g -F 9999 --bucket 1ms --duration 10 --store store -o p.mwp" \
		</dev/null 2>err || status=$?
	[ $status -eq 1 ] || { cat err; fail "status $status"; } || return
	says 'p.mwp' && says 'File too large' || return
	"$mapwright" report --stdio p.mwp >report || fail "what was written does not open"
}

it_says_that_the_profile_cannot_be_created() {
	is_a_clear_failure -a --duration 1 --store store -o nowhere/p.mwp && says 'nowhere/p.mwp' && says 'No such file or directory'
}

it_does_not_take_a_directory_for_a_profile() {
	mkdir directory
	is_a_clear_failure -a --duration 1 --store store -o directory && says 'directory'
}

it_names_programs_although_the_disk_of_the_store_is_full() {
	small_disk small 64k || return
	head -c 65536 /dev/zero >small/full 2>/dev/null
	ends_with 0 record --store small/store -q -a -g -F $frequency -- "$PROGRAMS/right" $seconds || return
	names_all
}

it_names_programs_although_the_store_is_a_file() {
	echo mine >store
	ends_with 0 "$mapwright" record --store store -a -g -F $frequency -o p.mwp -- "$PROGRAMS/right" $seconds || return
	says 'store' && says 'hint: ' && [ "$(cat store)" = mine ] && names_all
}

it_names_programs_although_the_store_is_on_a_read_only_disk() {
	small_disk read_only 1m && mount -o remount,ro read_only || return
	ends_with 0 "$mapwright" record --store read_only/store -a -g -F $frequency -o p.mwp -- "$PROGRAMS/right" $seconds || return
	says 'read_only/store' && says 'hint: ' && names_all
}

# Whoever owns the directory could plant names in it.
it_does_not_trust_the_store_of_somebody_else() {
	mkdir theirs && chown 65534:65534 theirs
	ends_with 0 "$mapwright" record --store theirs -a -g -F $frequency -o p.mwp -- "$PROGRAMS/right" $seconds || return
	says 'theirs' && names_all
}

# ---- limits -----------------------------------------------------------------------------------------

it_names_all_with_256_descriptors() {
	ulimit -n 256 || return
	watch sh -c "for i in \$(seq 100); do cp $PROGRAMS/right p\$i; ./p\$i 0.006 & done; wait"
	judge --samples "$(expected 1)"
}

it_says_that_there_are_too_few_descriptors() {
	ulimit -n 12 || return
	is_a_clear_failure -a --duration 1 && grep -qi 'descriptors\|too many open files' err
}

# ---- targets and events -----------------------------------------------------------------------------

it_says_that_a_process_is_gone() {
	local pid
	sleep 0 &
	pid=$!
	wait $pid
	is_a_clear_failure -p $pid --duration 1 && says "process $pid"
}

it_says_that_a_thread_is_gone() {
	local pid
	sleep 0 &
	pid=$!
	wait $pid
	is_a_clear_failure -t $pid --duration 1 && says "thread $pid"
}

it_says_which_events_there_are() {
	is_a_clear_failure -a --duration 1 -e page-fault && says "page-fault'" && says page-faults
}

it_refuses_a_frequency_that_no_kernel_has() {
	ends_with 2 record -a -F 1000000 --duration 1 && says '-F: 1000000'
}

it_says_that_the_command_cannot_be_run() {
	is_a_clear_failure -- ./nothing && says './nothing' && says 'No such file or directory'
}

it_says_that_the_command_may_not_be_run() {
	echo 'no program' >nothing
	is_a_clear_failure -- ./nothing && says './nothing' && says 'Permission denied'
}

# ---- the kernel and privileges ----------------------------------------------------------------------

it_says_that_the_kernel_has_no_btf() {
	[ -d /sys/kernel/btf ] || skip "this kernel has no BTF anyway"
	ends_with 1 unshare --mount sh -c "mount -t tmpfs none /sys/kernel/btf && exec '$mapwright' record -a --duration 1 -o p.mwp --store store" &&
		says BTF && says 'hint: '
}

it_says_that_it_needs_root() {
	chmod 755 . "$work"
	cp "$(realpath -e "$mapwright")" program
	ends_with 1 setpriv --reuid 65534 --regid 65534 --clear-groups ./program record -a --duration 1 -o /dev/null --store /tmp/none &&
		grep -qi 'root' err && says 'hint: '
}

# Privileges without root are as good: what counts is what the kernel allows.
it_shows_reports_to_everybody() {
	watch "$PROGRAMS/right" 0.1 || return
	chmod 755 . "$work" && chmod 644 p.mwp
	cp "$(realpath -e "$mapwright")" program
	ends_with 0 setpriv --reuid 65534 --regid 65534 --clear-groups ./program report --stdio p.mwp && says burn_right out
}

run_cases "$@"
