"""What no profile is trained on (millrace_bench/training.py, docs/profile.md): sub-selects, window functions, JSON,
full-text, spatial, views, and group commit with the binary log.  It shows what a profile costs where it says nothing."""
from .. import sysbench
from ..case import OF_TRANSACTIONS, Case
from ..data import Data
from ..tables import sbtest

TITLE = 'what no profile is trained on'
ROUNDS, SECONDS = 4, 8
SERVER = {}
POOL = 512    # MiB; never less
LOAD = {'rows': 20000, 'threads': 8}
WARM_UP = 2
KINDS = {'subselects': 'sub-selects', 'windows': 'window functions', 'json': 'JSON', 'fulltext': 'full-text', 'spatial': 'spatial',
         'views': 'views and common table expressions'}
# of the binary log; tables and rows of sysbench's own load
BINLOG = {'tables': 4, 'rows': 100000, 'threads': 16}


def cases(scale):
    """A case for each kind of statements, and group commit."""
    rows = scale.of(LOAD['rows'], least=1000)
    rows_a_table = scale.of(BINLOG['rows'] // BINLOG['tables'], least=1000)

    def load(server):
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')
        sysbench.run(server, 'unseen', action='prepare', rows=rows, rand_seed=1)
    data = Data('unseen', {'rows': rows, 'script': sysbench.script('unseen').read_text(encoding='utf-8')}, load)

    def statements(kind):
        def measure(context):
            server = context.start()
            result, timeline = context.load(server, 'unseen', warm_up=min(WARM_UP, scale.seconds), kind=kind, rows=rows,
                                            threads=LOAD['threads'])
            return context.measured(result, timeline)
        return measure

    def group_commit(context):
        server = context.start()
        result, timeline = context.load(server, 'oltp_write_only', warm_up=min(WARM_UP, scale.seconds), tables=BINLOG['tables'],
                                        table_size=rows_a_table, threads=BINLOG['threads'])
        return context.measured(result, timeline)
    estimate, pool = scale.seconds + WARM_UP + 5, scale.pool(POOL, least=POOL)
    return [*(Case(name=kind, title=f'{title}, {LOAD["threads"]} clients', measure='transactions/s', better='higher', data=data,
                   run=statements(kind), estimate=estimate, options=pool, compare=OF_TRANSACTIONS) for kind, title in KINDS.items()),
            Case(name='group-commit', title=f'group commit with the binary log, {BINLOG["threads"]} clients', measure='transactions/s',
                 better='higher', data=sbtest(BINLOG['tables'], rows_a_table), run=group_commit, estimate=estimate,
                 options={**pool, 'log_bin': 'binlog', 'server_id': '1', 'sync_binlog': '1', 'innodb_flush_log_at_trx_commit': '1'},
                 compare=OF_TRANSACTIONS)]
