#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Judges the stacks of one command in a profile, in JSON on standard input: usage: chains.py COMMAND WHICH CHAIN N.

A stack is written root first, names joined by ';', without its kernel part. Those in which the expression WHICH
is found are judged: once the first of them was the whole CHAIN, an expression for all of it, the recorder has met
the files, and from then on nearly all must be; and there must be N at least.
"""
import json
import re
import sys


def text_of(frame):
    name = frame.get('name') or f"[{frame.get('reason')}]"
    return ('?' if frame.get('guessed') else '') + name


def main():
    command, which, chain, wanted = sys.argv[1], re.compile(sys.argv[2]), re.compile(sys.argv[3]), int(sys.argv[4])
    samples = []
    for sample in json.load(sys.stdin)['samples']:
        stack = ';'.join(text_of(f) for f in reversed(sample['frames']) if f['kind'] != 'kernel')
        if sample['task']['command'] == command and which.search(stack):
            samples.append((sample['time_ns'], sample['count'], stack))
    warm = min((time for time, _, stack in samples if chain.fullmatch(stack)), default=None)
    total = whole = 0
    for time, count, stack in samples:
        if warm is None or time <= warm:
            continue
        total += count
        whole += count if chain.fullmatch(stack) else 0
        if not chain.fullmatch(stack):
            print(count, stack[:600])
    if warm is None:
        for _, count, stack in samples[:20]:
            print(count, stack[:600])
    print(f'{whole} of {total} stacks are whole ({len(samples)} entries): {command}')
    sys.exit(total < wanted or whole * 100 < total * 99)


main()
