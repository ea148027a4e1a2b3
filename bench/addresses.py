#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Addresses uniform over the bytes of an ELF file's functions, with a fixed seed.
usage: addresses.py FILE N [offsets] > LIST. With "offsets": as offsets in the file."""
import random
import subprocess
import sys

path, n = sys.argv[1], int(sys.argv[2])
functions = []
table = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
for line in table.splitlines():
    word = line.split()
    if len(word) >= 8 and word[3] == "FUNC" and word[6] not in ("UND", "ABS"):
        size = int(word[2], 0)
        if size:
            functions.append((int(word[1], 16), size))
functions = sorted(set(functions))
segments = []
headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
for line in headers.splitlines():
    word = line.split()
    if len(word) >= 6 and word[0] == "LOAD":
        segments.append((int(word[2], 16), int(word[1], 16), int(word[4], 16)))


def as_asked(address):
    if sys.argv[3:] != ["offsets"]:
        return address
    return next(address - start + offset for start, offset, size in segments if start <= address < start + size)


random.seed(7)
chosen = random.choices(functions, weights=[size for _, size in functions], k=n)
for start, size in chosen:
    print(f"{as_asked(start + random.randrange(size)):#x}")
