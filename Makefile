# SPDX-License-Identifier: LGPL-2.1-or-later
# A thin cover over Meson. Each target installs what it needs (packages.txt) and builds first.

CC_FUZZ      ?= clang
FUZZ_SECONDS ?= 600
export FUZZ_SECONDS

comma := ,
# meson setup is run once for each directory; Ninja repeats it by itself when files change.
setup = test -f $(1)/build.ninja || $(3) meson setup $(1) $(2)

.DEFAULT_GOAL := build
.PHONY: packages build run check check-long asan tsan analyze fuzz bench install clean

packages:
	@tools/packages.sh

build: packages
	@$(call setup,build)
	@ninja -C build

# Records a machine on which things happen that confuse profilers, and prints the report.
run: build
	@tools/demo.sh build/src/cli/mapwright

check: packages
	@tools/check.py

check-long:
	@tools/packages.sh packages.txt packages-long.txt
	@tools/check.py --long

asan: packages
	@$(call setup,build-asan,-Db_sanitize=address$(comma)undefined)
	@tools/check.py --build build-asan --only unit

tsan: packages
	@$(call setup,build-tsan,-Db_sanitize=thread)
	@tools/check.py --build build-tsan --only unit

analyze: packages
	@tools/analyze.sh

fuzz: packages
	@$(call setup,build-fuzz,-Dfuzz=true -Db_sanitize=address$(comma)undefined -Db_lundef=false -Dtests=false,CC=$(CC_FUZZ))
	@tools/fuzz.sh build-fuzz

bench: build
	@bench/run.sh build/src/cli/mapwright

install: build
	@meson install -C build

clean:
	@rm -rf build build-asan build-tsan build-fuzz build-analyze build-clang
