#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Static analysis of src/: gcc's analyzer (findings are errors, as all warnings), then clang-tidy with
# the checks of .clang-tidy. Both report leaks where memory moves into a vector (gcc 12) or is freed by
# a cleanup attribute (clang 14): leaks are left to LeakSanitizer, in make asan.
set -eu
cd "$(dirname "$0")/.."
build=build-analyze

[ -f $build/build.ninja ] ||
	CC=gcc meson setup $build -Dtests=false \
		-Dc_args='-fanalyzer -Wno-analyzer-malloc-leak'
ninja -C $build
echo "gcc -fanalyzer: no findings"

# clang-tidy reads the options of the compiler that it is part of.
[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang -Dtests=false
ninja -C build-clang
git ls-files 'src/*.c' |
	xargs -P "$(nproc)" -n 8 clang-tidy --quiet -p build-clang
echo "clang-tidy: no findings"
