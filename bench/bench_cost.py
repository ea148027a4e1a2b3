#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What recording costs, beside perf record -a -g, on the same work within minutes: CPU of recorder and
report each, bytes written, samples lost; and the recorder's CPU once it has warmed up (the second half
of the recording). What it costs the work is bench_slowdown.py's.

usage: bench_cost.py MAPWRIGHT [SECONDS]
"""
import json, os, resource, shutil, subprocess, sys, tempfile, time

from recording import QUIET, Work, build_work, command

MAPWRIGHT = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 10

def cpu_of_children():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def tree(pid):
    """A process and all below it."""
    pids, new = [], [pid]
    while new:
        p = new.pop()
        pids.append(p)
        try:
            with open(f"/proc/{p}/task/{p}/children") as f:
                new += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return pids


def cpu_of_tree(pid):
    total = 0
    for p in tree(pid):
        try:
            with open(f"/proc/{p}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            total += sum(int(x) for x in fields[11:15])
        except OSError:
            pass
    return total / os.sysconf("SC_CLK_TCK")


def rss_of_tree(pid):
    total = 0
    for p in tree(pid):
        try:
            with open(f"/proc/{p}/status") as f:
                total += sum(int(l.split()[1]) for l in f if l.startswith(("RssAnon", "RssShmem")))
        except OSError:
            pass
    return total / 1024


def timed(argv):
    before = cpu_of_children()
    subprocess.run(argv, **QUIET)
    return cpu_of_children() - before


def record_once(tool, frequency):
    """One recording of SECONDS, and its report."""
    output = f"once.{tool}"
    stop = ["--", "sleep", str(SECONDS)] if tool == "perf" else ["--duration", str(SECONDS)]
    before = cpu_of_children()
    p = subprocess.Popen(command(tool, MAPWRIGHT, frequency, output, stop), **QUIET)
    time.sleep(SECONDS / 2)
    start = cpu_of_tree(p.pid)
    time.sleep(SECONDS / 2 - 1)
    steady = (cpu_of_tree(p.pid) - start) / (SECONDS / 2 - 1)
    rss = rss_of_tree(p.pid)
    p.wait()
    recording = cpu_of_children() - before
    report = ["perf", "report", "--stdio", "-i", output] if tool == "perf" else [MAPWRIGHT, "report", "-g", output]
    return dict(record=recording, report=timed(report), steady=steady, rss=rss, bytes=os.path.getsize(output))


def losses(output):
    p = json.loads(subprocess.run([MAPWRIGHT, "export", "-f", "json", output], capture_output=True).stdout)
    lost = {l["name"]: l["count"] for l in p["losses"] if l["name"] != "late-or-throttled"}
    bpf = float(p["machine"].get("cost_bpf_ns", 0))
    return lost, bpf / max(p["total_count"], 1) / 1000


def main():
    directory = tempfile.mkdtemp(prefix="mwbench.", dir="/var/tmp")
    os.chdir(directory)
    try:
        build_work()
        tools = ["mapwright"] + (["perf"] if shutil.which("perf") else [])
        print(f"{'work':8} {'Hz':>4} {'tool':10} {'record':>7} {'report':>7} {'steady':>7} {'memory':>7} {'bytes':>9}   lost")
        for kind in ("compile", "exec", "mmap", "idle"):
            for frequency in (99, 999):
                with Work(kind):
                    sums = {}
                    for tool in tools:
                        r = record_once(tool, frequency)
                        sums[tool] = r["record"] + r["report"]
                        lost, per_sample = losses("once.mapwright") if tool == "mapwright" else ("", 0)
                        print(f"{kind:8} {frequency:4} {tool:10} {r['record']:6.2f}s {r['report']:6.2f}s "
                              f"{100 * r['steady']:6.2f}% {r['rss']:5.0f}MB {r['bytes']:9}   "
                              + (f"{lost or 'none'}; {per_sample:.1f} us a sample in BPF" if lost != "" else ""), flush=True)
                    if "perf" in sums:
                        print(f"{kind:8} {frequency:4} CPU of record and report: perf / mapwright = "
                              f"{sums['perf'] / sums['mapwright']:.1f}", flush=True)
    finally:
        os.chdir("/")
        shutil.rmtree(directory, ignore_errors=True)


main()
