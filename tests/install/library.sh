#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: library.sh BUILD-DIR. What others get from `make install`: programs find and link the
# library by pkg-config, and it exports nothing but its interface.
. "$(dirname "$0")/../lib/cases.sh"
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

meson install -C "$build" --no-rebuild --destdir "$work/root" >"$work/log" 2>&1 || {
	fail it_installs "$(tail -n 3 "$work/log")"
	finish
}
ok it_installs

pc=$(find "$work/root" -name mapwright.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$work/root
library=$(find "$work/root" -name libmapwright.so)

cat >"$work/user.c" <<'C'
#include <mapwright/mapwright.h>
#include <string.h>
int main(void)
{
	struct mw_file_id id;
	char text[MW_FILE_ID_TEXT_MAX];
	if (mw_file_id_from_text("gnu:93ac61ec", &id) < 0)
		return 1;
	mw_file_id_to_text(&id, text, sizeof text);
	return strcmp(text, "gnu:93ac61ec") != 0 || !*mw_version();
}
C

links_shared() {
	cc "$work/user.c" -o "$work/shared" $(pkg-config --cflags --libs mapwright) &&
		LD_LIBRARY_PATH=${library%/*} "$work/shared" &&
		readelf -d "$work/shared" | grep -q 'NEEDED.*libmapwright\.so\.0'
}
links_static() {
	local libs
	libs=$(pkg-config --static --libs mapwright | sed 's/-lmapwright/-l:libmapwright.a/')
	cc "$work/user.c" -o "$work/static" $(pkg-config --cflags mapwright) $libs &&
		"$work/static" && ! readelf -d "$work/static" | grep libmapwright
}
exports_only_the_interface() {
	local foreign
	foreign=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^mw_/ { print $3 }')
	[ -z "$foreign" ] || { echo "$foreign"; false; }
}
# Each function of the header is there; the declarations are found by their mark.
exports_the_whole_interface() {
	local name missing=0
	for name in $(tr '\n' ' ' <"$work"/root/*/*/include/mapwright/mapwright.h |
		grep -o 'MW_PUBLIC [^(;]*(' | grep -o 'mw_[a-z0-9_]*(' | tr -d '(' | sort -u); do
		nm -D --defined-only "$library" | grep -q " $name\(@\|\$\)" || { echo "$name"; missing=1; }
	done
	return $missing
}
check_with pkg-config a_program_links_the_shared_library_by_pkg_config links_shared
check_with pkg-config a_program_links_the_static_library_by_pkg_config links_static
check only_the_interface_is_exported exports_only_the_interface
check the_whole_interface_is_exported exports_the_whole_interface
finish
