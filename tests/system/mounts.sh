#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What others have mounted is theirs: a mount that sampled programs ran on can be unmounted, and the loop
# device below it detached, within three seconds of the program's end, while recording goes on.
. "$(dirname "$0")/lib.sh"

# succeeds_soon COMMAND...: within three seconds.
succeeds_soon() {
	local start=${EPOCHREALTIME/./}
	while ! "$@" 2>/dev/null; do
		[ $((${EPOCHREALTIME/./} - start)) -lt 3000000 ] || { "$@"; fail "not within three seconds: $*"; return; }
		sleep 0.05
	done
	echo "$*: after $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
}

is_detached() { ! losetup --list --noheadings --output BACK-FILE | grep -qF "$1"; }

# let_go_of IMAGE: runs the program on ./mounted, and takes the mount and its device away after it.
let_go_of() {
	local device
	start_recording -q -a -g -F $frequency
	mounted/prog $seconds || return
	succeeds_soon umount mounted || return
	if [ -n "$1" ]; then
		device=$(losetup --list --noheadings --output NAME,BACK-FILE | awk -v f="$here/$1" '$2 == f { print $1 }')
		[ -n "$device" ] && succeeds_soon losetup --detach "$device" && succeeds_soon is_detached "$here/$1" || return
		rm "$1"
	fi
	! is_gone "$recorder" || fail "the recorder did not go on" || return
	stop_recording && names_all
}

# The loop device is attached by hand, so that umount does not detach it.
attach() { # IMAGE FILE_SYSTEM
	mkdir mounted
	cp "$PROGRAMS/wrong" mounted/prog
	mount -t "$2" "$(losetup --find --show "$here/$1")" mounted
}

it_lets_go_of_an_ext4_image() {
	need mkfs.ext4
	truncate -s 16M image && mkfs.ext4 -q image && attach image ext4 || return
	cp "$PROGRAMS/right" mounted/prog
	let_go_of image
}

it_lets_go_of_a_squashfs_image() {
	need mksquashfs
	need_file_system squashfs
	mkdir content
	cp "$PROGRAMS/right" content/prog
	mksquashfs content image -quiet -no-progress >/dev/null && attach image squashfs || return
	let_go_of image
}

it_lets_go_of_a_btrfs_image() {
	need mkfs.btrfs
	need_file_system btrfs
	truncate -s 200M image && mkfs.btrfs -q image && attach image btrfs || return
	cp "$PROGRAMS/right" mounted/prog
	let_go_of image
}

it_lets_go_of_a_tmpfs() {
	mkdir mounted
	mount -t tmpfs none mounted
	cp "$PROGRAMS/right" mounted/prog
	let_go_of ''
}

it_lets_go_of_an_overlay_and_its_layers() {
	mkdir mounted
	mount -t tmpfs none mounted && mkdir mounted/{lower,upper,scratch,merged} || return
	cp "$PROGRAMS/right" mounted/lower/prog
	mount -t overlay none -o lowerdir=mounted/lower,upperdir=mounted/upper,workdir=mounted/scratch mounted/merged || return
	start_recording -q -a -g -F $frequency
	mounted/merged/prog $seconds || return
	succeeds_soon umount mounted/merged && succeeds_soon umount mounted || return
	stop_recording && names_all
}

# One that nobody sees from outside: with the last process of its namespace the image must be free.
it_lets_go_of_an_image_in_a_private_namespace() {
	need mkfs.ext4
	truncate -s 16M image && mkfs.ext4 -q image && mkdir mounted || return
	start_recording -q -a -g -F $frequency
	unshare --mount sh -c "mount -o loop image mounted && cp $PROGRAMS/right mounted/prog && mounted/prog $seconds" || return
	succeeds_soon is_detached "$here/image" && stop_recording && names_all
}

# Many files at once: whoever holds them until all have been worked on is too late.
it_lets_go_of_an_image_with_many_programs() {
	need mkfs.ext4
	local i
	truncate -s 64M image && mkfs.ext4 -q image && attach image ext4 || return
	for i in $(seq 40); do cp "$PROGRAMS/right.static" mounted/prog$i; done
	start_recording -q -a -g -F $frequency
	for i in $(seq 40); do mounted/prog$i 0.02; done
	succeeds_soon umount mounted || return
	stop_recording && judge --samples "$(awk -v f=$frequency 'BEGIN { print int(f * 0.8) }')"
}

run_cases "$@"
