#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names by the symbol table alone, from an empty store, beside llvm-symbolizer: the inputs of fetch_inputs.sh without
their debug information, 100,000 addresses uniform over the functions. And how long making the table of node takes.
usage: bench_names.py [MAPWRIGHT]     MAPWRIGHT_INPUTS: where the inputs are, or are put
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 5
ADDRESSES = 100000


def measure(command, stdin=None):
    """CPU seconds and peak MB of a command and its children."""
    with open(stdin or os.devnull) as source, open(os.devnull, 'w') as sink:
        process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=sink)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    if status:
        sys.exit(f'{command[0]} failed')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def show(values, unit, scale=1.0):
    values = [v * scale for v in values]
    return f'{statistics.median(values):.3g} {unit} ({min(values):.3g} to {max(values):.3g})'


def main():
    mapwright = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else 'build/src/cli/mapwright')
    names = os.path.join(os.path.dirname(mapwright), '../../tests/symbols/names')
    inputs = os.environ.get('MAPWRIGHT_INPUTS', '/var/tmp/mapwright-inputs')
    subprocess.run([os.path.join(HERE, 'fetch_inputs.sh'), inputs], check=True)
    work = tempfile.mkdtemp(dir='/var/tmp')
    try:
        for name in ('node', 'ceph-mon', 'python3.11'):
            bare, addresses = os.path.join(work, name), os.path.join(work, name + '.addresses')
            subprocess.run(['objcopy', '-g', os.path.join(inputs, name), bare], check=True)
            with open(addresses, 'w') as out:
                subprocess.run([sys.executable, os.path.join(HERE, 'addresses.py'), bare, str(ADDRESSES)], stdout=out, check=True)
            ours, llvm, making = [], [], []
            for _ in range(ROUNDS):
                shutil.rmtree(os.path.join(work, 'store'), ignore_errors=True)
                ours.append(measure([mapwright, 'resolve', '--store', os.path.join(work, 'store'), '-e', bare,
                                     '--mangled', '--file', addresses]))
                llvm.append(measure(['llvm-symbolizer', f'--obj={bare}', '--functions=linkage', '--no-inlines',
                                     '--no-demangle'], addresses))
                making.append(measure([names, '-q', bare]))
            ratio = statistics.median(c for c, _ in llvm) / statistics.median(c for c, _ in ours)
            print(f'{name}: mapwright {show([c for c, _ in ours], "s CPU")}, {show([m for _, m in ours], "MB")};'
                  f' llvm-symbolizer {show([c for c, _ in llvm], "s CPU")}, {show([m for _, m in llvm], "MB")};'
                  f' {ratio:.1f} times')
            print(f'{name}, making the table alone: {show([c for c, _ in making], "ms CPU", 1000)},'
                  f' {show([m for _, m in making], "MB")}')
    finally:
        shutil.rmtree(work)


if __name__ == '__main__':
    main()
