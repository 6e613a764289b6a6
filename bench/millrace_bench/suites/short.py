"""The short set of `make bench`: a part of each of the suites that show the most, in at most 15 minutes on
2 cores for two builds."""
import dataclasses

from . import oltp, recovery, scan, tpcc

TITLE = 'the short set: a part of oltp, tpcc, scan and recovery'
ROUNDS, SECONDS = 4, 8
SERVER = {}
PARTS = ((oltp, ('read-write-16', 'read-only-16')), (tpcc, ('memory',)), (scan, ('ascending', 'random')),
         (recovery, ('pool-once',)))
LOAD = {'suites': ' '.join(suite.__name__.rpartition('.')[2] for suite, _ in PARTS)}


def cases(scale):
    """The parts, each with the options of its suite."""
    return [dataclasses.replace(case, name=f'{suite.__name__.rpartition(".")[2]}-{case.name}',
                                options={**suite.SERVER, **case.options})
            for suite, names in PARTS for case in suite.cases(scale) if case.name in names]
