#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Places inside places: roots in containers, namespaces in namespaces, layers on several file systems,
# volumes, namespaces of somebody without privileges; and programs that were there before the recorder.
# Wherever somebody would look who takes the path for the host's, or the outer place's, lies the decoy.
. "$(dirname "$0")/lib.sh"

podman_run() { # ARGUMENT...
	podman --root "$here/storage" --runroot "$work/run" --runtime runc --cgroup-manager cgroupfs run --rm --network none \
		--env BURN_TAG --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 "$@"
}
export -f podman_run
make_image() { # of ./root
	need podman runc
	export here work
	tar -C root -c . | podman --root "$here/storage" --runroot "$work/run" import -q - mapwright-nested:1 >/dev/null 2>&1 ||
		skip "podman import does not work here"
	podman_run mapwright-nested:1 "$1" 0.01 >/dev/null 2>&1 || skip "podman run does not work here"
}

it_names_a_program_in_a_chroot_in_a_container() {
	make_root root "$PROGRAMS/wrong" "$here/prog"
	make_root root "$(command -v chroot)" /bin/chroot
	make_root root/inner "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	make_image "$here/prog"
	watch bash -c "podman_run mapwright-nested:1 /bin/chroot /inner $here/prog $seconds" || return
	names_all
}

it_names_a_program_on_a_volume_of_a_container() {
	mkdir -p root volume
	make_root root "$PROGRAMS/wrong" "/volume/prog"
	cp "$PROGRAMS/right" volume/prog
	make_image /volume/prog
	watch bash -c "podman_run --volume $here/volume:/volume mapwright-nested:1 /volume/prog $seconds" || return
	names_all
}

it_names_a_program_in_a_mount_namespace_in_a_mount_namespace() {
	mkdir bin
	cp "$PROGRAMS/wrong" bin/prog
	watch unshare --mount sh -c "mount -t tmpfs none bin; cp $PROGRAMS/wrong bin/prog
		unshare --mount sh -c 'mount -t tmpfs none bin; cp $PROGRAMS/right bin/prog; exec bin/prog $seconds'" || return
	names_all
}

# Device and inode that maps shows for such an overlay are not those of any file.
overlay_of_two_file_systems() { # LAYER, in which the right program lies
	mkdir small other_disk merged && mount -t tmpfs none small && mkdir small/lower other_disk/{upper,scratch} || return
	cp "$PROGRAMS/wrong" small/lower/prog
	cp "$PROGRAMS/right" "$1/prog"
	watch unshare --mount sh -c "mount -t overlay none -o lowerdir=small/lower,upperdir=other_disk/upper,workdir=other_disk/scratch merged &&
		exec merged/prog $seconds" || return
	names_all
}
it_names_a_program_of_a_lower_layer_on_another_file_system() { overlay_of_two_file_systems small/lower; }
it_names_a_program_of_an_upper_layer_on_another_file_system() { overlay_of_two_file_systems other_disk/upper; }

it_names_a_program_in_a_namespace_of_somebody_without_privileges() {
	local nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	$nobody unshare --user --map-root-user --mount true 2>/dev/null || skip "no user namespaces for everybody here"
	mkdir bin
	chmod 755 "$work" . bin "$PROGRAMS"
	cp "$PROGRAMS/wrong" bin/prog
	watch $nobody unshare --user --map-root-user --mount \
		sh -c "mount -t tmpfs none bin && cp $PROGRAMS/right bin/prog && exec bin/prog $seconds" || return
	names_all
}

it_names_a_program_of_an_erofs_image_that_was_unmounted() {
	need mkfs.erofs
	need_file_system erofs
	mkdir content image
	cp "$PROGRAMS/right" content/prog
	cp "$PROGRAMS/wrong" image/prog
	mkfs.erofs image.erofs content >/dev/null 2>&1 && mount -o loop image.erofs image || return
	watch sh -c "image/prog $seconds; umount image; rm image.erofs; sleep 0.3" || return
	names_all
}

# It runs, and its file is gone, before anybody looks; another lies at its path.
it_names_a_program_in_a_chroot_that_was_deleted_before_the_recorder_started() {
	make_root root "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	BURN_STARTED=/started chroot root "$here/prog" 8 &
	at_end kill_if_there $!
	until_there root/started
	rm "root$here/prog" && cp "$PROGRAMS/wrong" "root$here/prog"
	record -q -a -g -F $frequency --duration 1 || return
	seconds=0.5 names_all --may-be-more
}

# Marked for executions when it appears: then a program of a moment that is removed at once has its names.
it_names_programs_of_a_moment_on_a_file_system_that_was_mounted_later() {
	local i
	[ -n "${CHECK_LONG:-}" ] || skip "one in six runs has a tenth without names: make check-long"
	frequency=4999
	mkdir later
	start_recording -v -a -g -F $frequency
	mount -t tmpfs none later
	until_true grep -q "executions on $here/later .*watched" "$here/recorder.err" || return
	for i in $(seq 20); do
		cp "$PROGRAMS/right.static.noid" later/p && later/p 0.002 unlinked
		cp "$PROGRAMS/other.static.noid" later/p && later/p 0.002 unlinked
	done
	stop_recording || return
	# Of 2 ms much is in the kernel; the immediate engine has their addresses alone.
	local limits="--right 80 --unnamed 5"
	[ "${MAPWRIGHT_ENGINE:-}" != immediate ] || limits="--right 0 --unnamed 100"
	judge --samples "$(seconds=0.04 expected 1)" --may-be-more $limits &&
		judge --command burn_other --samples "$(seconds=0.04 expected 1)" --may-be-more --leaf '^other_' $limits
}

run_cases "$@"
