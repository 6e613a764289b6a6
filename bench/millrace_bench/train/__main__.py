"""Trains the profile that a tree's packages are compiled with.

Usage: bench/train [--tree TREE] [--seconds N] [--size X] [--workloads "A B"]
                   [--server DIR --objects DIR]
       bench/train --check DIR [--seconds N] [--size X] [--workloads "A B"]
       bench/train --list

`make profile` calls it with TREE, SECONDS and SIZE.  It has build/server compile the tree's server
with counters, or takes it from --server and its objects from --objects; runs every workload of
bench/millrace_bench/train/workloads.py on it for SECONDS; and writes the profile and its record
into trees/<tree>/.  --check runs the workloads on any unpacked server and counts nothing.
docs/design/profile.md says more.
"""
import datetime
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from millrace import TOP
from millrace.command import number, parser, run_command
from millrace.context import Context, resolve
from millrace.errors import Failure
from millrace.progress import Runs, duration
from millrace.upstream.pins import default_tree
from millrace_bench.builds import Build
from millrace_bench.measure import machine, runner
from millrace_bench.train import gcda
from millrace_bench.train.training import Trainer
from millrace_bench.train.workloads import WORKLOADS, Scale, workloads

SECONDS = 10
# a profile is trained with the whole series, whatever else was asked for
WHOLE = {'PATCHES': 'all', 'PROFILE': ''}


@dataclass(frozen=True)
class Outcome:
    """A training that has ended: on what, at which scale, in how many seconds, the profile
    (gcda.profile()), and {workload: number of functions that it ran}."""
    context: Context
    scale: Scale
    seconds: float
    profile: dict
    ran: dict


def arguments(argv):
    """The options of the command."""
    options = parser('bench/train', __doc__)
    options.add_argument('--tree', help='release tree; default: that of trees/default')
    options.add_argument('--seconds', type=number(int, 0), default=SECONDS, metavar='N',
                         help='time of each workload, 0: a few statements; default: %(default)s')
    options.add_argument('--size', type=number(float, 0.001), default=1, metavar='X',
                         help='X times the usual amount of data')
    options.add_argument('--workloads', default='', metavar='"A B"',
                         help='names of workloads; default: all')
    options.add_argument('--server', type=Path, metavar='DIR',
                         help='unpacked server with counters; default: compile one')
    options.add_argument('--objects', type=Path, metavar='DIR',
                         help='build directory of that server, where it writes the counts')
    options.add_argument('--check', type=Path, metavar='DIR',
                         help='run the workloads on this unpacked server and count nothing')
    options.add_argument('--list', action='store_true', help='list the workloads')
    asked = options.parse_args(argv)
    if bool(asked.server) != bool(asked.objects):
        options.error('--server and --objects belong together')
    return asked


def compiled(tree):
    """Compiles the server that counts: the directories of its objects and of the server."""
    with tempfile.NamedTemporaryFile('r', encoding='utf-8') as file:
        done = subprocess.run([TOP / 'build/server', 'counting', '--print-path', file.name],
                              env={**os.environ, **WHOLE, 'TREE': tree},
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Failure('the server that counts could not be built; the reason is above')
        objects, server = file.read().splitlines()
    return Path(objects), Path(server)


def record(outcome):
    """The text beside a profile, and in it: facts of the training, and of each workload."""
    host, context = machine.describe(TOP), outcome.context
    compiler = subprocess.run([os.environ.get('CC', 'cc'), '--version'], text=True,
                              capture_output=True, check=True).stdout.split('\n')[0]
    facts = {
        'tree': context.tree, 'release': context.version,
        'patches': ' '.join(context.names) or 'none',
        'date': f'{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}',
        'commit': runner.commit(), 'compiler': compiler,
        'machine': f'{host["cpu"]}, {host["cores"]} cores, {host["memory_bytes"] >> 20} MiB, '
                   f'{host["system"]}, Linux {host["kernel"]}',
        'seconds': f'{outcome.scale.seconds} of each workload, {round(outcome.seconds)} in all',
        'size': f'{outcome.scale.size:g}', 'objects': len(outcome.profile),
        'bytes': sum(map(len, outcome.profile.values()))}
    width = max(map(len, outcome.ran))
    titles = {workload.name: workload.title for workload in WORKLOADS}
    return '\n'.join([
        *(f'{name}: {fact}' for name, fact in facts.items()),
        'workloads, and how many functions each ran:',
        *(f'    {name:{width}}  {count:6}  {titles[name]}'
          for name, count in outcome.ran.items())]) + '\n'


def keep(outcome):
    """Writes a profile and its record, and prints the record."""
    text = record(outcome)
    target = TOP / 'trees' / outcome.context.tree \
        / f'profile-gcc{gcda.gcc(outcome.profile)}.tar.xz'
    gcda.pack(outcome.profile, text, target)
    target.with_name(target.name.removesuffix('.tar.xz') + '.txt').write_text(text,
                                                                              encoding='utf-8')
    print(text, end='')
    print(f'{os.path.relpath(target)}: {target.stat().st_size / 1e6:.1f} MB, '
          f'trained in {duration(outcome.seconds)}')


def main(argv):
    """Trains, and reports."""
    asked = arguments(argv)
    if asked.list:
        width = max(len(workload.name) for workload in WORKLOADS)
        for workload in WORKLOADS:
            print(f'{workload.name:{width}}  {workload.title}')
        return
    tree = asked.tree or default_tree()
    chosen = workloads(asked.workloads.split())
    scale = Scale(asked.seconds, asked.size)
    # a directory for each process, as two trainings would take each other's away
    work = TOP / 'work' / f'training-{"check" if asked.check else tree}-{os.getpid()}'
    progress = Runs('train', [scale.seconds + 6 for _ in chosen])
    if asked.check:
        objects = server = asked.check
    else:
        objects, server = (asked.objects, asked.server) if asked.server else compiled(tree)
    build = Build('checked' if asked.check else 'counting', server)
    try:
        begin = time.monotonic()
        counts = Trainer(build, objects, scale, work, progress).train(chosen)
        if asked.check:
            print(f'{len(chosen)} workloads ran on {asked.check.name}')
        else:
            context = resolve(tree, {**os.environ, **WHOLE})
            keep(Outcome(context, scale, time.monotonic() - begin, *gcda.profile(counts)))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == '__main__':
    run_command('train', main)
