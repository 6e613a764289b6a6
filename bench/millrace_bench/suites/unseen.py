"""Loads that no profile is trained on (train/workloads.py): sub-selects, window functions, JSON,
full-text, spatial, views, and group commit with the binary log.

Shows what a profile costs code that it does not know."""
from millrace_bench.measure import sysbench
from millrace_bench.measure.case import Case, Suite, measured
from millrace_bench.measure.data import Data
from millrace_bench.measure.sbtest import Sbtest

LOAD = {'rows': 20000, 'threads': 8}
POOL = 512    # MiB; never less
KINDS = {'subselects': 'sub-selects', 'windows': 'window functions', 'json': 'JSON',
         'fulltext': 'full-text', 'spatial': 'spatial',
         'views': 'views and common table expressions'}
# of the binary log; tables and rows of sysbench's own load
BINLOG = {'tables': 4, 'rows': 100000, 'threads': 16}


class Unseen(Data):
    """The tables of unseen.lua."""

    def __init__(self, rows):
        self.rows = rows
        script = sysbench.script('unseen').read_text(encoding='utf-8')
        super().__init__('unseen', {'rows': rows, 'script': script})

    def load(self, server):
        """Makes and fills the tables."""
        self.make_database(server)
        sysbench.run(server, 'unseen', action='prepare', rows=self.rows, rand_seed=1)


class Load(Case):
    """A script with its options, in memory."""
    warm_up = 2

    def __init__(self, name, title, data, scale, script, load, **options):
        self.name, self.title, self.data = name, f'{title}, {load["threads"]} clients', data
        self.script, self.load = script, load
        self.options = {**scale.pool(POOL, least=POOL), **options}
        self.estimate = scale.seconds + self.warm_up + 5

    def measure(self, context):
        server = context.start()
        context.warm_up(server, self.script, **self.load)
        return measured(*context.load(server, self.script, **self.load))


class UnseenByProfile(Suite):
    """A case for each kind of statements, and group commit."""
    name = 'unseen'
    title = 'what no profile is trained on'
    rounds, seconds = 4, 8
    load = LOAD

    def cases(self):
        data = Unseen(self.scale.of(LOAD['rows'], least=1000))
        tables = Sbtest(BINLOG['tables'],
                        self.scale.of(BINLOG['rows'] // BINLOG['tables'], least=1000))
        return [
            *(Load(kind, title, data, self.scale, 'unseen',
                   {'kind': kind, 'rows': data.rows, 'threads': LOAD['threads']})
              for kind, title in KINDS.items()),
            Load('group-commit', 'group commit with the binary log', tables, self.scale,
                 'oltp_write_only', tables.arguments(threads=BINLOG['threads']),
                 log_bin='binlog', server_id='1', sync_binlog='1',
                 innodb_flush_log_at_trx_commit='1')]
