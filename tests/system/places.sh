#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs in places that their path does not tell: other roots, private mounts, overlays, containers.
# Wherever somebody would look who takes the path for the host's, there is a decoy of the same layout.
. "$(dirname "$0")/lib.sh"

it_names_an_ordinary_program() {
	watch "$PROGRAMS/right" $seconds
	names_all
}

it_names_a_static_program() {
	watch "$PROGRAMS/right.static" $seconds
	names_all
}

# The root's path to the program is also a path of the host, and there lies the decoy.
it_names_a_program_in_a_chroot() {
	make_root root "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	watch chroot root "$here/prog" $seconds
	names_all
}

it_names_a_program_in_a_chroot_that_ended_long_before() {
	make_root root "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	watch sh -c "chroot root $here/prog $seconds; sleep 1"
	names_all
}

it_names_a_program_in_a_chroot_that_was_removed() {
	make_root root "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	watch sh -c "chroot root $here/prog $seconds; rm -rf root; sleep 0.3"
	names_all
}

it_names_a_program_in_a_chroot_in_a_chroot() {
	make_root outer/inner "$PROGRAMS/right" "$here/prog"
	make_root outer "$PROGRAMS/wrong" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	make_root outer "$(command -v chroot)" /bin/chroot
	watch chroot outer /bin/chroot inner "$here/prog" $seconds
	names_all
}

it_names_a_program_after_pivot_root() {
	local tool
	make_root root "$PROGRAMS/right" "$here/prog"
	for tool in sh umount; do make_root root "$(command -v $tool)" /bin/$tool; done
	cp "$PROGRAMS/wrong" prog
	mkdir root/old
	watch unshare --mount sh -c "mount --bind root root && cd root && pivot_root . old &&
		exec /bin/sh -c 'umount -l /old; exec $here/prog $seconds'" || fail "pivot_root" || return
	names_all
}

it_names_a_program_that_is_mounted_over_another() {
	cp "$PROGRAMS/wrong" prog
	cp "$PROGRAMS/right" hidden
	watch unshare --mount sh -c "mount --bind hidden prog; exec ./prog $seconds"
	names_all
}

it_names_a_program_on_a_private_tmpfs() {
	mkdir bin
	cp "$PROGRAMS/wrong" bin/prog
	watch unshare --mount sh -c "mount -t tmpfs none bin; cp $PROGRAMS/right bin/prog; exec bin/prog $seconds"
	names_all
}

it_names_a_program_on_a_tmpfs_that_was_unmounted_lazily() {
	mkdir bin
	cp "$PROGRAMS/wrong" bin/prog
	mount -t tmpfs none bin
	cp "$PROGRAMS/right" bin/prog
	BURN_STARTED=$here/started watch bash -c "bin/prog $seconds & until_there started; umount -l bin; wait"
	names_all
}

it_names_a_program_in_a_user_namespace() {
	unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces here"
	mkdir bin
	cp "$PROGRAMS/wrong" bin/prog
	cp "$PROGRAMS/right" hidden
	watch unshare --user --map-root-user --mount --pid --fork --mount-proc \
		sh -c "mount --bind hidden bin/prog; bin/prog $seconds; true"
	names_all
}

overlay() { # COMMAND: in a mount namespace of its own, with an overlay of lower and upper on merged
	mkdir -p lower upper scratch merged
	watch unshare --mount bash -c "mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=scratch merged && $1"
}

it_names_a_program_of_the_upper_layer() {
	mkdir lower upper
	cp "$PROGRAMS/wrong" lower/prog
	cp "$PROGRAMS/right" upper/prog
	overlay "exec merged/prog $seconds"
	names_all
}

it_names_a_program_of_the_lower_layer_that_was_replaced() {
	mkdir lower
	cp "$PROGRAMS/right" lower/prog
	cp "$PROGRAMS/wrong" decoy
	BURN_STARTED=$here/started overlay \
		"{ merged/prog $seconds & until_there started; cp decoy merged/new; mv merged/new merged/prog; wait; }"
	[ -e upper/prog ] && names_all
}

# A library is copied up by a write: what is mapped stays the lower layer's.
it_names_a_library_of_the_lower_layer_that_was_copied_up() {
	mkdir lower
	cp "$PROGRAMS/libright.so" lower/lib.so
	BURN_STARTED=$here/started PRELOAD_SECONDS=0.3 overlay \
		"{ LD_PRELOAD=$here/merged/lib.so $PROGRAMS/right 0.3 & until_there started; cat $PROGRAMS/libwrong.so >merged/lib.so; wait; }"
	[ -e upper/lib.so ] && judge --command preloaded --samples "$(expected 0.5)" --may-be-more --leaf '^right_work'
}

it_names_a_program_of_a_squashfs_image_that_was_unmounted() {
	need mksquashfs
	need_file_system squashfs
	mkdir content image
	cp "$PROGRAMS/right" content/prog
	cp "$PROGRAMS/wrong" image/prog
	mksquashfs content image.squashfs -quiet -no-progress >/dev/null
	mount -o loop image.squashfs image
	watch sh -c "image/prog $seconds; umount image; rm image.squashfs; sleep 0.3"
	names_all
}

# Files made alike in two subvolumes: one inode number, one device for the kernel, one generation.
it_tells_files_of_one_inode_number_in_two_subvolumes_apart() {
	need mkfs.btrfs btrfs
	need_file_system btrfs
	truncate -s 200M image
	mkdir mounted
	mkfs.btrfs -q image && mount -o loop image mounted || return
	btrfs -q subvolume create mounted/a && btrfs -q subvolume create mounted/b || return
	cp "$PROGRAMS/right" mounted/a/prog
	cp "$PROGRAMS/other" mounted/b/prog
	[ "$(stat -c %i mounted/a/prog)" = "$(stat -c %i mounted/b/prog)" ] || fail "the inode numbers differ" || return
	watch sh -c "for i in 1 2 3; do mounted/a/prog 0.2; mounted/b/prog 0.2; done; umount mounted"
	names_all && judge --command burn_other --samples "$(expected 1)" --leaf '^other_'
}

it_names_a_program_of_a_container_that_was_removed_with_its_image() {
	need podman runc
	local image=mapwright-system-$$:1
	make_root root "$PROGRAMS/right" "$here/prog"
	cp "$PROGRAMS/wrong" prog
	tar -C root -c . | podman import -q - $image >/dev/null 2>&1 || skip "podman import does not work here"
	at_end sh -c "podman rmi -f $image >/dev/null 2>&1"
	local run="podman --runtime runc --cgroup-manager cgroupfs run --rm --network none --env BURN_TAG --ulimit nofile=4096:4096 --ulimit nproc=4096:4096"
	$run $image "$here/prog" 0.01 || skip "podman run does not work here"
	watch sh -c "$run $image $here/prog $seconds; podman rmi -f $image >/dev/null; sleep 0.3"
	names_all
}

run_cases "$@"
