#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""relocatable.py OBJECT GSYM: lines of an object file, whose addresses are offsets in the file, against
those that objdump shows for each section."""
import re
import subprocess
import sys

from differential import Gsym


def sections(path):
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    for m in re.finditer(r"\] (\.text\S*) +PROGBITS +\w+ (\w+) (\w+)", text):
        if int(m[3], 16):
            yield m[1], int(m[2], 16)


def main():
    path, gsym = sys.argv[1], Gsym(sys.argv[2])
    checked = wrong = 0
    for name, offset in sections(path):
        text = subprocess.run(["objdump", "-dl", "-j", name, path], capture_output=True, text=True, check=True).stdout
        where = None
        for row in text.splitlines():
            if m := re.match(r"^(/\S+):(\d+)", row):
                where = (m[1], int(m[2]))
            elif (m := re.match(r"^ +([0-9a-f]+):\t[^\t]*\t(.*)", row)) and where:
                if re.search(r"\b(nop\w?|xchg +%ax,%ax)\b", m[2]):
                    continue  # padding belongs to nobody
                frames = gsym.find(offset + int(m[1], 16))
                checked += 1
                if not frames or frames[0][1:] != where:
                    wrong += 1
                    print(name, m[1], frames, where)
    print("%d instructions, %d wrong" % (checked, wrong))
    return 1 if wrong or checked < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
