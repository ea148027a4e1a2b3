#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""moved.py OBJECT OBJECT-GSYM PROGRAM PROGRAM-GSYM: an object file, whose addresses are offsets in the
file, has the same functions, calls and lines as the program that was linked from it alone."""
import re
import subprocess
import sys

from differential import Gsym, functions_of


def text_of(path, column):
    rows = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"\] \.text +PROGBITS +(\w+) (\w+)", rows)[column], 16)


def main():
    item, item_gsym, program, program_gsym = sys.argv[1:]
    by = text_of(program, 1) - text_of(item, 2)
    before, after = Gsym(item_gsym), Gsym(program_gsym)
    checked = wrong = 0
    for start, size in functions_of(program):
        for address in range(start & ~1, start + size, 2):
            checked += 1
            if before.find(address - by) != after.find(address):
                wrong += 1
                print("%#x %s %s" % (address, before.find(address - by), after.find(address)))
    print("%d addresses, %d wrong" % (checked, wrong))
    return 1 if wrong or checked < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
