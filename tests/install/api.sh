#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: api.sh BUILD-DIR MAPWRIGHT. The example in the manual of the library is built and does what it says.
. "$(dirname "$0")/../lib/cases.sh"
build=$(realpath "$1")
mapwright=$(realpath "$2")
source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

awk '/^\.Ed/ { on = 0 } on { gsub(/\\en/, "\\n"); print } /^\.Bd -literal/ { on = 1 }' "$source/docs/mapwright-api.3" >stacks.c
cat >prog.c <<'C'
#include <stdlib.h>
static inline __attribute__((always_inline)) long inner(long x)
{
	volatile long s = 0;
	for (long i = 0; i < 1000; i++)
		s += x * i;
	return s;
}
__attribute__((noinline)) long true_work(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += inner(i);
	return s;
}
int main(int c, char **v) { return (int)true_work(atol(v[1])) & 1; }
C

is_short() { [ "$(wc -l <stacks.c)" -le 60 ] && grep -q mw_resolver_find_stack stacks.c; }
builds() {
	cc -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers -I"$source/include" stacks.c -o stacks \
		-L"$build/src" -lbpf -lmapwright -Wl,-rpath,"$build/src"
}
names_the_stacks() { # of a program that has exited, and was removed
	cc -O2 -g -fno-omit-frame-pointer prog.c -o prog && "$mapwright" store add --store /var/cache/mapwright prog >/dev/null || return
	./stacks ./prog 300000 >out
	rm -f prog
	awk '$2 == "inner" && $3 ~ /^prog.c:[456]$/ { inner++ } $2 == "true_work" && $3 ~ /^prog.c:/ { work++ }
		END { exit !(inner && work) }' out || { head -20 out; false; }
}
lints() { mandoc -T lint -W warning "$source/docs/mapwright-api.3"; }

check the_example_has_sixty_lines_at_most is_short
check the_example_is_built_without_a_warning builds
if [ "$(id -u)" -eq 0 ]; then
	check the_example_names_the_stacks_of_a_program_that_is_gone names_the_stacks
else
	skip the_example_names_the_stacks_of_a_program_that_is_gone 'needs root'
fi
check_with mandoc the_page_is_in_order lints
finish
