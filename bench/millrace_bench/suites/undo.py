"""Many short transactions, on persistent and on temporary tables: what it costs to give each of them its
undo log.  The redo log is not waited for (innodb_flush_log_at_trx_commit=0), which would hide it."""
from .. import sysbench
from ..case import Case
from ..data import Data

TITLE = 'many short transactions, on persistent and temporary tables'
ROUNDS, SECONDS = 5, 8
SERVER = {'innodb_buffer_pool_size': '512M', 'innodb_flush_log_at_trx_commit': '0'}
LOAD = {'threads': 16, 'rows': 1000}
WARM_UP = 2


def cases(scale):
    """Persistent and temporary."""
    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
        sysbench.run(server, 'undo', action='prepare', **LOAD)
    data = Data('undo', {**LOAD, 'script': sysbench.script('undo').read_text(encoding='utf-8')}, load)

    def run(temporary):
        def measure(context):
            server = context.start()
            result, timeline = context.load(server, 'undo', warm_up=min(WARM_UP, scale.seconds), temporary=temporary, **LOAD)
            return context.measured(result, timeline)
        return measure
    return [Case(name=name, title=f'updates of {name} tables, {LOAD["threads"]} clients', measure='transactions/s',
                 better='higher', data=data, run=run(temporary), estimate=scale.seconds + WARM_UP + 4,
                 compare=('p95_ms', 'p99_ms'))
            for name, temporary in (('persistent', 'off'), ('temporary', 'on'))]
