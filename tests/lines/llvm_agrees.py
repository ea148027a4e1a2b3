#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""llvm_agrees.py GSYM COUNT: llvm-gsymutil reads a GSYM of ours, finds nothing wrong with it, and gives
at each of COUNT addresses the functions, calls, files and lines that are in it (decoded by
differential.py, which is neither ours nor LLVM's)."""
import random
import re
import shutil
import subprocess
import sys

from differential import Gsym

FRAME = re.compile(r"^(?:0x[0-9a-f]+: | +)(?P<name>\S.*?)(?: \+ \d+)?(?: @ (?P<path>.*):(?P<line>\d+))?(?: \[inlined\])?$")


def ask(tool, gsym, addresses):
    options = ["--address=%#x" % a for a in addresses]
    text = subprocess.run([tool, *options, gsym], capture_output=True, text=True, errors="replace", check=True).stdout
    answers = []
    for row in text.splitlines()[1:]:
        if "error: address" in row:
            answers.append([])
            continue
        m = FRAME.match(row)
        if row.startswith("0x"):
            answers.append([])
        if m:
            answers[-1].append((m["name"], m["path"] or "", int(m["line"] or 0)))
    assert len(answers) == len(addresses)
    return answers


def main():
    path, count = sys.argv[1], int(sys.argv[2])
    tool = shutil.which("llvm-gsymutil-14") or shutil.which("llvm-gsymutil")
    gsym = Gsym(path)
    dump = subprocess.run([tool, "--verify", path], capture_output=True, text=True, errors="replace")
    if dump.returncode or "error" in dump.stderr or dump.stdout.count("\nFunctionInfo @") != len(gsym.offsets):
        print("--verify:", dump.returncode, dump.stderr[-500:], dump.stdout.count("\nFunctionInfo @"), len(gsym.offsets))
        return 1
    rnd, bad = random.Random(1), 0
    addresses = []
    for _ in range(count):
        start, end, *_ = gsym.function(rnd.randrange(len(gsym.offsets)))
        addresses.append(rnd.choice([start, end - 1, rnd.randrange(start, end), rnd.randrange(start, end)]))
    for address, theirs in zip(addresses, ask(tool, path, addresses)):
        ours = [(n, p, line) for n, p, line in gsym.find(address)]
        if ours != theirs:
            bad += 1
            if bad < 4:
                print("%#x\n  ours %s\n  llvm %s" % (address, ours, theirs))
    print("%s: %d of %d addresses equal" % (path, count - bad, count))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
