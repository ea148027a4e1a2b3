#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks a profile (`export -f json` on standard input) a question; each function below is one.

usage: query.py QUESTION [ARGUMENT...]
"""
import collections
import json
import os.path
import sys


def leaf_of(sample):
    return sample['frames'][0] if sample['frames'] else {'kind': 'raw', 'reason': 'no frame'}


def samples_of(profile, command):
    return [s for s in profile['samples'] if s['task']['command'] == command]


def file_id(profile, path_end):
    """The id of the file whose path ends so."""
    for file in profile['files']:
        if file['path'].endswith(path_end):
            print(file.get('file_id', 'none'))
            return


def reasons(profile, command):
    """Why leaves of the command have no name: lines REASON COUNT PLACE."""
    counts = collections.Counter()
    for sample in samples_of(profile, command):
        leaf = leaf_of(sample)
        if 'reason' in leaf:
            counts[leaf['reason'], leaf.get('path', leaf['kind'])] += sample['count']
    for (reason, place), count in counts.most_common():
        print(reason, count, place)


def leaves(profile, path_end):
    """What leaves in the file whose path ends so are called, or why they have no name: lines WHAT COUNT."""
    counts = collections.Counter()
    for sample in profile['samples']:
        leaf = leaf_of(sample)
        if leaf.get('path', '').endswith(path_end):
            counts[leaf.get('reason', leaf.get('name'))] += sample['count']
    for what, number in counts.most_common():
        print(what, number)


def names_below(profile, directory):
    """What leaves in files below the directory are called, or why they have no name: lines WHAT COUNT."""
    counts = collections.Counter()
    for sample in profile['samples']:
        leaf = leaf_of(sample)
        if leaf.get('path', '').startswith(directory + '/'):
            counts[leaf.get('name', leaf.get('reason'))] += sample['count']
    for what, number in counts.most_common():
        print(what, number)


def processors(profile, command):
    """Lines CPU COUNT: where the samples of the command were taken."""
    counts = collections.Counter()
    for sample in samples_of(profile, command):
        counts[sample.get('cpu')] += sample['count']
    for cpu, number in sorted(counts.items()):
        print(cpu, number)


def count(profile, command, event='0'):
    """How many samples the command has, of the event of this number."""
    print(sum(s['count'] for s in samples_of(profile, command) if s['event'] == int(event)))


def commands(profile):
    """Each command that has samples."""
    print('\n'.join(sorted({s['task']['command'] for s in profile['samples']})))


def fact(profile, name):
    print(profile['machine'][name])


def tally(profile, name):
    """One of the counts of losses, of what was skipped, and of other things; 0 if it is not there."""
    tallies = profile['losses'] + profile['skipped'] + profile['counters']
    print(next((t['count'] for t in tallies if t['name'] == name), 0))


def last_sample(profile):
    """The end of the last time bucket that has samples, in ns as CLOCK_MONOTONIC counts; 0 without any."""
    print(max((s['time_ns'] + profile['bucket_ns'] for s in profile['samples']), default=0))


def account(profile):
    """Nothing is unaccounted for: prints what does not add up."""
    total = sum(s['count'] for s in profile['samples'])
    if total != profile['total_count']:
        print(f'the samples are {total}, said to be {profile["total_count"]}')
    lost = sum(t['count'] for t in profile['losses'])
    skipped = sum(t['count'] for t in profile['skipped'])
    counted = int(profile['machine']['events_counted'])
    if total + lost + skipped != counted:
        print(f'{total} samples + {skipped} skipped + {lost} lost are not the {counted} that were counted')
    for sample in profile['samples']:
        for frame in sample['frames']:
            if ('name' in frame) == ('reason' in frame):
                print(f'neither name nor reason, or both: {frame}')
                return


def intruders(profile, command, *files):
    """Files in stacks of the command that it cannot have had: all but those that are named."""
    for sample in samples_of(profile, command):
        for frame in sample['frames']:
            if frame['kind'] == 'file' and os.path.basename(frame['path']) not in files:
                print(frame['path'], frame.get('name', ''))


def containers(profile, command):
    """Where the samples of the command are from: lines COUNT RUNTIME NAME IMAGE, the most first."""
    counts = collections.Counter()
    for sample in samples_of(profile, command):
        c = sample.get('container', {})
        counts[c.get('runtime', 'none'), c.get('name', '-'), c.get('image', '-')] += sample['count']
    for place, count in counts.most_common():
        print(count, *place)


def rootfs(profile, name):
    """Root directory and layers of the container of this name."""
    for c in profile.get('containers', []):
        if c.get('name') == name:
            print(c.get('rootfs', '-'), c.get('layers', '-'))


def inferred(profile, function):
    """Of the leaves of this name, how many per cent are marked as inferred; 0 without any."""
    found = [(leaf_of(s), s['count']) for s in profile['samples']]
    named = [(leaf.get('inferred', False), n) for leaf, n in found if leaf.get('name') == function]
    print(100 * sum(n for marked, n in named if marked) // max(1, sum(n for _, n in named)))


def main():
    questions = (containers, rootfs, file_id, reasons, leaves, names_below, processors, count, commands, fact, tally, last_sample, account,
                 intruders, inferred)
    name, *arguments = sys.argv[1:]
    question = next(q for q in questions if q.__name__ == name.replace('-', '_'))
    try:
        profile = json.load(sys.stdin)
    except ValueError as error:
        sys.exit(f'no JSON: {error}')
    question(profile, *arguments)


if __name__ == '__main__':
    main()
