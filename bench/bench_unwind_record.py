#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole stacks of programs without frame pointers: mapwright's walk in the kernel beside perf record
--call-graph dwarf, on the same work, one after the other. On every CPU a stack of 30 frames, then a parallel
compile: CPU time of the recorder, time in the kernel's programs and of one walk, bytes, and which share of the
stacks reaches the bottom.

usage: bench_unwind_record.py MAPWRIGHT [SECONDS [HZ]]
"""
import json, os, shutil, subprocess, sys, tempfile

MAPWRIGHT = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 8
HZ = sys.argv[3] if len(sys.argv) > 3 else '99'
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CPUS = os.cpu_count()

DEEP = '#include <stdlib.h>\nstatic volatile long sink;\n' + ''.join(
    f'__attribute__((noinline)) long f{i}(long n) {{ volatile char room[{16 + i * 8}]; room[0] = n; '
    + (f'long r = f{i - 1}(n + room[0]);' if i else 'long r = 0; for (long j = 0; j < n; j++) sink += j;')
    + f' sink++; return r + room[0]; }}\n' for i in range(27)) + (
    'int main(int c, char **v) { for (;;) f26(100000); }\n')


def run_recorder(arguments, output):
    """CPU seconds of the recorder and its children, and bytes of what it wrote."""
    pid = os.posix_spawn(arguments[0], arguments, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0),
                                       (os.POSIX_SPAWN_OPEN, 2, '/dev/null', os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f'{arguments[0]}: status {status}')
    return usage.ru_utime + usage.ru_stime, os.path.getsize(output)


def mapwright(directory, seconds):
    output = f'{directory}/p.mwp'
    cpu, size = run_recorder([MAPWRIGHT, 'record', '-q', '-a', '-g', '-F', HZ, '--store', f'{directory}/store', '-o',
                              output, '--duration', f'{seconds:.1f}'], output)
    profile = json.loads(subprocess.check_output([MAPWRIGHT, 'export', '-f', 'json', output]))
    return cpu, size, profile


def perf(directory, seconds):
    output = f'{directory}/perf.data'
    return run_recorder([shutil.which('perf'), 'record', '-q', '-a', '-e', 'cpu-clock', '-F', HZ, '--call-graph', 'dwarf',
                         '-o', output, '--', 'sleep', f'{seconds:.1f}'], output)


def share(part, whole):
    return f'{100 * part / whole:.2f} %' if whole else 'none'


def measure(name, directory):
    mapwright(directory, 4)  # warms the store
    cpu, size, profile = mapwright(directory, SECONDS)
    counts = {c['name']: c['count'] for c in profile['counters']}
    ends, kernel = profile['user_stacks'], float(profile['machine'].get('cost_bpf_ns', 0)) / 1e9
    walks, frames = counts.get('walks', 0), counts.get('walk-frames', 0)
    walk = counts.get('walk-us', 0) / walks if walks else 0
    print(f'{name}: mapwright: recorder {cpu:.2f} s CPU = {share(cpu, SECONDS * CPUS)} of each CPU, in BPF programs '
          f'{kernel:.3f} s = {share(kernel, SECONDS * CPUS)}, {size} bytes, {profile["total_count"]} samples')
    print(f'{name}: mapwright: a walk takes {walk:.1f} us, {frames / max(walks, 1):.1f} frames on average; {share(ends["whole"], ends["count"])} '
          f'of {ends["count"]} user stacks reach the bottom, {ends["guessed"]} by frame pointers, ended: '
          + (', '.join(f'{e["reason"]} {e["count"]}' for e in ends['ended']) or 'none'))
    if not shutil.which('perf'):
        return
    perf_cpu, perf_size = perf(directory, SECONDS)
    print(f'{name}: perf --call-graph dwarf: {perf_cpu:.2f} s CPU = {share(perf_cpu, SECONDS * CPUS)} of each CPU, '
          f'{perf_size} bytes; bytes {perf_size / max(size, 1):.0f} times, CPU {perf_cpu / max(cpu, 1e-9):.1f} times')


def main():
    directory = tempfile.mkdtemp(prefix='mwbench.', dir='/var/tmp')
    work = []
    try:
        with open(f'{directory}/deep.c', 'w') as f:
            f.write(DEEP)
        subprocess.check_call(['gcc', '-O2', '-w', '-fomit-frame-pointer', '-fno-optimize-sibling-calls',
                               f'{directory}/deep.c', '-o', f'{directory}/deep'])
        work = [subprocess.Popen([f'{directory}/deep']) for _ in range(CPUS)]
        measure('30 frames', directory)
        for w in work:
            w.kill()
        compile_ = f'while :; do for f in "{ROOT}"/src/*/*.c; do echo "$f"; done | xargs -P {CPUS + 1} -n 1 gcc -O2 -w -fsyntax-only ' \
                   f'-std=gnu11 -D_GNU_SOURCE -I "{ROOT}/src" -I "{ROOT}/include" -I "{ROOT}" 2>/dev/null; done'
        work = [subprocess.Popen(['bash', '-c', compile_], start_new_session=True, stderr=subprocess.DEVNULL)]
        measure('compile', directory)
    finally:
        for w in work:
            try:
                os.killpg(w.pid, 9)
            except OSError:
                w.kill()
        shutil.rmtree(directory, ignore_errors=True)


main()
