"""Slow disks: few requests a second, one that stops, and what systemd is told meanwhile."""
import tempfile
import time
from pathlib import Path

from millrace_hostile.data import LARGE_POOL
from millrace_hostile.surroundings import Disk, Listener, NotHere, Notifying
from millrace_hostile.trial import START_SECONDS, STOP_SECONDS, scenario

FEW, FEWER = 300, 100       # requests a second
STOPPED = 30                # seconds without any
WAIT = 15                   # seconds: upstream tells systemd so often that it works
SLACK = 1.5                 # seconds by which a machine may be late


def _longest(vanilla):
    return max(WAIT + SLACK, 1.1 * vanilla)


@scenario('disk-300', f'{FEW} requests a second: clients write, a kill, a recovery',
          bounds={'longest wait': lambda vanilla: 2 * vanilla + 5,
                  'start seconds': lambda vanilla: 1.3 * vanilla + 3})
def few_requests(trial):
    """With a log so small that the checkpoint must follow."""
    datadir = trial.new()
    with Disk(FEW, datadir.place) as disk:
        trial.lives(datadir, (disk,), seconds=15, clients=4, innodb_buffer_pool_size='16M',
                    innodb_log_file_size='10M')


@scenario('disk-stops', f'the disk stops for {STOPPED} s while clients write',
          bounds={'longest wait': lambda vanilla: vanilla + 10})
def stops(trial):
    """The server must go on afterwards."""
    def during(_):
        time.sleep(2)
        disk.stop()
        time.sleep(STOPPED)
        disk.stop(False)
        time.sleep(5)
    datadir = trial.new()
    with Disk(20000, datadir.place) as disk:
        try:
            trial.lives(datadir, (disk,), during=during, still=STOPPED + 60,
                        end=lambda server: server.stop(STOP_SECONDS))
        finally:
            disk.stop(False)


@scenario('disk-stops-recovery', f'the disk stops for {STOPPED} s during recovery',
          bounds={'start seconds': lambda vanilla: 1.3 * vanilla + 5})
def stops_recovery(trial):
    """The server starts late."""
    datadir, crash = trial.crashed('small')
    with Disk(1000, datadir.place) as disk:
        with trial.server(datadir, (disk,)) as server:
            with trial.step('start'):
                server.launch()
                time.sleep(1)
                disk.stop()
                time.sleep(STOPPED)
                disk.stop(False)
                server.check()
                server.kill()
        trial.recovers(datadir, crash, (disk,))


def _notifies(trial, kind, **options):
    """Starts slowly; the figure is the longest time for which systemd hears nothing."""
    datadir, crash = trial.crashed(kind)
    listener = Listener(Path(tempfile.mkdtemp(prefix='millrace-hostile-')) / 'notify')
    try:
        with Disk(FEWER, datadir.place) as disk, \
                trial.server(datadir, (disk, Notifying(listener)), options) as server:
            with trial.step('start'):
                listener.begin()
                server.start(2 * START_SECONDS)
            figures = trial.outcome.figures
            figures['start seconds'] = round(server.started_in, 1)
            if not listener.is_ready():
                raise NotHere('the server tells systemd nothing')
            figures['longest silence'] = round(listener.gap(), 1)
            figures['messages'] = len(listener.extensions)
            disk.stop(False)
            with trial.step('rows'):
                crash.check(server)
            server.kill()
    finally:
        listener.end()
        listener.path.parent.rmdir()


@scenario('start-timeout-recovery', f'systemd hears of a recovery at {FEWER} requests a second '
          'at least as often as it must', bounds={'longest silence': _longest})
def recovery_tells(trial):
    """A log larger than the pool: reading it, applying it, and writing pages."""
    _notifies(trial, 'small', innodb_buffer_pool_size='8M')


@scenario('start-timeout-large', 'the same with a large log and a larger pool',
          bounds={'longest silence': _longest})
def large_recovery_tells(trial):
    """Few and long phases."""
    _notifies(trial, 'large', innodb_buffer_pool_size=LARGE_POOL)


@scenario('start-timeout-undo', 'the same of a start that reads thousands of undo logs',
          bounds={'longest silence': _longest})
def undo_tells(trial):
    """Each is in a page of its own."""
    _notifies(trial, 'undo')
