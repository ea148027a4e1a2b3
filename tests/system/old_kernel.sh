#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Debian 12's own kernel, Linux 6.1, which has no task work for BPF: booted in a virtual machine with
# nothing in it but mapwright, busybox and the programs to be named. Part of `make check-long`.
. "$(dirname "$0")/lib.sh"

# The kernel of the distribution, small build for virtual machines; unpacked, not installed.
get_kernel() {
	local package
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends: linux-image/ { print $2; exit }')
	[ -n "$package" ] || { apt-get update -q && package=$(apt-cache depends linux-image-cloud-amd64 |
		awk '/Depends: linux-image/ { print $2; exit }'); } >&2
	[ -n "$package" ] || return
	apt-get download -q "$package-unsigned" >&2 || apt-get download -q "$package" >&2 || return
	dpkg-deb -x "$package"*.deb kernel && ls kernel/boot/vmlinuz-*
}

with_libraries() { # PROGRAM: copies it to root/bin, and what it is linked with to where it expects it
	local library
	cp "$1" root/bin/
	for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
		mkdir -p "root$(dirname "$library")"
		cp -n "$library" "root$library"
	done
}

fill_root() {
	local tool
	mkdir -p root/{bin,proc,sys,dev,tmp,var/cache}
	cp /bin/busybox root/bin/
	for tool in sh mount awk chroot cp rm sleep mkdir poweroff; do ln -s busybox "root/bin/$tool"; done
	with_libraries "$mapwright"
	[ -e root/bin/mapwright ] || mv "root/bin/$(basename "$mapwright")" root/bin/mapwright
	with_libraries "$PROGRAMS/right"
	cp "$PROGRAMS/right.static" root/bin/static
	cp "$PROGRAMS/right.noid" root/bin/noid && with_libraries "$PROGRAMS/right.noid"
	cp "$PROGRAMS/wrong.static" root/bin/wrong
	cat >root/init <<'INIT'
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
cd /tmp; echo
try() { # NAME COMMAND...: the leaves of all samples, with their counts
	echo "case $1"; shift
	mapwright record -q -a -g -F 199 -o p.mwp -- "$@" || echo "failed"
	mapwright export -f folded p.mwp | awk '{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, f, ";"); c[f[k]] += n }
		END { for (f in c) if (f ~ /^(right|wrong)_/) print "leaf", f, c[f] }'
}
try ordinary right 1
try static static 1
try without-build-id noid 1
mkdir -p r/bin; cp /bin/static r/bin/prog; cp /bin/wrong /bin/prog
try chroot sh -c "chroot r /bin/prog 1; sleep 0.3"
cp /bin/static own; try deleted sh -c "./own 1 & sleep 0.3; rm own; wait"
mapwright report p.mwp | head -n 12
echo done
poweroff -f
INIT
	chmod 755 root/init
	(cd root && find . | cpio -o -H newc 2>/dev/null | gzip -1 >../root.gz)
}

it_names_what_runs_on_linux_6_1() {
	local kernel name
	[ -n "${CHECK_LONG:-}" ] || skip "boots a virtual machine: make check-long"
	for name in qemu-system-x86_64 busybox cpio dpkg-deb; do
		command -v $name >/dev/null || skip "$name is not installed"
	done
	kernel=$(get_kernel) || skip "Debian's kernel package cannot be downloaded here"
	fill_root || return
	timeout 300 qemu-system-x86_64 -m 1024 -smp 2 -nographic -no-reboot -kernel "$kernel" -initrd root.gz \
		-append "console=ttyS0 quiet panic=1" </dev/null >console 2>&1 || return
	grep -a -A 60 '^case' console
	grep -aq '^# engine: *immediate' console || fail "another engine than the immediate one" || return
	! grep -aq 'leaf wrong_' console || fail "a wrong name" || return
	for name in ordinary static without-build-id chroot deleted; do
		awk -v name=$name '{ sub(/\r$/, "") } $1 == "case" { here = $2 == name }
			here && $1 == "leaf" { n += $3 } END { exit n < 60 }' console ||
			fail "$name: too few samples have their names" || return
	done
}

run_cases "$@"
