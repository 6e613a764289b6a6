"""mariadb-backup --prepare in hostile surroundings."""
import re

from millrace.errors import Failure
from millrace_crash.recovery import run_prepare
from millrace_hostile.surroundings import Inside, Sampled

PREPARE_SECONDS = 300


def prepares(trial, datadir, pool, crash, inside=(), goes_on=False, tmpdir=None):
    """Prepares a backup, and starts a server on it that has every row of a Crash.

    The exit status counts: a log that was applied, reported as a failure, is a backup that is
    thrown away."""
    options = [f'--tmpdir={tmpdir}'] if tmpdir else []
    with trial.step('prepare', goes_on):
        with Sampled() as sampled:
            status, text = run_prepare(
                datadir, int(pool.rstrip('M')), *options, seconds=PREPARE_SECONDS,
                limit=Inside(sampled, *inside), output=trial.place / 'prepare.log')
        trial.keep_log(text)
        trial.outcome.figures['bytes of prepare'] = sampled.most
        if status is None:
            raise Failure(f'it did not end in {PREPARE_SECONDS} s')
        if status or 'completed OK!' not in text:
            errors = re.findall(r'\[ERROR\] (.*)|(Assertion failure.*)', text)
            last = ''.join(errors[-1]) if errors else ''
            raise Failure(f'exit status {status} ({last[:160].replace(str(trial.place), ".")})')
    if crash:
        trial.returns(datadir, crash)
