#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What recording costs, beside perf record -a -g, on the same work within minutes.

usage: bench_cost.py MAPWRIGHT [SECONDS [PAIRS]]

Two kinds of measurement:
  CPU     of recorder and report each, bytes written, samples lost; and the recorder's CPU once it has
          warmed up (the second half of the recording);
  slowdown of the work: one recorder runs, its events are switched off and on in short alternating
          phases, and the work done in each pair of phases is compared. The same with both phases off
          is the control: what differs by chance.
"""
import json, os, resource, shutil, signal, statistics, struct, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
MAPWRIGHT = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 10
PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 24
PHASE = 0.4
QUIET = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

SOURCE = "\n".join(f"static int f{i}(int a) {{ for (int i = 0; i < a; i++) a ^= i * {i}; return a; }}"
                   for i in range(60)) + "\nint main(int c, char **v) { return " + \
         " + ".join(f"f{i}(c)" for i in range(60)) + "; }\n"


class Work:
    """Work of a kind that goes on in the background."""

    def __init__(self, kind):
        self.counter = os.path.abspath(f"counter.{kind}")
        arguments = {"mmap": ["/lib/x86_64-linux-gnu/libc.so.6"],
                     "compile": ["gcc", "-O2", "-c", os.path.abspath("source.c"), "-o", "out.o"]}
        self.process = subprocess.Popen(["./work", self.counter, kind] + arguments.get(kind, []), **QUIET)
        time.sleep(0.5)

    def done(self):
        with open(self.counter, "rb") as f:
            return struct.unpack("Q", f.read(8))[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        time.sleep(0.3)


class Fifo:
    def __init__(self, name):
        self.name = os.path.abspath(name)
        if os.path.exists(self.name):
            os.unlink(self.name)
        os.mkfifo(self.name)
        self.fd = os.open(self.name, os.O_RDWR)


def command(tool, frequency, output, more):
    if tool == "perf":
        return ["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(frequency), "-o", output] + more
    return [MAPWRIGHT, "record", "-q", "-a", "-g", "-F", str(frequency), "--store", "store", "-o", output] + more


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
    p = subprocess.Popen(command(tool, frequency, output, stop), **QUIET)
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


def switch(orders, answers, word):
    os.write(orders.fd, (word + "\n").encode())
    return os.read(answers.fd, 64)


def slowdown(tool, frequency, work, control):
    """Median of (work without events / work with them) over pairs of phases."""
    orders, answers = Fifo("orders"), Fifo("answers")
    p = subprocess.Popen(command(tool, frequency, "toggled", ["--control", f"fifo:{orders.name},{answers.name}"]
                                 + (["--", "sleep", "1000"] if tool == "perf" else [])), **QUIET)
    time.sleep(2.5)
    ratios = []
    for i in range(PAIRS):
        done = {}
        for on in ((False, True) if i % 2 else (True, False)):
            switch(orders, answers, "enable" if on and not control else "disable")
            before, start = work.done(), time.monotonic()
            time.sleep(PHASE)
            done[on] = (work.done() - before) / (time.monotonic() - start)
        if done[True]:
            ratios.append(done[False] / done[True])
    p.send_signal(signal.SIGINT)
    p.wait()
    os.close(orders.fd)
    os.close(answers.fd)
    return statistics.median(ratios)


def main():
    directory = tempfile.mkdtemp(prefix="mwbench.", dir="/var/tmp")
    os.chdir(directory)
    try:
        subprocess.run(["gcc", "-O2", "-w", os.path.join(HERE, "programs/work.c"), "-o", "work"], check=True)
        with open("source.c", "w") as f:
            f.write(SOURCE)
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
        print(f"\nslowdown of the work (1.000: none), {PAIRS} pairs of {PHASE} s")
        for kind in ("compile", "exec", "mmap"):
            for frequency in (99, 999):
                with Work(kind) as work:
                    row = [f"control {slowdown('mapwright', frequency, work, True):.3f}"]
                    row += [f"{tool} {slowdown(tool, frequency, work, False):.3f}" for tool in tools]
                    print(f"{kind:8} {frequency:4} " + "   ".join(row), flush=True)
    finally:
        os.chdir("/")
        shutil.rmtree(directory, ignore_errors=True)


main()
