#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Addresses uniform over the bytes of an ELF file's functions, with a fixed seed.
usage: addresses.py FILE N > LIST"""
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
random.seed(7)
chosen = random.choices(functions, weights=[size for _, size in functions], k=n)
for start, size in chosen:
    print(f"{start + random.randrange(size):#x}")
