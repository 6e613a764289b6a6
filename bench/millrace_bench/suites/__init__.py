"""The suites: a module each, whose docstring says what it is for; docs/measure.md has the method.

SUITES has them by name; a Suite is made for a Scale (millrace_bench/measure/case.py)."""
from millrace_bench.suites.bulk import Bulk
from millrace_bench.suites.checkpoint import Checkpoint
from millrace_bench.suites.contention import Contention, HoldTimes
from millrace_bench.suites.iibench import Iibench
from millrace_bench.suites.oltp import Oltp
from millrace_bench.suites.recovery import Recovery
from millrace_bench.suites.scan import Scans
from millrace_bench.suites.short import Short
from millrace_bench.suites.tpcc import Tpcc
from millrace_bench.suites.undo import Undo
from millrace_bench.suites.undospace import UndoSpace
from millrace_bench.suites.unseen import UnseenByProfile

SUITES = {suite.name: suite for suite in (
    Short, Oltp, Tpcc, Scans, Recovery, Undo, UndoSpace, Contention, HoldTimes,
    Checkpoint, Bulk, Iibench, UnseenByProfile)}
NAMES = tuple(SUITES)
