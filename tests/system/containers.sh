#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Containers by name, and recording only some of them, with the runtimes themselves where they run.
. "$(dirname "$0")/lib.sh"

need_long() { [ -n "${CHECK_LONG:-}" ] || skip "only in make check-long"; }

# is_from COMMAND RUNTIME NAME IMAGE: at least 95 % of the command's samples are, and they are enough.
is_from() {
	ask containers "$1$BURN_TAG" >from
	awk -v want="$2 $3 $4" -v expected="$(expected 1)" '
		{ total += $1; place = $2 " " $3 " " $4; if (place == want) right += $1 }
		END { exit !(right >= expected * 0.8 && right >= total * 0.95) }' from ||
		{ cat from; fail "not from $2 $3 $4"; }
}
# has_all COMMAND: as many samples as its CPU time gives.
has_all() {
	local count=$(ask count "$1$BURN_TAG")
	[ "$count" -ge $(($(expected 1) * 8 / 10)) ] || fail "$count samples of $1"
}
# has_no COMMAND: no sample of it.
has_no() { [ "$(ask count "$1$BURN_TAG")" -eq 0 ] || fail "samples of $1"; }

# ---- podman -----------------------------------------------------------------------------------------

# A storage of its own, which only the mounts of its containers tell; with burn_right and burn_other.
podman_here() {
	podman --root "$here/storage" --runroot "$work/run" --runtime runc --cgroup-manager cgroupfs "$@"
}
run_podman() { # NAME PROGRAM SECONDS
	podman_here run --rm --name "$1" --env BURN_TAG --network none --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 \
		mapwright-case:1 "/bin/$2" "$3"
}
# stop_podman NAME PID: it is removed too, which must be over before its storage goes.
stop_podman() {
	podman_here kill "$1" >/dev/null
	until_true is_gone "$2"
}
export -f podman_here run_podman
make_image() {
	need podman runc
	export here work # the second, since podman wants a short path for what runs
	make_root root "$PROGRAMS/right.static" /bin/right
	cp "$PROGRAMS/other.static" root/bin/other
	tar -C root -c . | podman_here import -q - mapwright-case:1 >/dev/null 2>&1 ||
		skip "podman import does not work here"
	run_podman first right 0.01 >/dev/null 2>&1 || skip "podman run does not work here"
}

it_names_the_podman_container_of_each_sample_after_it_is_gone() {
	make_image
	watch bash -c "run_podman web-1 right $seconds; podman_here rmi -f mapwright-case:1 >/dev/null"
	names_all || return
	is_from burn_right podman web-1 localhost/mapwright-case:1 || return
	ask rootfs web-1 | grep -q "^$here/storage/overlay/.*/merged $here/storage/overlay/.*/diff:" ||
		{ ask rootfs web-1; fail "no root directory or no layers"; } || return
	"$mapwright" report --sort container,image,comm p.mwp >out
	grep -q "podman:web-1 *localhost/mapwright-case:1 *burn_right$BURN_TAG\$" out || { cat out; fail "not in the report"; }
}

it_names_containers_with_the_immediate_engine_too() {
	make_image
	record -q -a -g -F $frequency --engine immediate -- bash -c "run_podman web-1 right $seconds"
	is_from burn_right podman web-1 localhost/mapwright-case:1
}

it_records_only_a_container_that_starts_later() {
	make_image
	record -q -g -F $frequency --container web-1 -- \
		bash -c "run_podman web-2 other $seconds & run_podman web-1 right $seconds; wait; $PROGRAMS/wrong $seconds"
	is_from burn_right podman web-1 localhost/mapwright-case:1 || return
	has_no burn_other && has_no burn_wrong || return
	[ "$(ask tally other-place)" -gt "$(expected 1)" ] || fail "what was left out is not counted" || return
	[ -z "$(ask account)" ] || { ask account; fail "not all is accounted for"; }
}

it_records_only_a_running_container_named_by_its_id() {
	make_image
	run_podman web-1 right 60 &
	at_end stop_podman web-1 $!
	until_true podman_here exec web-1 /bin/right 0 >/dev/null 2>&1
	id=$(podman_here inspect --format '{{.Id}}' web-1)
	record -q -g -F $frequency --duration 1s --container "${id:0:12}" -- sleep 1
	seconds=0.4
	is_from burn_right podman web-1 localhost/mapwright-case:1 || return
	record -q -g -F $frequency --container podman:web-1 -- "$PROGRAMS/other" $seconds
	has_no burn_other || return
	[ "$(ask count "burn_right$BURN_TAG")" -gt 0 ] || fail "nothing of podman:web-1"
}

