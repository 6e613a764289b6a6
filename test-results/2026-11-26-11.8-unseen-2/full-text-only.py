#!/usr/bin/python3
"""The suite unseen with its case full-text alone.  Takes bench/run's options; run at the top of the checkout."""
import sys
from pathlib import Path

sys.path[:0] = [str(Path('bench').resolve()), str(Path('scripts').resolve())]
import runpy  # noqa: E402

from millrace_bench.suites import unseen  # noqa: E402

unseen.KINDS = {'fulltext': unseen.KINDS['fulltext']}
every = unseen.cases
unseen.cases = lambda scale: every(scale)[:1]
runpy.run_path('bench/run', run_name='__main__')
