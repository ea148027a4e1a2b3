#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs that symbolization is measured on, whole and with their debug information:
# usage: fetch_inputs.sh DIRECTORY. Makes ceph-mon, python3.11 and node there, once.
set -eu
mkdir -p "$1" && cd "$1"
exec 9>lock && flock 9

# whole NAME PACKAGE PROGRAM DEBUG_PACKAGE: program and debug file joined, nothing compressed.
whole() {
	[ -e "$1" ] && return
	local unpacked=
	unpacked=$(mktemp -d "$PWD/unpack.XXXXXX")
	(cd "$unpacked" && apt-get download "$2" "$4" >/dev/null && for deb in *.deb; do dpkg -x "$deb" .; done)
	local id=
	id=$(readelf -n "$unpacked$3" | awk '/Build ID/ { print $3 }')
	eu-unstrip -o "$1.part" "$unpacked$3" "$unpacked/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	eu-elfcompress -q -t none "$1.part"
	mv "$1.part" "$1"
	rm -rf "$unpacked"
}
whole ceph-mon ceph-mon /usr/bin/ceph-mon ceph-mon-dbg
whole python3.11 python3.11-minimal /usr/bin/python3.11 python3.11-dbg
if [ ! -e node ]; then
	cp "$(readlink -f "$(command -v node)")" node.part
	mv node.part node
fi