it_says_that_no_container_of_a_name_was_seen() {
	ends_with 0 record --container no-such-name -- "$PROGRAMS/right" 0.2
	says "no container of that name was seen" && has_no burn_right
}

it_names_the_pod_of_a_podman_container() {
	need_long
	make_image
	local pod
	pod=$(podman_here pod create --name shop --infra=false 2>/dev/null) || skip "podman makes no pods here"
	at_end podman_here pod rm -f shop
	watch bash -c "podman_here run --rm --pod shop --name web-6 --env BURN_TAG --network none --ulimit nofile=4096:4096 \
		--ulimit nproc=4096:4096 mapwright-case:1 /bin/right $seconds" 2>why || { cat why; skip "podman runs nothing in a pod here: $(tail -n 1 why)"; }
	is_from burn_right podman web-6 localhost/mapwright-case:1 || return
	"$mapwright" report --sort pod,comm p.mwp >out
	grep -q "${pod:0:12} *burn_right$BURN_TAG\$" out || { cat out; fail "the pod is not in the report"; }
}

# The storage of a user, in his home, and his own namespaces. A decoy lies at the program's path outside.
it_names_a_container_of_podman_of_a_user() {
	need_long
	need podman runc newuidmap useradd
	local user=mapwright$$ home=$work/user
	useradd --create-home --home-dir "$home" $user || skip "no users can be made here"
	at_end sh -c "userdel -r $user 2>/dev/null"
	chmod 755 "$work" "$home"
	make_root root "$PROGRAMS/right.static" "$home/prog"
	tar -C root -cf "$home/root.tar" .
	cp "$PROGRAMS/wrong.static" "$home/prog"
	cat >"$home/run" <<-SH
		cd; export HOME=$home XDG_RUNTIME_DIR=$home/run.d; mkdir -p run.d
		podman import -q root.tar mapwright-case:4 >/dev/null 2>&1
		exec podman --runtime runc --cgroup-manager cgroupfs run --rm --name web-7 --network none --env BURN_TAG=$BURN_TAG \
			mapwright-case:4 $home/prog \$1
	SH
	su $user -s /bin/bash -c "bash $home/run 0.01" || skip "podman does not run as a user here"
	watch su $user -s /bin/bash -c "bash $home/run $seconds" || return
	names_all && is_from burn_right podman web-7 localhost/mapwright-case:4
}

# ---- mapwright in a container -------------------------------------------------------------------------

# in_container ARGUMENT...: mapwright, in a container that has the machine's /proc at /host/proc and the
# case's directory at /out.
in_container() {
	podman_here run --rm --name recorder --privileged -v /proc:/host/proc -v "$here:/out" --network none --env BURN_TAG \
		--ulimit nofile=4096:4096 --ulimit nproc=4096:4096 mapwright-tools:1 /bin/mapwright "$@"
}
make_tools() {
	make_image
	make_root tools "$mapwright" /bin/mapwright
	cp "$PROGRAMS/right.static" tools/bin/right
	tar -C tools -c . | podman_here import -q - mapwright-tools:1 >/dev/null 2>&1 || return
	in_container version >/dev/null 2>&1 || skip "mapwright does not run in a container here"
}
recorder_pid() { pgrep -f "^/bin/mapwright record .*$here_inside" | head -n 1; }
inside_has_events() { recorder=$(recorder_pid) && [ -n "$recorder" ] && has_events "$recorder"; }

# From within, it sees the machine: a program in a chroot with a decoy outside, and another container.
it_records_the_machine_from_within_a_container() {
	local running
	make_tools
	here_inside=inside-$$.mwp
	make_root chroot "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	in_container record -q -a -g -F $frequency --proc /host/proc --store /out/store -o /out/$here_inside --duration 60 &
	running=$!
	until_true inside_has_events || return
	chroot chroot "$here/prog" $seconds
	run_podman web-8 other $seconds
	kill -INT "$recorder"
	wait $running || fail "status $?" || return
	mv $here_inside p.mwp
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_' || return
	is_from burn_other podman web-8 localhost/mapwright-case:1
}

it_records_a_command_from_within_a_container() {
	make_tools
	in_container record -q -g -F $frequency --proc /host/proc --store /out/store -o /out/p.mwp -- \
		/bin/right $seconds || return
	names_all
}

it_refuses_the_numbers_of_another_pid_namespace() {
	ends_with 1 unshare --mount --pid --fork --mount-proc "$mapwright" record -a --duration 1 -o p.mwp --store store || return
	says 'another PID namespace' && says 'hint: ' && says '--proc DIR'
}

# ---- cgroups ----------------------------------------------------------------------------------------

