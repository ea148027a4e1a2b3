#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds, runs every test, and adds the cases up: `N passed, N failed, N skipped` is the last line.

A case is what a person would count: one test function of a cmocka program (they speak TAP here), one
`ok NAME`, `FAIL NAME why` or `skip NAME reason` line of a script, and a program that prints neither is
one case by its exit status. A program that dies counts as a failed case besides those it reported.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SYSTEM_TESTS = TOP / 'tests/system/run.sh'
SYSTEM_LIMIT = 3600  # seconds for all of them; --long: four times that

TAP = re.compile(r'^(not )?ok \d+(?: -)?\s*(?P<name>[^#]*?)\s*(?:# *SKIP\s*(?P<why>.*))?$')
LINE = re.compile(r'^(?P<word>ok|FAIL|skip) (?P<name>\S+)\s*(?P<why>.*)$')
MESON_SKIPPED = 77  # exit status by which a program says that it cannot run here


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []   # (case, why)
        self.skipped = []  # (case, why)

    def add(self, group, name, outcome, why=''):
        case = f'{group}: {name}' if name else group
        if outcome == 'ok':
            self.passed += 1
        elif outcome == 'skip':
            self.skipped.append((case, why or 'no reason given'))
        else:
            self.failed.append((case, why))

    def line(self, group, text):
        """One line of output. Returns True if it was a case."""
        tap = TAP.match(text)
        if tap:
            if tap['why'] is not None:  # cmocka names the case after SKIP
                self.add(group, tap['name'] or tap['why'], 'skip', tap['why'] if tap['name'] else '')
            else:
                self.add(group, tap['name'], 'FAIL' if tap[1] else 'ok')
            return True
        line = LINE.match(text)
        if line:
            self.add(group, line['name'], line['word'], line['why'])
        return bool(line)


def run(*command):
    """A step without which nothing goes on."""
    result = subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        sys.stdout.write(result.stdout)
        sys.exit(f'check: {" ".join(map(str, command))} failed')


def build(directory):
    if not (directory / 'build.ninja').exists():
        run('meson', 'setup', directory)
    run('ninja', '-C', directory)


def count_program(tally, test):
    """What one program that Meson ran reported."""
    name = test['name'].split(' / ')[-1].split(':')[-1].strip()
    output = test.get('stdout', '')
    before = len(tally.failed)
    n_cases = sum(tally.line(name, text) for text in output.splitlines())
    crashed = test['returncode'] not in (0, MESON_SKIPPED) or test['result'] == 'TIMEOUT'
    if n_cases == 0:
        outcome = {'OK': 'ok', 'SKIP': 'skip'}.get(test['result'], 'FAIL')
        reason = output.strip().splitlines()[-1:] or ['']
        tally.add(name, '', outcome, reason[0] if outcome == 'skip' else test['result'])
    elif crashed and len(tally.failed) == before:
        tally.add(name, '', 'FAIL', f'{test["result"]}, status {test["returncode"]}')
    if len(tally.failed) > before:
        print(f'---- {name}: {" ".join(test["command"])}')
        print(output + test.get('stderr', ''))


def run_meson_tests(tally, directory, suite):
    command = ['meson', 'test', '-C', directory, '--no-rebuild']
    if suite:
        command += ['--suite', suite]
    log = directory / 'meson-logs/testlog.json'
    log.unlink(missing_ok=True)
    subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   env=os.environ | {'CMOCKA_MESSAGE_OUTPUT': 'TAP'}, check=False)
    if not log.exists():
        tally.add('meson test', '', 'FAIL', 'did not run')
        return
    with log.open() as lines:
        for line in lines:
            count_program(tally, json.loads(line))


def run_system_tests(tally, directory, long):
    if not SYSTEM_TESTS.exists():
        return
    environment = os.environ | {'MAPWRIGHT': str(directory / 'src/cli/mapwright'),
                                'BUILD': str(directory), 'CHECK_LONG': '1' if long else ''}
    process = subprocess.Popen(['bash', SYSTEM_TESTS], cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                               errors='replace', stdout=subprocess.PIPE, env=environment,
                               start_new_session=True)
    limit = SYSTEM_LIMIT * (4 if long else 1)
    # Whatever a test has left running goes with its group.
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(limit)
    before = len(tally.failed)
    n_cases = 0
    for text in process.stdout:
        print(f'  {text}', end='', flush=True)
        n_cases += tally.line('system', text.rstrip('\n'))
    status = process.wait()
    signal.alarm(0)
    if n_cases == 0 or (status and len(tally.failed) == before):
        tally.add('system', '', 'FAIL', f'run.sh ended with status {status} after {n_cases} cases')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', default='build', metavar='DIR')
    parser.add_argument('--only', metavar='SUITE', help='one suite of Meson, no system tests')
    parser.add_argument('--long', action='store_true', help='also what takes long')
    options = parser.parse_args()
    directory = TOP / options.build
    tally = Tally()

    start = time.monotonic()
    build(directory)
    print(f'built in {time.monotonic() - start:.0f} s', flush=True)
    run_meson_tests(tally, directory, options.only)
    print(f'units and goldens: {tally.passed} passed, {len(tally.failed)} failed', flush=True)
    if not options.only:
        run_system_tests(tally, directory, options.long)

    for case, why in tally.skipped:
        print(f'skipped: {case}: {why}')
    for case, why in tally.failed:
        print(f'failed: {case}{": " + why if why else ""}')
    print(f'{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped')
    return 1 if tally.failed or not tally.passed else 0


if __name__ == '__main__':
    sys.exit(main())
