#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names of the ELF files of ../shared/corpus (and any others), against what two other tools say.

usage: corpus.py NAMES_PROGRAM [FILE_OR_DIRECTORY...]

Each function with a size is asked for at its first, middle and last byte, and behind its end. Where llvm-symbolizer
and eu-addr2line agree with each other, we must agree with them. Differences that are on purpose have a class in
docs/SYMBOLS.md; what belongs to none fails. The answers of corpus/INDEX.md are asked for one by one.
"""
import collections
import os
import re
import subprocess
import sys

SKIPPED = 77
FUNCTIONS = ('FUNC', 'IFUNC')


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, errors='replace')


def is_elf(path):
    with open(path, 'rb') as file:
        return file.read(4) == b'\x7fELF'


class Names:
    """What we say: pieces of code, and where their functions begin."""

    def __init__(self, program, path, *debug):
        result = run(program, path, *debug)
        self.error = result.stderr.strip()
        self.status = result.returncode
        self.pieces = []
        for line in result.stdout.splitlines():
            if not line.startswith('#'):
                start, end, function, name = line.split(' ', 3)
                self.pieces.append((int(start, 16), int(end, 16), int(function, 16), name))

    def at(self, address):
        for start, end, function, name in self.pieces:
            if start <= address < end:
                return name
        return None


def section_offsets(path):
    """Of a relocatable object, whose addresses are offsets for us: by section number. Else empty."""
    if 'REL (' not in run('readelf', '-hW', path).stdout:
        return {}
    offsets = {}
    for line in run('readelf', '-SW', path).stdout.splitlines():
        match = re.match(r'\s*\[ *(\d+)\] \S+ +\S+ +[0-9a-f]+ ([0-9a-f]+) ', line)
        if match:
            offsets[match[1]] = int(match[2], 16)
    return offsets


class Symbol:
    def __init__(self, fields):
        self.value, self.size = int(fields[1], 16), int(fields[2], 0)
        self.type, self.bind, self.section = fields[3], fields[4], fields[6]
        self.name = fields[7].split('@')[0]


def symbols_of(path):
    found = {}
    for line in run('readelf', '-sW', path).stdout.splitlines():
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[0].endswith(':') and fields[0][:-1].isdigit() and fields[6].isdigit():
            symbol = Symbol(fields)
            if symbol.type in FUNCTIONS + ('NOTYPE',):
                found[symbol.value, symbol.size, symbol.type, symbol.name] = symbol
    return list(found.values())


def ask_llvm(path, addresses):
    text = ''.join(f'{a:#x}\n' for a in addresses)
    out = run('llvm-symbolizer', f'--obj={path}', '--functions=linkage', '--no-inlines', '--no-demangle', text=text)
    answers = [block.splitlines()[0] if block else '??' for block in out.stdout.split('\n\n')]
    return answers[:len(addresses)] if len(answers) >= len(addresses) else None


def ask_elfutils(path, addresses):
    text = ''.join(f'{a:#x}\n' for a in addresses)
    lines = run('eu-addr2line', '-S', '-e', path, text=text).stdout.splitlines()
    if len(lines) != 2 * len(addresses):
        return None
    return [re.sub(r'\+0x[0-9a-f]+$', '', line.split(' ')[0].split('@')[0]) for line in lines[::2]]


class Judge:
    def __init__(self, program):
        self.program = program
        self.agreed = 0
        self.classes = collections.Counter()
        self.examples = {}
        self.failures = []

    def differ(self, kind, path, address, ours, theirs):
        self.classes[kind] += 1
        self.examples.setdefault(kind, f'{path} {address:#x}: {ours}, not {theirs}')

    def classify(self, symbols, address, ours, theirs):
        """Why we say something else than both tools do; None: nobody knows."""
        def covering(name):
            return [s for s in symbols if s.name == name and s.value <= address < s.value + max(s.size, 1)]
        mine, other = covering(ours), covering(theirs)
        if not mine and ours is None:
            if all(s.size == 0 or not s.value <= address < s.value + s.size for s in symbols if s.name == theirs):
                return 'gap'  # they give the name of a symbol that ends before
            return None
        if ours and ours.endswith(('@plt', '<PLT header>')):
            return 'plt'
        for a in mine:
            for b in other:
                if a.value == b.value:
                    return 'alias'
                if a.value > b.value:
                    return 'inner'
        for a in symbols:
            if a.name == ours and a.size == 0 and a.value <= address and not other:
                return 'no-size'
        return None

    def compare_object(self, path, ours, symbols, offsets):
        """Each function is where its section is, and has its name or that of another which is there, too."""
        for symbol in symbols:
            if symbol.type not in FUNCTIONS or not symbol.size or ours.status:
                continue
            names = {s.name for s in symbols if s.section == symbol.section and
                     s.value <= symbol.value < s.value + s.size}
            address = offsets[symbol.section] + symbol.value
            if ours.at(address) in names:
                self.agreed += 1
            else:
                self.failures.append(f'{path} {address:#x}: {ours.at(address)}, not {symbol.name}')

    def compare(self, path):
        ours = Names(self.program, path)
        symbols = symbols_of(path)
        offsets = section_offsets(path)
        if offsets:
            self.compare_object(path, ours, symbols, offsets)
            return
        sized = [s for s in symbols if s.type in FUNCTIONS and s.size and s.value]
        addresses = sorted({a for s in sized for a in (s.value, s.value + s.size // 2, s.value + s.size - 1,
                                                       s.value + s.size)})
        if not addresses or ours.status:
            return
        llvm, elfutils = ask_llvm(path, addresses), ask_elfutils(path, addresses)
        if not llvm or not elfutils:
            return
        for address, a, b in zip(addresses, llvm, elfutils):
            a = None if a == '??' else a.split('@')[0]
            b = None if b in ('??', '(.text)') or b.startswith('(') else b
            mine = ours.at(address)
            plain = mine.split('@')[0] if mine and not mine.endswith('@plt') else mine
            if a != b:
                self.classes['they differ'] += 1
            elif plain == a:
                self.agreed += 1
            else:
                kind = self.classify(symbols, address, plain, a)
                self.differ(kind or 'UNKNOWN', path, address, mine, a)
                if not kind:
                    self.failures.append(f'{path} {address:#x}: {mine}, not {a}')


def main():
    program, *paths = sys.argv[1:]
    shared = os.environ.get('MAPWRIGHT_SHARED') or os.path.join(os.path.dirname(__file__), '../../../../shared')
    paths = paths or [os.path.join(shared, 'corpus/elf')]
    if not all(map(os.path.exists, paths)):
        print('no corpus beside the project')
        return SKIPPED
    judge = Judge(program)
    for top in paths:
        files = [top] if os.path.isfile(top) else sorted(
            os.path.join(d, f) for d, _, names in os.walk(top) for f in names)
        for path in filter(is_elf, files):
            judge.compare(path)
    print(f'{judge.agreed} names agree')
    for kind, count in judge.classes.most_common():
        print(f'{count} {kind}: {judge.examples.get(kind, "")}')
    wrong = judge.failures[:20]
    print('FAIL names_agree_with_other_tools ' + '; '.join(wrong) if wrong or judge.agreed < 100
          else 'ok names_agree_with_other_tools')
    if not sys.argv[2:]:
        wrong += check_index(program, paths[0])
    return 1 if wrong else 0


# What corpus/INDEX.md says: file, its debug file, address, name.
INDEX = [
    ('samply/linux64-ci/firefox', None, 0x2018a0, '_start'),
    ('samply/other/issue-776-nonpie-aarch64', None, 0x4580 + 0x4000, 'func_74'),
    ('samply/other/example-linux', None, 0x401156, 'main'),
    ('samply/other/example-linux', None, 0x401158, None),
    ('samply/other/example-linux', None, 0x401160, 'f'),
    ('samply/other/example-linux', None, 0x401020, '<PLT header>'),
    ('samply/other/example-linux', None, 0x401030, 'printf@plt'),
    ('samply/other/example-linux-fallback', None, 0x6, None),
    ('symbolic/linux/dynsyms_only', None, 0x7f0, '__vdso_gettimeofday'),
    ('parca-agent/pkg/elfwriter/basic-cpp-dwarf-compressed-corrupted', None, 0x1187, '_Z2b2v'),
    ('otel/processmanager/execinfomanager/vdso.arch64.withframe', None, 0x7d0, '__kernel_clock_gettime'),
    ('object/dwarf/cold', None, None, 'main'),
    ('samply/other/ls-linux/ls', 'samply/other/ls-linux/260a3e6e46db57abf718f6a3562c6eedccf269.debug', None,
     'gobble_file.constprop.0'),
    ('otel/symblib/inline', None, 0x650, 'main'),
]
SAME = ['symbolic/linux/crash.debug', 'symbolic/linux/crash.debug-zlib', 'symbolic/linux/crash.debug-zstd']
AN_ERROR = ['parca-agent/pkg/buildid/missing-text-section', 'otel/nativeunwind/elfunwindinfo/test.so']


def check_index(program, top):
    wrong = []
    for file, debug, address, name in INDEX:
        names = Names(program, *(os.path.join(top, f) for f in (file, debug) if f))
        known = names.at(address) if address is not None else name if any(p[3] == name for p in names.pieces) else None
        if names.status or known != name:
            wrong.append(f'{file}: {known or names.error}, not {name}')
    tables = [Names(program, os.path.join(top, f)).pieces for f in SAME]
    if not tables[0] or any(t != tables[0] for t in tables):
        wrong.append('packed sections give other names')
    for file in AN_ERROR:
        names = Names(program, os.path.join(top, file))
        if names.status != 1 or not names.error:
            wrong.append(f'{file}: status {names.status}')
    print('FAIL names_are_those_of_the_index ' + '; '.join(wrong) if wrong else 'ok names_are_those_of_the_index')
    return wrong


if __name__ == '__main__':
    sys.exit(main())