# make_cgroup TYPE [CONTROLLER]: in the first hierarchy of this type that can be written to; $cgroup.
make_cgroup() {
	local point
	point=$(awk -v type="$1" -v option="${2:-}" '$9 == type || $8 == type || $10 == type {
		if (option == "" || $0 ~ "[, ]" option "(,|$)") { print $5; exit } }' /proc/self/mountinfo)
	[ -n "$point" ] || skip "no mount of type $1"
	cgroup=$point/mapwright-case-$$
	mkdir "$cgroup" 2>/dev/null || skip "cgroups cannot be made here"
	at_end rmdir "$cgroup"
}
in_cgroup() { # CGROUP COMMAND...
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$@"
}
export -f in_cgroup

it_records_a_cgroup_and_those_below_on_both_engines() {
	make_cgroup cgroup2
	mkdir "$cgroup/below"
	at_end rmdir "$cgroup/below"
	for engine in deferred immediate; do
		record -q -g -F $frequency --engine $engine --cgroup "$cgroup" -- bash -c \
			"in_cgroup $cgroup/below $PROGRAMS/right $seconds & $PROGRAMS/other $seconds; wait" || return
		has_all burn_right && has_no burn_other || return
		[ "$(ask tally other-task)" -gt 0 ] || fail "what was left out is not counted" || return
	done
	# The same by its path in the hierarchy.
	record -q -g -F $frequency --cgroup "/${cgroup##*/}" -- bash -c \
		"in_cgroup $cgroup $PROGRAMS/right $seconds & $PROGRAMS/other $seconds; wait" || return
	has_all burn_right && has_no burn_other
}

it_records_a_cgroup_of_version_1() {
	make_cgroup cgroup pids
	record -q -g -F $frequency --cgroup "$cgroup" -- bash -c \
		"in_cgroup $cgroup $PROGRAMS/right $seconds & $PROGRAMS/other $seconds; wait" || return
	has_all burn_right && has_no burn_other || return
	[ "$(ask tally other-place)" -gt 0 ] || fail "what was left out is not counted"
}

it_says_that_there_is_no_such_cgroup() {
	ends_with 1 record --cgroup /no/such/cgroup -- true
	says "there is no cgroup /no/such/cgroup" || return
	ends_with 2 record --cgroup / --container x -- true
	says "--container and --cgroup exclude each other"
}

# ---- others -----------------------------------------------------------------------------------------

# make_bundle RUNTIME: ./bundle, a container of the OCI that runs the program.
make_bundle() {
	mkdir bundle
	make_root bundle/rootfs "$PROGRAMS/right.static" /bin/right
	(cd bundle && "$1" spec)
	python3 - "$seconds" <<-'PYTHON'
		import json, os, sys
		config = json.load(open('bundle/config.json'))
		config['process'].update(terminal=False, args=['/bin/right', sys.argv[1]])
		config['process'].pop('rlimits', None)
		config['process']['env'] = ['BURN_TAG=' + os.environ['BURN_TAG']]
		config['annotations'] = {'org.opencontainers.image.ref.name': 'case:7'}
		json.dump(config, open('bundle/config.json', 'w'))
	PYTHON
}

it_names_a_container_of_runc() {
	need runc
	local name=mapwright-case-$$
	make_bundle runc
	at_end sh -c "runc delete -f $name 2>/dev/null"
	watch runc run -b bundle $name || skip "runc does not run here"
	is_from burn_right runc $name case:7
}

