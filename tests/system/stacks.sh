#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whole stacks of programs that keep no frame pointers: from the leaf to _start, or to where a thread or a
# coroutine begins. Each program goes its way once to let the recorder meet its files, and waits; what
# counts comes then.
. "$(dirname "$0")/lib.sh"
frequency=999
seconds=0.3

start='_start;([^;]*;){1,2}main'
# What comes between there and true_inner;true_leaf.
declare -A chains=(
	[plain]="$start;([^;]*;)?true_plain"
	[deep]="$start;([^;]*;)?(true_deep;){500}true_deep"
	[handler]="$start;([^;]*;){0,2}true_interrupted;[^;]*;true_handler"
	[alternate]="$start;([^;]*;){0,2}true_interrupted;[^;]*;true_handler"
	[sort]="$start;true_sort;(_*qsort[^;]*;){1,2}(msort_with_tmp[^;]*;)*true_compare"
	[catch]="$start;true_catch;true_guarded[^;]*;guard::~guard\(\)"
	[alloca]="$start;([^;]*;)?true_alloca"
	[array]="$start;([^;]*;)?true_array"
	[realigned]="$start;([^;]*;)?true_realigned"
	[coroutine]="[^;]*;true_coroutine"
	[thread]="[^;]*;[^;]*;true_thread"
	[vfork]="$start;true_vfork"
)

# run PROGRAM WAY: its command is both, cut.
run() { "$PROGRAMS/stacks.$1" "$2" $seconds "$(command_of "$1" "$2")"; }
command_of() { echo "${1:0:4}-${2:0:4}$BURN_TAG"; }
export -f run command_of
export seconds BURN_TAG PROGRAMS

# is_whole COMMAND CHAIN: its stacks with true_leaf are this chain and nothing else.
is_whole() { judge_stacks "$1" '(^|;)true_leaf$' "$2;true_inner;true_leaf"; }
# is_bottomed COMMAND CHAIN: its stacks with a function true_* begin so.
is_bottomed() { judge_stacks "$1" '(^|;)[?]?true_' "$2(;.*)?"; }
judge_stacks() { # COMMAND WHICH CHAIN
	"$mapwright" export -f json "$here/p.mwp" | "$tests/chains.py" "$1" "$2" "$3" "$(expected 0.4)" >judged ||
		{ cat judged; fail "$(tail -n 1 judged)"; }
}

# One store for all cases. Everything was met once before, so that it is how stacks are walked that is judged, not
# how fast tables are made while the tests of others run.
record() {
	local options=(--store "$work/store" -o "$here/p.mwp" --bucket 20ms)
	if ! [ -e "$work/store" ]; then
		"$mapwright" record -q -a -g -F 499 "${options[@]}" -- bash -c 'for p in "$PROGRAMS"/stacks.*; do
			for way in plain thread catch; do "$p" $way 0.02 warm; done; done' </dev/null 2>/dev/null
	fi
	"$mapwright" record "${options[@]}" "$@" </dev/null
}

# walks PROGRAM WAY...
walks() {
	local way program=$1
	shift
	watch bash -c 'for way in "${@:2}"; do run "$1" "$way"; done' - "$program" "$@" || return
	for way in "$@"; do is_whole "$(command_of "$program" "$way")" "${chains[$way]}" || return; done
}

it_walks_the_stacks_of_programs_built_by_gcc() {
	walks plain plain deep sort alloca array realigned
}
it_walks_out_of_signal_handlers() { walks plain handler alternate; }
it_walks_while_an_exception_is_in_flight() { walks plain catch; }
it_walks_to_where_threads_and_coroutines_begin() { walks plain thread coroutine; }
it_walks_in_a_child_that_has_the_stack_of_its_parent() { walks plain vfork; }
it_walks_the_stacks_of_programs_built_by_clang() { walks clang plain deep realigned handler catch; }
it_walks_the_stacks_of_programs_linked_by_lld() { walks lld plain array; }
it_walks_the_stacks_of_small_and_of_fast_programs() {
	walks small plain alloca || return
	walks fast plain realigned
}
it_walks_the_stacks_of_static_programs() { walks static plain handler catch thread; }
it_walks_the_stacks_of_static_programs_that_are_loaded_anywhere() { walks pie plain sort; }
it_needs_no_index_of_the_rules() { walks no-hdr plain; }

it_walks_through_the_unwinder_of_exceptions_and_the_vdso() {
	watch bash -c "run plain rethrow; run plain clock"
	is_bottomed "$(command_of plain rethrow)" "$start;true_rethrow[^;]*" || return
	is_bottomed "$(command_of plain clock)" "$start;true_clock"
}
it_walks_from_where_a_task_entered_the_kernel() {
	watch bash -c "run plain calls"
	is_bottomed "$(command_of plain calls)" "$start;true_calls"
}

