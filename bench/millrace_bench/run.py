"""Measures builds of the server side by side.

Usage: bench/run [--suite NAME] [--cases "A B"] [--builds "A B"] [--tree TREE]
                 [--iops N | --volume NAME] [--rounds N] [--seconds N] [--size X] [--data DIR]
                 [--results DIR]

`make bench` calls it with SUITE, CASES, BUILDS, TREE, IOPS, VOLUME, ROUNDS, SECONDS, SIZE and
DATA.  The first of the builds is the base of the comparisons; bench/millrace_bench/builds/ has
their names.  The result is a directory below test-results/new/; docs/measure.md says how to read
it, and bench/keep takes it into test-results/sets/.  Exit status: 0; 1 where a run failed; 130
where it was interrupted.  Finished runs are kept in any case.
"""
import fcntl
import os
from pathlib import Path

from millrace import TOP
from millrace.command import number, parser, run_command
from millrace.errors import Failure
from millrace.upstream.pins import default_tree
from millrace_bench import builds, suites
from millrace_bench.measure import disk, limits, runner
from millrace_bench.measure.case import Scale

WORK = TOP / 'work/bench'


def arguments(argv):
    """The options of the command."""
    options = parser('bench/run', __doc__)
    options.add_argument('--suite', choices=suites.NAMES, default='short',
                         help='default: %(default)s')
    options.add_argument('--cases', metavar='"A B"',
                         help='names of cases of the suite; default: all of them')
    options.add_argument('--builds', default='vanilla millrace',
                         help='names of builds, the base first; default: %(default)s')
    options.add_argument('--tree', help='release tree; default: that of trees/default')
    limit = options.add_mutually_exclusive_group()
    limit.add_argument('--iops', type=number(int, 100), metavar='N',
                       help='hold the disk to N reads and N writes a second')
    limit.add_argument('--volume', choices=limits.VOLUMES,
                       help='hold the disk to the requests and bytes a second of a cloud volume')
    options.add_argument('--rounds', type=number(int, 1), default=0, metavar='N',
                         help="number of rounds; default: the suite's own")
    options.add_argument('--seconds', type=number(int, 1), metavar='N',
                         help="length of a run; default: the suite's own")
    options.add_argument('--size', type=number(float, 0.001), default=1, metavar='X',
                         help='X times the usual amount of data')
    options.add_argument('--data', type=Path, default=WORK, metavar='DIR',
                         help='directory on the disk that is measured; default: work/bench')
    options.add_argument('--results', type=Path, default=TOP / 'test-results/new', metavar='DIR',
                         help='directory for the result set; default: test-results/new')
    return options.parse_args(argv)


def volume(asked):
    """The Volume that the options ask for, or None."""
    if asked.volume:
        return limits.VOLUMES[asked.volume]
    return limits.Volume('', asked.iops) if asked.iops else None


def checked_names(text, tree):
    """The names of builds in BUILDS, each of which can be had.  Raises Failure."""
    names = text.split()
    last = {name.rstrip('/').rpartition('/')[2] for name in names}
    if len(last) < len(names) or not names:
        raise Failure(f'BUILDS="{text}": names of builds, each once',
                      'for example BUILDS="vanilla millrace debian"')
    for name in names:    # before any of them takes its time
        builds.check(name, tree)
    return names


def chosen_cases(text, cases):
    """The cases that CASES names, in their own order; None for all.  Raises Failure."""
    names, known = text.split(), [case.name for case in cases]
    unknown = ' '.join(name for name in names if name not in known)
    if unknown or not names:
        raise Failure(f'CASES="{text}": no case of the suite: {unknown or "(empty)"}',
                      f'some of: {" ".join(known)}')
    chosen = [case for case in cases if case.name in names]
    return None if len(chosen) == len(cases) else chosen


def locked(place):
    """Makes the directory of the data, and locks it: the lock's open file.  Raises Failure."""
    try:
        (place / 'data').mkdir(parents=True, exist_ok=True)
        lock = open(place / '.lock', 'w', encoding='utf-8')
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    except BlockingIOError:
        raise Failure(f'another benchmark is at work in {place}',
                      'wait until it is done') from None
    except OSError as error:
        raise Failure(f'the data cannot be kept in {place}: {error.strerror}',
                      'DATA= names another directory') from None


def main(argv):
    """Runs one suite and prints its comparisons."""
    asked = arguments(argv)
    tree = asked.tree or default_tree()
    names = checked_names(asked.builds, tree)
    suite = suites.SUITES[asked.suite]
    suite = suite(Scale(asked.seconds or suite.seconds, asked.size))
    cases = None if asked.cases is None else chosen_cases(asked.cases, suite.cases())
    place = asked.data.resolve()
    disk.Disk(volume(asked), place).check()
    with locked(place):
        chosen = [builds.resolve(name, tree, WORK) for name in names]
        for build in chosen:
            for program in suite.programs:
                build.program(program)    # raises Failure where it is missing
        run = runner.Runner(runner.Plan(
            suite, tree, builds.version(tree), chosen, place, asked.results, asked.rounds,
            volume(asked), cases))
        try:
            run.run()
        finally:
            if text := runner.summary(run.record, run.cases):
                print(text)
            path = os.path.relpath(run.results.path)
            if run.record['complete']:
                print(f'{path}/result.json\nkeep it: bench/keep {path}')
            else:
                print(f'INCOMPLETE: {path}/result.json')


if __name__ == '__main__':
    run_command('bench', main)
