#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much slower work is while it is recorded, by mapwright and by perf record -a -g.

usage: bench_slowdown.py MAPWRIGHT [SECONDS [WORK:HZ...]]     (default: 60 s for each row)

Both recorders run beside each other, and their events are switched on and off by --control. Time is cut
into short phases of four kinds: no events, no events again, mapwright's events, perf's events. A block is
one phase of each, in random order; the work done in them is compared within the block only, so that what
drifts (other guests of the host, caches, clocks) falls out. "No events again" is the control: how far it
is from 1 is chance. Each figure is the median over all blocks with the interval that holds the true
median with 95 % probability (by order statistics, whatever the distribution).

That the recorders are there at all costs the same in all phases: perf's side-band records, where they are
not switched off with its events, and mapwright's marks for executed files. MAPWRIGHT_ENGINE chooses the
engine, MAPWRIGHT_OPTIONS are more options of record ("--call-graph fp": callers by frame pointers alone, as
perf finds them).
"""
import math, os, random, shutil, signal, statistics, subprocess, sys, tempfile, time

from recording import QUIET, Fifo, Work, build_work, command

MAPWRIGHT = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 60
ROWS = sys.argv[3:] or ["mmap:99", "mmap:999", "exec-free:99", "exec-free:999", "compile:99", "compile:999"]
PHASE = {"compile": 0.5}
KINDS = ("off", "control", "mapwright", "perf")


class Recorder:
    """One whose events are off until they are switched on."""

    def __init__(self, tool, frequency):
        self.orders, self.answers = Fifo(f"orders.{tool}"), Fifo(f"answers.{tool}")
        more = ["--control", f"fifo:{self.orders.name},{self.answers.name}"]
        if tool == "perf":
            more += ["--", "sleep", "100000"]
        self.process = subprocess.Popen(command(tool, MAPWRIGHT, frequency, f"toggled.{tool}", more), **QUIET)
        time.sleep(2)
        self.switch(False)

    def switch(self, on):
        os.write(self.orders.fd, b"enable\n" if on else b"disable\n")
        os.read(self.answers.fd, 64)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        os.close(self.orders.fd)
        os.close(self.answers.fd)


def speed(work, seconds):
    before, start = work.done(), time.monotonic()
    time.sleep(seconds)
    return (work.done() - before) / (time.monotonic() - start)


def block(work, recorders, seconds):
    """The speed in a phase of each kind."""
    speeds = {}
    for kind in random.sample(KINDS, len(KINDS)):
        recorder = recorders.get(kind)
        if recorder:
            recorder.switch(True)
        time.sleep(0.01)
        speeds[kind] = speed(work, seconds)
        if recorder:
            recorder.switch(False)
    return speeds


def median_with_interval(values):
    values = sorted(values)
    n = len(values)
    reach = 1.96 * math.sqrt(n) / 2
    low, high = max(int(n / 2 - reach), 0), min(int(math.ceil(n / 2 + reach)), n - 1)
    return statistics.median(values), values[low], values[high]


def measure(kind, frequency):
    ratios = {k: [] for k in KINDS[1:]}
    with Work(kind) as work:
        recorders = {tool: Recorder(tool, frequency) for tool in ("mapwright", "perf")}
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            speeds = block(work, recorders, PHASE.get(kind, 0.12))
            if all(speeds.values()):
                for k in ratios:
                    ratios[k].append(speeds["off"] / speeds[k])
        for recorder in recorders.values():
            recorder.end()
    row = [f"{k} {m:.3f} ({low:.3f} to {high:.3f})" for k, (m, low, high) in
           ((k, median_with_interval(v)) for k, v in ratios.items())]
    ours, theirs = ratios["mapwright"], ratios["perf"]
    m, low, high = median_with_interval([a / b for a, b in zip(ours, theirs)])
    row.append(f"mapwright / perf {m:.3f} ({low:.3f} to {high:.3f})")
    print(f"{kind:9} {frequency:4} {len(ours):5} blocks: " + "   ".join(row), flush=True)


def main():
    directory = tempfile.mkdtemp(prefix="mwbench.", dir="/var/tmp")
    os.chdir(directory)
    try:
        build_work()
        for row in ROWS:
            kind, frequency = row.split(":")
            measure(kind, int(frequency))
    finally:
        os.chdir("/")
        shutil.rmtree(directory, ignore_errors=True)


main()
