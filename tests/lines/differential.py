#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""differential.py PROGRAM GSYM COUNT [SEED]

Asks llvm-symbolizer and a GSYM for the same addresses, uniform over the functions of PROGRAM, and
compares functions, inlined calls, files and lines. The GSYM is decoded here, by the description of the
format, so that neither our reader nor LLVM's is trusted. Differences are sorted into classes; prints a
line for each with a count and an example, and ends with 1 if there are any of the class `wrong`.

PROGRAM need not be what the GSYM was made from, as long as the code is the same: llvm-symbolizer 14
does not read supplementary files, so of a program that dwz shrunk, it is asked about the one before.

llvm-symbolizer replaces the outermost name by that of the symbol table. So it is asked about a copy
that has debug information but no symbols; PROGRAM's own symbols are what it says beyond that.
"""
import bisect
import collections
import random
import struct
import subprocess
import sys
import tempfile


class Gsym:
    def __init__(self, path):
        self.data = data = open(path, "rb").read()
        magic, version, offset_size, _, self.base, n, strings, strings_size = struct.unpack_from("<IHBBQIII", data)
        assert magic == 0x4753594D and version == 1
        kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[offset_size]
        self.offsets = struct.unpack_from(f"<{n}{kind}", data, 48)
        at = (48 + n * offset_size + 3) & ~3
        self.infos = struct.unpack_from(f"<{n}I", data, at)
        at += 4 * n
        n_files = struct.unpack_from("<I", data, at)[0]
        pairs = struct.unpack_from(f"<{2 * n_files}I", data, at + 4)
        self.strings = data[strings : strings + strings_size]
        self.files = [self.path(pairs[2 * i], pairs[2 * i + 1]) for i in range(n_files)]
        self.cache = {}

    def string(self, offset):
        return self.strings[offset : self.strings.index(b"\0", offset)].decode("utf-8", "replace")

    def path(self, directory, name):
        d, n = self.string(directory), self.string(name)
        return d + n if d.endswith("/") else d + "/" + n if d else n

    def uleb(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self):
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def u32(self):
        self.at += 4
        return struct.unpack_from("<I", self.data, self.at - 4)[0]

    def lines(self, start):
        low, high, line = self.sleb(), self.sleb(), self.uleb()
        address, file, rows = start, 1, []
        while True:
            op = self.data[self.at]
            self.at += 1
            if op == 0:
                return rows
            if op == 1:
                file = self.uleb()
                continue
            if op == 3:
                line += self.sleb()
                continue
            if op == 2:
                address += self.uleb()
            else:
                width = high - low + 1
                line += low + (op - 4) % width
                address += (op - 4) // width
            rows.append((address, file, line))

    def call(self, base):
        ranges = []
        for _ in range(self.uleb()):
            start = base + self.uleb()
            ranges.append((start, start + self.uleb()))
        if not ranges:
            return None
        has_children = self.data[self.at]
        self.at += 1
        call = [ranges, self.u32(), self.uleb(), self.uleb(), []]
        while has_children:
            child = self.call(ranges[0][0])
            if child is None:
                break
            call[4].append(child)
        return call

    def function(self, i):
        start = self.base + self.offsets[i]
        self.at = self.infos[i]
        size, name, rows, calls = self.u32(), self.u32(), [], None
        while True:
            kind, length = self.u32(), self.u32()
            if kind == 0:
                return start, start + size, name, rows, calls
            end = self.at + length
            if kind == 1:
                rows = self.lines(start)
            elif kind == 2:
                calls = self.call(start)
            assert self.at == end
            self.at = end

    def find(self, address):
        """[(function, path, line)], innermost first"""
        i = bisect.bisect_right(self.offsets, address - self.base) - 1
        if i < 0:
            return []
        if i not in self.cache:
            self.cache[i] = self.function(i)
        start, end, name, rows, call = self.cache[i]
        if address >= end:
            return []
        at = bisect.bisect_right(rows, (address, 1 << 40, 0)) - 1
        _, file, line = rows[at] if at >= 0 else (0, 0, 0)
        chain, children = [], call[4] if call else []
        while True:
            inside = [c for c in children if any(s <= address < e for s, e in c[0])]
            assert len(inside) < 2, "two calls claim %#x" % address
            if not inside:
                break
            chain.append(inside[0])
            children = inside[0][4]
        frames = []
        for c in reversed(chain):
            frames.append((self.string(c[1]), self.files[file], line))
            file, line = c[2], c[3]
        frames.append((self.string(name), self.files[file], line))
        return frames


def functions_of(program):
    text = subprocess.run(["readelf", "-sW", program], capture_output=True, text=True, errors="replace").stdout
    found = set()
    for row in text.splitlines():
        f = row.split()
        if len(f) >= 8 and f[3] in ("FUNC", "IFUNC") and f[6] != "UND" and int(f[2], 0):
            found.add((int(f[1], 16), int(f[2], 0)))
    return sorted(found)


def addresses_of(functions, count, seed):
    sums, total = [], 0
    for _, size in functions:
        total += size
        sums.append(total)
    rnd = random.Random(seed)
    for _ in range(count):
        x = rnd.randrange(total)
        i = bisect.bisect_right(sums, x)
        yield sum(functions[i]) - (sums[i] - x)


def symbolizer(program, addresses):
    asked = "".join("%#x\n" % a for a in addresses)
    run = subprocess.run(["llvm-symbolizer", "--obj=" + program, "--inlines", "--no-demangle", "--output-style=LLVM"],
                         input=asked, capture_output=True, text=True, errors="replace")
    answers = []
    for block in run.stdout.strip("\n").split("\n\n"):
        rows, frames = block.split("\n"), []
        for i in range(0, len(rows) - 1, 2):
            path, line, _ = rows[i + 1].rsplit(":", 2)
            frames.append((rows[i], path, int(line)))
        answers.append(frames)
    assert len(answers) == len(addresses), (len(answers), len(addresses))
    return answers


def addr2line(program, address):
    run = subprocess.run(["addr2line", "-fi", "-e", program, "%#x" % address], capture_output=True, text=True, errors="replace")
    rows, frames = run.stdout.splitlines(), []
    for i in range(0, len(rows) - 1, 2):
        path, line = rows[i + 1].split(" (discriminator")[0].rsplit(":", 1)
        frames.append((rows[i], path, int(line) if line.isdigit() else 0))
    return frames


def judge_silent(program, ours, address):
    """Where llvm-symbolizer has no answer, binutils may have one."""
    theirs = plain(addr2line(program, address))
    ours = plain(ours)
    # Of the innermost, and of the outermost, it may show the symbol instead.
    same = [f[1:] for f in ours] == [f[1:] for f in theirs] and ours[1:-1] == theirs[1:-1]
    return "silent" if same else "only-ours"


def without_symbols(program, directory):
    bare = directory + "/bare"
    # Each refuses some: binutils other machines, LLVM static programs.
    for tool in "llvm-objcopy", "objcopy":
        run = subprocess.run([tool, "--only-keep-debug", program, bare], stderr=subprocess.DEVNULL)
        if run.returncode == 0:
            break
    subprocess.run(["llvm-objcopy", "-R", ".symtab", "-R", ".strtab", bare], check=True)
    return bare


def plain(frames):
    """No answer is written in several ways: ?? and :0 of nothing, "" of no file."""
    return [("" if f == "??" else f, "" if p == "??" else p, line) for f, p, line in frames]


def classify(ours, theirs, named):
    """None if they agree; else the class, see docs/SYMBOLS.md."""
    ours, theirs, named = plain(ours), plain(theirs), plain(named)
    if theirs and not theirs[-1][0]:
        theirs = theirs[:-1] + [(named[-1][0],) + theirs[-1][1:]]
    if ours == theirs or (not ours and theirs == [("", "", 0)]):
        return None
    if not ours:
        return "not-ours"
    if [f[1:] for f in ours] == [f[1:] for f in theirs]:
        if ours[:-1] == theirs[:-1] and theirs[-1][0] == named[-1][0]:
            return "other-symbol"
        return "name"
    if len(theirs) == 1 and theirs[0][1:] == ("", 0):
        return "silent"
    if len(ours) != len(theirs):
        return "chain"
    if [(f[0], f[2]) for f in ours] == [(f[0], f[2]) for f in theirs]:
        doubled = all(t[1] == o[1] or (o[1] and t[1].endswith(o[1]) and o[1].startswith(t[1][: -len(o[1])])) for o, t in zip(ours, theirs))
        return "doubled-directory" if doubled else "path"
    return "line"


# Classes where llvm-symbolizer is known to say less, or otherwise.
EXPLAINED = {"other-symbol", "silent", "doubled-directory"}


def main():
    program, gsym, count, *seed = sys.argv[1:]
    gsym, count, seed = Gsym(gsym), int(count), int(seed[0]) if seed else 1
    with tempfile.TemporaryDirectory() as directory:
        functions = functions_of(program)
        addresses = list(addresses_of(functions, count, seed))
        theirs = symbolizer(without_symbols(program, directory), addresses)
        symbols = symbolizer(program, addresses)
    classes, examples = collections.Counter(), {}
    for address, reference, named in zip(addresses, theirs, symbols):
        ours = gsym.find(address)
        kind = classify(ours, reference, named)
        # Each costs a run of addr2line, so a sample is enough.
        if kind == "silent" and classes[kind] < 50:
            kind = judge_silent(program, ours, address)
        if kind:
            classes[kind] += 1
            examples.setdefault(kind, (address, ours, reference, named))
    print("%s: %d addresses, %d equal" % (program, count, count - sum(classes.values())))
    for kind, n in classes.most_common():
        print("  %s %d, for example %#x:\n    ours %s\n    llvm %s\n    with symbols %s" % ((kind, n) + examples[kind]))
    return 1 if set(classes) - EXPLAINED else 0


if __name__ == "__main__":
    sys.exit(main())