it_walks_in_a_chroot() {
	make_root root "$PROGRAMS/stacks.plain" /bin/prog
	watch chroot root /bin/prog plain $seconds "chroot$BURN_TAG" || return
	is_whole "chroot$BURN_TAG" "${chains[plain]}"
}
it_walks_programs_that_were_deleted() {
	cp "$PROGRAMS/stacks.plain" prog
	watch bash -c "./prog sort $seconds deleted$BURN_TAG & rm prog; wait" || return
	is_whole "deleted$BURN_TAG" "${chains[sort]}"
}
podman_here() {
	podman --root "$here/storage" --runroot "$work/run" --runtime runc --cgroup-manager cgroupfs "$@"
}
export -f podman_here
it_walks_in_containers() {
	need podman runc
	export here work
	make_root root "$PROGRAMS/stacks.plain" /bin/prog
	tar -C root -c . | podman_here import -q - mapwright-stacks:1 >/dev/null 2>&1 || skip "podman import does not work here"
	watch bash -c "podman_here run --rm --network none --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 \
		mapwright-stacks:1 /bin/prog plain $seconds podman$BURN_TAG" || skip "podman run does not work here"
	is_whole "podman$BURN_TAG" "${chains[plain]}"
}

# The callers that most stacks have, with their places in files: by the kernel side's walk, and by the one in user
# space over the same rows, when the program is stopped.
same_in_user_space() { # WAY
	rm -f chains
	record -q -g -F $frequency -- bash -c "run plain $1" || return
	UNWIND_CHAINS=$here/chains timeout 60 "$truth" 30 1 5000 -- "$PROGRAMS/stacks.plain" "$1" 1 truth >truth.log || { cat truth.log; return 1; }
	"$mapwright" export -f json p.mwp | python3 -c '
import collections, json, os, sys
kernel, user = collections.Counter(), collections.Counter()
for s in json.load(sys.stdin)["samples"]:
    if s["task"]["command"] != sys.argv[1]:
        continue
    frames = [f for f in s["frames"] if f["kind"] != "kernel" and not f.get("inlined")]
    chain = ";".join("%s+%x" % (os.path.basename(f.get("path", f["kind"])), int(str(f.get("offset", "0")), 0)) for f in frames[1:])
    kernel[chain + " " + frames[-1].get("reason", "bottom") * (frames[-1]["kind"] == "raw")] += s["count"]
for line in open("chains"):
    chain, end = line.rstrip().split(" ", 1)
    user[";".join(chain.split(";")[1:]) + " " + (end if end != "bottom" else "")] += 1
(k, _), (u, _) = kernel.most_common(1)[0], user.most_common(1)[0]
print("kernel:", k[:400]); print("user:  ", u[:400])
sys.exit(k != u or k.count(";") < 2)' "$(command_of plain "$1")" >compared || { cat compared; fail "two walks of $1 are not the same"; }
}
truth=$(dirname "$mapwright")/../../tests/unwind/unwind_truth
it_walks_in_the_kernel_as_in_user_space() {
	local way ways='deep sort coroutine'
	[ -x "$truth" ] || skip "built without libdw"
	[ -z "${CHECK_LONG:-}" ] || ways="plain $ways catch realigned thread vfork"
	for way in $ways; do same_in_user_space $way || return; done
}

it_says_which_share_of_stacks_is_whole() {
	watch bash -c "run plain plain"
	"$mapwright" report --stdio p.mwp >out 2>err
	says "% of" out && says "in programs reach the bottom" out || return
	"$mapwright" export -f json p.mwp | python3 -c '
import json, sys
ends = json.load(sys.stdin)["user_stacks"]
parts = ends["whole"] + ends["guessed"] + sum(e["count"] for e in ends["ended"])
assert ends["call_graph"] == "auto" and ends["whole"] > 100 and parts == ends["count"], ends'
}

it_cuts_a_stack_that_is_deeper_than_asked_for_and_says_so() {
	record -q -a -g --max-stack 100 -F $frequency -- bash -c "run plain deep"
	"$mapwright" export -f folded p.mwp |
		grep "^$(command_of plain deep);\[cut-depth\];\(true_deep;\)*true_inner;true_leaf " >found || { fail "not cut"; return; }
	[ "$(head -n 1 found | tr ';' '\n' | grep -c .)" -eq 102 ] || fail "another depth than 100"
}

it_finds_callers_by_frame_pointers_alone_where_asked() {
	record -q -a --call-graph fp -F $frequency -- bash -c "run plain sort"
	"$mapwright" export -f folded p.mwp | grep "^$(command_of plain sort);" | grep -q ";true_sort;" && { fail "frame pointers that are none"; return; }
	"$mapwright" report --stdio p.mwp >out 2>err
	says "by frame pointers: callers without them are missing" out
}

it_refuses_tables_where_the_engine_has_none() {
	ends_with 1 "$mapwright" record -q -a --call-graph tables --engine immediate -o p.mwp --duration 0.1
	says "the immediate engine cannot walk stacks by unwinding tables" && says "hint: --call-graph fp"
}

run_cases "$@"