# crun wants a tree of cgroups of version 2 and nothing else: it gets to see no other, and is put into the
# cgroup that it would have made.
it_names_a_container_of_crun() {
	need crun
	make_cgroup cgroup2
	local name=${cgroup##*/}
	make_bundle crun
	at_end sh -c "crun delete -f $name 2>/dev/null"
	local run="mount -t cgroup2 none /sys/fs/cgroup && exec crun --cgroup-manager=disabled run -b bundle"
	unshare -m sh -c "$run $name.0" || skip "crun does not run here"
	watch bash -c "in_cgroup $cgroup unshare -m sh -c \"$run $name\"" || return
	is_from burn_right crun "$name" case:7
}

it_names_a_machine_of_nspawn() {
	need systemd-nspawn
	make_root box "$PROGRAMS/right.static" /bin/right
	mkdir -p box/usr
	at_end sh -c "rmdir /run/systemd 2>/dev/null"
	local run="mkdir -p /run/systemd; mount -t tmpfs none /run/systemd; exec systemd-nspawn --register=no --keep-unit -q -E BURN_TAG=$BURN_TAG -D $here/box /bin/right"
	unshare -m sh -c "$run 0.01" || skip "systemd-nspawn does not run here"
	watch unshare -m sh -c "$run $seconds"
	is_from burn_right nspawn box - || return
	[ "$(ask rootfs box)" = "$here/box -" ] || { ask rootfs box; fail "no root directory"; }
}

it_names_a_container_of_lxc() {
	need lxc-execute
	local name=mapwright-case-$$
	make_root root "$PROGRAMS/right.static" /bin/right
	mkdir -p root/sys root/dev root/usr/sbin lxc
	chmod 755 "$work" "$here" root
	printf '%s\n' "lxc.rootfs.path = dir:$here/root" 'lxc.mount.auto = proc:rw sys:ro' 'lxc.net.0.type = none' "lxc.environment = BURN_TAG=$BURN_TAG" >config
	lxc-execute -P "$here/lxc" -n $name -f config -- /bin/right 0.01 || skip "lxc-execute does not run here"
	watch lxc-execute -P "$here/lxc" -n $name -f config -- /bin/right $seconds
	is_from burn_right lxc $name -
}

it_names_a_sandbox_of_bubblewrap_by_no_name() {
	need bwrap
	make_root root "$PROGRAMS/right.static" /bin/right
	watch bwrap --bind root / --proc /proc /bin/right $seconds || skip "bwrap does not run here"
	is_from burn_right none - -
}

# Paths of sockets must be short.
# start_daemon COMMAND...: until the end of the case.
start_daemon() {
	"$@" >"$here/${1##*/}.log" 2>&1 &
	at_end sh -c "kill $! 2>/dev/null; while kill -0 $! 2>/dev/null; do sleep 0.05; done"
}
start_containerd() {
	need containerd ctr
	need_long
	start_daemon containerd --root "$here/cd" --state "$here/cd-state" -a "$work/c.sock"
	until_true ctr -a "$work/c.sock" version >/dev/null
}
start_docker() {
	need dockerd docker
	start_containerd
	at_end rm -rf "$work/x"
	start_daemon dockerd --data-root "$here/data" --exec-root "$work/x" --pidfile "$here/d.pid" \
		-H "unix://$work/d.sock" --iptables=false --bridge=none --containerd "$work/c.sock"
	export DOCKER_HOST=unix://$work/d.sock
	until_true docker version >/dev/null
	make_root root "$PROGRAMS/right.static" /bin/right
	tar -C root -c . | docker import - mapwright-case:2 >/dev/null
}

it_names_a_docker_container_after_it_is_gone() {
	start_docker
	watch docker run --rm --env BURN_TAG --name web-3 --network none mapwright-case:2 /bin/right $seconds ||
		{ cat dockerd.log | tail -5; false; }
	is_from burn_right docker web-3 mapwright-case:2 || return
	record -q -g -F $frequency --container docker:web-4 -- \
		docker run --rm --env BURN_TAG --name web-4 --network none mapwright-case:2 /bin/right $seconds
	is_from burn_right docker web-4 mapwright-case:2
}

it_names_a_container_of_containerd() {
	start_docker
	docker save mapwright-case:2 -o image.tar
	ctr -a "$work/c.sock" images import image.tar >/dev/null
	watch ctr -a "$work/c.sock" run --rm --env "BURN_TAG=$BURN_TAG" docker.io/library/mapwright-case:2 web-5 /bin/right $seconds ||
		skip "ctr does not run here"
	is_from burn_right containerd web-5 -
}

# Named and labelled as the kubelet and containerd's CRI do it.
it_names_container_and_pod_of_kubernetes_under_containerd() {
	start_docker
	local id=$(printf 'c0ffee%.0s' $(seq 10))4711
	docker save mapwright-case:2 -o image.tar
	ctr -a "$work/c.sock" -n k8s.io images import image.tar >/dev/null
	watch ctr -a "$work/c.sock" -n k8s.io run --rm --env "BURN_TAG=$BURN_TAG" --cgroup "/kubepods/burstable/pod1234-5678/$id" \
		--annotation io.kubernetes.cri.container-type=container \
		--annotation io.kubernetes.cri.container-name=app \
		--annotation io.kubernetes.cri.image-name=registry.k8s.io/app:3 \
		--annotation io.kubernetes.cri.sandbox-name=web-0 \
		--annotation io.kubernetes.cri.sandbox-namespace=prod \
		docker.io/library/mapwright-case:2 "$id" /bin/right $seconds || skip "ctr does not run here"
	is_from burn_right containerd app registry.k8s.io/app:3 || return
	"$mapwright" report --sort pod,comm p.mwp >out
	grep -q "prod/web-0 *burn_right$BURN_TAG\$" out || { cat out; fail "the pod is not in the report"; }
}

run_cases "$@"
