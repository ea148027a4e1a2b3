# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the measurements of recording share: work that goes on, and the two recorders."""
import os, struct, subprocess, time

HERE = os.path.dirname(os.path.abspath(__file__))
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


def command(tool, mapwright, frequency, output, more):
    if tool == "perf":
        return ["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(frequency), "-o", output] + more
    engine = os.environ.get("MAPWRIGHT_ENGINE", "auto")
    return [mapwright, "record", "-q", "-a", "-g", "-F", str(frequency), "--engine", engine, "--store", "store",
            "-o", output] + os.environ.get("MAPWRIGHT_OPTIONS", "").split() + more


def build_work():
    """In the current directory."""
    subprocess.run(["gcc", "-O2", "-w", os.path.join(HERE, "programs/work.c"), "-o", "work"], check=True)
    with open("source.c", "w") as f:
        f.write(SOURCE)
