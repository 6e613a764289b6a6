"""Little memory: a control group with 1.2 times what vanilla needs, and tmpdir on a tmpfs."""
from millrace_hostile.data import LARGE_POOL, backup
from millrace_hostile.prepare import prepares
from millrace_hostile.surroundings import MIB, Memory, most_memory, tmpfs
from millrace_hostile.trial import START_SECONDS, scenario

SHARE = 1.2


@scenario('memory-recovery', 'memory limited to 1.2 times what vanilla takes, tmpdir on a tmpfs, '
          'log seven times the pool')
def recovery(trial):
    """tmpdir on a tmpfs is the default of Debian 13."""
    def measure():
        datadir, _ = trial.crashed('large')
        with trial.server(datadir, (), options) as server:
            server.start(START_SECONDS)
            return most_memory(server.process.pid)
    tmpdir = trial.place / 'tmpfs'
    options = {'innodb_buffer_pool_size': LARGE_POOL, 'tmpdir': tmpdir}
    with tmpfs(tmpdir, 1024 * MIB):
        taken = trial.measured('bytes of memory', measure)
        datadir, crash = trial.crashed('large')
        with Memory(SHARE * taken) as group:
            # an ORDER BY of all rows would fill the tmpfs, which is memory
            trial.recovers(datadir, crash, (group,), uses_tmpdir=False, **options)


@scenario('memory-prepare', 'the same of mariadb-backup --prepare with --use-memory')
def prepare(trial):
    """--use-memory must bound memory."""
    def measure():
        datadir, _ = trial.crashed('large')
        backup(datadir)
        prepares(trial, datadir, LARGE_POOL, None, tmpdir=tmpdir)
        trial.outcome.steps.clear()
        return trial.outcome.figures['bytes of prepare']
    tmpdir = trial.place / 'tmpfs'
    with tmpfs(tmpdir, 1024 * MIB):
        taken = trial.measured('bytes of memory', measure)
        datadir, crash = trial.crashed('large')
        backup(datadir)
        with Memory(SHARE * taken) as group:
            prepares(trial, datadir, LARGE_POOL, crash, inside=(group,), tmpdir=tmpdir)


@scenario('memory-load', 'clients write and read, memory limited to 1.2 times what vanilla takes')
def load(trial):
    """A pool of 32M, 12 clients, a kill and a recovery."""
    def measure():
        taken = []

        def end(server):
            taken.append(most_memory(server.process.pid))
            server.kill()
        trial.lives(trial.new(), end=end, **options)
        trial.outcome.steps.clear()
        return taken[0]
    options = {'innodb_buffer_pool_size': LARGE_POOL, 'clients': 4, 'seconds': 5}
    taken = trial.measured('bytes of memory', measure)
    with Memory(SHARE * taken) as group:
        trial.lives(trial.new(), (group,), **options)
