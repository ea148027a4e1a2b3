#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Judges folded stacks (standard input) of programs that say who they are.

Whose names a stack may contain is known: a function under_SIDE in it tells, or its command burn_SIDE.
A frame of any other side (right_first, wrong_work ...), in any stack, is a wrong name, and there may be
none. Of the command that is asked for there must be enough samples, nearly all with a right leaf, and
nearly none without any name. Leaves in the kernel, which are the kernel's, are not held against the
right ones.
"""
import argparse
import os
import re
import sys

TAG = os.environ.get('BURN_TAG', '')  # of this run of the tests; there may be others on the machine
SIDES = ('right', 'wrong', 'other')
SIDED = re.compile(r'^(%s)_(first|second|third|work|nothing)$' % '|'.join(SIDES))
LINE = re.compile(r'^(.*) (\d+)$')


def side_of(command, frames):
    """None: nobody can tell."""
    for frame in reversed(frames):
        if frame.startswith('under_'):
            return frame.removeprefix('under_')
    if command.startswith(('turns', 'preloaded')):
        return None
    return command.removesuffix(TAG).removeprefix('burn_')


def is_of_another_run(command):
    return command.startswith(('burn_', 'turns', 'preloaded')) and not command.endswith(TAG)


def is_unnamed(frame):
    return frame.startswith('[')


def has_wrong_name(command, frames):
    own = side_of(command, frames)
    if own is None or is_of_another_run(command):
        return False
    return any(m and m[1] != own for m in map(SIDED.match, frames))


def read(lines):
    for line in lines:
        match = LINE.match(line.rstrip('\n'))
        if not match:
            sys.exit(f'not a folded stack: {line!r}')
        command, *frames = match[1].split(';')
        yield command, frames, int(match[2])


class Score:
    def __init__(self, options):
        self.options = options
        self.total = self.right = self.kernel = self.unnamed = self.wrong = 0
        self.leaves = {}
        self.wrong_stacks = []

    def add(self, command, frames, count):
        if has_wrong_name(command, frames):
            self.wrong += count
            self.wrong_stacks.append(';'.join([command] + frames))
        if command != self.options.command:
            return
        self.total += count
        leaf = frames[-1] if frames else '[no frame]'
        self.leaves[leaf] = self.leaves.get(leaf, 0) + count
        if leaf.endswith('_[k]'):
            self.kernel += count
        if is_unnamed(leaf):
            self.unnamed += count
        elif re.search(self.options.leaf, leaf) and re.search(self.options.stack, ';'.join(frames)):
            self.right += count

    def complaints(self):
        o = self.options
        if self.wrong:
            yield f'{self.wrong} samples under a wrong name'
        if self.total * 100 < o.samples * 80:
            yield f'{self.total} samples of {o.samples}'
        if o.samples * 2 + 100 < self.total and not o.may_be_more:
            yield f'{self.total} samples where {o.samples} were to come'
        if self.right * 100 < (self.total - self.kernel) * o.right:
            yield f'{self.right} right of {self.total}'
        if self.kernel * 100 > self.total * o.kernel:
            yield f'{self.kernel} in the kernel of {self.total}'
        if self.unnamed * 1000 > self.total * o.unnamed * 10:
            yield f'{self.unnamed} without a name of {self.total}'
        for leaf in o.each:
            if self.leaves.get(leaf, 0) * 100 < self.right * o.share:
                yield f'{self.leaves.get(leaf, 0)} in {leaf} of {self.right}'

    def figures(self):
        leaves = sorted(self.leaves.items(), key=lambda item: -item[1])[:8]
        return (f'{self.options.command}: {self.total} samples of {self.options.samples}, {self.right} right, '
                f'{self.wrong} wrong, {self.kernel} in the kernel, {self.unnamed} without a name; leaves: '
                + ', '.join(f'{name} {count}' for name, count in leaves))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--command', default='burn_right')
    parser.add_argument('--untagged', action='store_true', help='the command name is all of it')
    parser.add_argument('--samples', type=int, required=True, help='how many its CPU time promises')
    parser.add_argument('--may-be-more', action='store_true')
    parser.add_argument('--leaf', default='^right_', help='what a right leaf matches')
    parser.add_argument('--stack', default='', help='what the whole stack of a right leaf matches')
    parser.add_argument('--right', type=float, default=95, help='per cent that must have a right leaf')
    parser.add_argument('--kernel', type=float, default=20, help='per cent that may have a leaf in the kernel')
    parser.add_argument('--unnamed', type=float, default=1.5, help='per cent that may have no name')
    parser.add_argument('--each', nargs='*', default=[], metavar='LEAF', help='leaves that must have a share')
    parser.add_argument('--share', type=float, default=35, help='per cent that each of those must have')
    options = parser.parse_args()
    if not options.untagged:
        options.command += TAG
    score = Score(options)
    for command, frames, count in read(sys.stdin):
        score.add(command, frames, count)
    print(score.figures())
    for stack in score.wrong_stacks[:5]:
        print(f'wrong: {stack}')
    complaints = '; '.join(score.complaints())
    if complaints:
        print(complaints)
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main())
