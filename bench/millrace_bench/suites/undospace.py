"""The space that undo log takes over a long time: bursts of large transactions, pauses, readers that keep old
versions for minutes, with two undo tablespaces that are truncated.  A day in 6 minutes; in 20 with SECONDS=1200.
The value is the size of the undo tablespaces at the end, a pause after the last burst."""
import threading
import time
from pathlib import Path

from .. import sysbench
from ..case import Case
from ..client import SqlError
from ..data import Data
from .undo import segments

TITLE = 'space of undo log, with long readers, bursts and truncation'
ROUNDS, SECONDS = 1, 360
SERVER = {'innodb_buffer_pool_size': '512M', 'innodb_flush_log_at_trx_commit': '0', 'innodb_undo_log_truncate': 'ON'}
LOAD = {'threads': 16, 'rows': 1000, 'updated': 100}
# an hour of the day has this share of the run: a burst, in the first half of it a reader; then a pause
HOURS, BURST = 24, 0.5


def undo_bytes(server):
    """Bytes of the undo tablespaces."""
    return sum(path.stat().st_size for path in Path(server.data).glob('undo*'))


def measure(context):
    """Bursts and pauses; every third hour a reader keeps its view over the next two."""
    server = context.start()
    before, began = server.status(), time.monotonic()
    hours = min(HOURS, max(3, context.scale.seconds // 10))
    hour = context.scale.seconds / hours
    sizes, ended = [], threading.Event()

    def watch():
        while not ended.wait(1):
            sizes.append(undo_bytes(server))
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    bursts, timeline, reader = [], [], None
    try:
        for number in range(hours):
            if number % 3 == 0:
                if reader:
                    reader.close()
                reader = server.connect('bench')
                reader.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
            elif number % 3 == 2 and reader:
                reader.close()
                reader = None
            passed = int(time.monotonic() - began)    # bursts and pauses
            result, seconds = context.load(server, 'undo', temporary='off', time=max(1, round(hour * BURST)), **LOAD)
            timeline += [(passed + second, *found) for second, *found in seconds]
            bursts.append(result)
            time.sleep(hour * (1 - BURST))
        if reader:
            reader.close()
        with server.connect() as connection:
            try:
                connection.query('SET GLOBAL innodb_max_purge_lag_wait=0')
            except SqlError:
                pass    # not in every build
        time.sleep(hour)
    finally:
        ended.set()
        watcher.join()
    total, status = sysbench.together(bursts), server.status()
    return context.measured(total, timeline, undo_bytes(server) / 2**20, largest_MiB=max(sizes, default=0) / 2**20,
                            last_quarter_largest_MiB=max(sizes[len(sizes) * 3 // 4:], default=0) / 2**20,
                            truncations=status['innodb_undo_truncations'],
                            **segments(before, status, total.transactions))


def cases(scale):
    """One."""
    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
        sysbench.run(server, 'undo', action='prepare', threads=LOAD['threads'], rows=LOAD['rows'])
    data = Data('undospace', {**LOAD, 'script': sysbench.script('undo').read_text(encoding='utf-8')}, load)
    return [Case(name='day', title='undo tablespaces after bursts and long readers', measure='MiB', better='lower', data=data,
                 run=measure, options={'innodb_undo_tablespaces': '2'}, estimate=scale.seconds + 60)]
