"""The short set of `make bench`: a part of the suites that show the most, in at most 15 minutes
on 2 cores for two builds."""
import copy

from millrace_bench.measure.case import Suite
from millrace_bench.suites.oltp import Oltp
from millrace_bench.suites.recovery import Recovery
from millrace_bench.suites.scan import Scans
from millrace_bench.suites.tpcc import Tpcc

PARTS = ((Oltp, ('read-write-16', 'read-only-16')), (Tpcc, ('memory',)),
         (Scans, ('ascending', 'random')), (Recovery, ('pool-once',)))


class Short(Suite):
    """The parts, each with the options of its suite."""
    name = 'short'
    title = 'the short set: a part of oltp, tpcc, scan and recovery'
    rounds, seconds = 4, 8
    load = {'suites': ' '.join(suite.name for suite, _ in PARTS)}

    def cases(self):
        chosen = []
        for suite, names in PARTS:
            for case in suite(self.scale).cases():
                if case.name in names:
                    case = copy.copy(case)
                    case.name = f'{suite.name}-{case.name}'
                    case.options = {**suite.server, **case.options}
                    chosen.append(case)
        return chosen
