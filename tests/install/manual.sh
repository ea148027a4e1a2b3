#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: manual.sh DOCS-DIR MAPWRIGHT. The manual pages that the build made.
. "$(dirname "$0")/../lib/cases.sh"
mapwright=$(realpath "$2")
cd "$1" || exit 1

# References to pages that are not installed yet are no fault of the page.
lint() {
	local said
	said=$(mandoc -T lint -W style "$1" | grep -v 'referenced manual not found')
	[ -z "$said" ] || { echo "$said"; false; }
}
for page in *.1; do
	check_with mandoc "${page%.1}_has_nothing_for_lint" lint "$page"
done

# A reference must lead to a page that we install.
references_exist() {
	local name missing=0
	for name in $(sed -n 's/^\.Xr \([a-z-]*\) 1.*/\1/p' ./*.1 | sort -u); do
		[ -f "$name.1" ] || { echo "no page $name"; missing=1; }
	done
	return $missing
}
every_command_has_a_page() {
	local name= missing=0
	for name in $("$mapwright" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p'); do
		[ -f "mapwright-$name.1" ] || { echo "no page for $name"; missing=1; }
	done
	[ -n "$name" ] && return $missing
}
check references_lead_to_pages references_exist
check every_command_has_a_page every_command_has_a_page
finish
