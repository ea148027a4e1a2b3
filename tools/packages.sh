#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: packages.sh [LIST...]. Installs those packages of the lists (packages.txt) that are missing, and
# does nothing if none is.
set -eu
cd "$(dirname "$0")/.."

command -v dpkg-query >/dev/null || exit 0 # not Debian: whoever builds has seen to it

[ $# -gt 0 ] || set -- packages.txt
wanted=$(sed 's/#.*//' "$@" | xargs)
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^ii *//p' || true)
missing=$(comm -23 <(tr ' ' '\n' <<<"$wanted" | sort -u) <(sort -u <<<"$installed") | xargs)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
	as_root=()
elif command -v sudo >/dev/null; then
	as_root=(sudo)
else
	echo "packages are missing, and only root can install them: $missing" >&2
	echo "hint: as root: apt-get install $missing" >&2
	exit 1
fi

echo "installing packages that are missing: $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >>"$log" 2>&1 </dev/null
}
install() {
	# shellcheck disable=SC2086
	apt_get install --no-install-recommends $missing
}
# The lists of a fresh machine are empty, and those of an old one name files that are gone.
install || { apt_get update && install; } || {
	tail -n 20 "$log" >&2
	exit 1
}
