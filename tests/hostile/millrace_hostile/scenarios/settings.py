"""SET GLOBAL of every variable of the series, and views, in a loop under load."""
import itertools
import time
from functools import partial

from millrace_crash.datadir import SCHEMA
from millrace_crash.ledger import run_threads
from millrace_hostile.trial import DATA, START_SECONDS, STOP_SECONDS, Watch, scenario

STILL = 20              # seconds without anything: a standstill
IO_THREADS_SECONDS = 20
KNOWN = "SELECT LOWER(variable_name) FROM information_schema.system_variables"
TYPES = ('SELECT LOWER(variable_name), variable_type, numeric_min_value, numeric_max_value, '
         "enum_value_list FROM information_schema.system_variables WHERE read_only='NO'")
VIEWS = ("SELECT table_name FROM information_schema.tables "
         "WHERE table_schema='information_schema'")
MOST = 1000             # a number that is set: more would only take longer


def values(kind, least, most, enumerated):
    """Values to set a variable to, as they are written in a statement."""
    if kind == 'BOOLEAN':
        return ['ON', 'OFF']
    if kind in ('ENUM', 'SET', 'FLAGSET'):
        return [f"'{value}'" for value in enumerated.split(',')]
    if kind in ('VARCHAR',):
        return []
    least, most = float(least or 0), min(float(most or MOST), MOST)
    return [str(int(value)) for value in (least, most, least + 1, (least + most) / 2, most / 10)
            if least <= value <= most]


def _series_only(server, trial, what):
    """What this server has and vanilla lacks: variables or views."""
    with server.connect() as connection:
        names = {row[0] for row in connection.query(KNOWN if what == 'variables' else VIEWS)}
    known = trial.measured(what, lambda: ' '.join(sorted(names)))
    return sorted(names - set(known.split()))


def _set_all(server, trial, seconds):
    """Sets each variable to each of its values, in a loop; reads the views between."""
    names, views = (_series_only(server, trial, what) for what in ('variables', 'views'))
    with server.connect() as connection:
        settings = [(name, values(*more)) for name, *more in connection.query(TYPES)
                    if name in names]
        old = {name: connection.query(f'SELECT @@GLOBAL.{name}')[0][0] for name, _ in settings}
        statements = [f'SET GLOBAL {name}={value}' for name, choices in settings
                      for value in choices]
        statements += [f'SELECT COUNT(*) FROM information_schema.{view}' for view in views]
        until = time.monotonic() + seconds
        for statement in itertools.cycle(statements or ['DO SLEEP(.1)']):
            connection.query(statement)
            if time.monotonic() > until:
                break
        for name, value in old.items():
            quoted = value if value.lstrip('-').replace('.', '').isdigit() else f"'{value}'"
            connection.query(f'SET GLOBAL {name}={quoted}')
    trial.outcome.figures['variables that were set'] = len(settings)


def _scan(server):
    with server.connect(SCHEMA) as connection:
        while True:
            connection.query(f'SELECT COUNT(b) FROM {DATA}')


def _register(name, seconds, quick):
    @scenario(name, f'SET GLOBAL of each variable of the series, and its views, for {seconds} s '
              'while clients write and scan; then a shutdown', quick=quick)
    def lives(trial):
        trial.lives(trial.new(), during=lambda server: _set_all(server, trial, seconds),
                    still=STILL, jobs=(_scan, _scan), end=lambda server: server.stop(STOP_SECONDS))
    return lives


_register('set-variables', 4, True)
_register('set-variables-long', 40, False)


@scenario('set-io-threads', 'SET GLOBAL innodb_read_io_threads and innodb_write_io_threads, scans '
          'in a pool of 8M, INNODB_BUFFER_POOL_STATS', must=True)
def io_threads(trial):
    """A standstill of upstream's that the series must not have."""
    datadir, crash = trial.crashed('small')
    numbers, last = itertools.count(), [0]

    def job(*statements):
        def repeat(server):
            with server.connect(SCHEMA) as connection:
                for statement in itertools.cycle(statements):
                    connection.query(statement)
                    last[0] = next(numbers)
        return repeat
    jobs = [job(*(f'SELECT COUNT(b) FROM {table}' for table in crash.tables))] * 8
    jobs += [job('SELECT * FROM information_schema.innodb_buffer_pool_stats'),
             job(*(f'SET GLOBAL innodb_{way}_io_threads={number}' for number in (1, 8, 4, 2)
                   for way in ('read', 'write')))]
    with trial.server(datadir) as server:
        with trial.step('start'):
            server.start(START_SECONDS)
        join = run_threads([partial(each, server) for each in jobs])
        watch = Watch(server, lambda: last[0], STILL // 2, trial.log)
        try:
            with trial.step('load'):
                watch.wait(IO_THREADS_SECONDS)
                watch.end()
                server.check()
            with trial.step('shutdown'):
                server.stop(STILL)
        finally:
            watch.stop()
            server.kill()
            join()
    trial.returns(datadir, crash)
