"""System calls that the kernel refuses, and limits of a process."""
from millrace_hostile.data import MANY
from millrace_hostile.surroundings import MIB, Refused, ResourceLimit
from millrace_hostile.trial import SCHEMA, START_SECONDS, STOP_SECONDS, scenario
from millrace_hostile.scenarios.disks import grow

FILES = 128             # fewer than there are tables
AIO = {
    'io_uring-eperm': {'io_uring_setup': 'EPERM'},
    'io_uring-enosys': {'io_uring_setup': 'ENOSYS'},
    'io_uring-enomem': {'io_uring_setup': 'ENOMEM'},
    'io_setup-eagain': {'io_setup': 'EAGAIN'},
    'no-aio': {'io_uring_setup': 'EPERM', 'io_setup': 'EAGAIN'},
}


def _register(name, calls):
    said = ', '.join(f'{call}: {error}' for call, error in calls.items())

    @scenario(name, f'{said}; clients write, a kill', quick=name == 'no-aio')
    def lives(trial):
        trial.lives(trial.new(), (Refused(**calls),), seconds=2)
    return lives


for _name, _calls in AIO.items():
    _register(_name, _calls)


@scenario('rlimit-memlock', 'RLIMIT_MEMLOCK=0; clients write, a kill')
def memlock(trial):
    """What old kernels count io_uring's rings in."""
    trial.lives(trial.new(), (ResourceLimit('MEMLOCK', 0),), seconds=2)


@scenario('rlimit-nofile', f'RLIMIT_NOFILE={FILES}; recovery of {MANY} tables')
def nofile(trial):
    """InnoDB closes files to open others."""
    datadir, crash = trial.crashed('many')
    trial.recovers(datadir, crash, (ResourceLimit('NOFILE', FILES),), goes_on=True,
                   max_connections=20, innodb_open_files=FILES // 2)
    trial.returns(datadir, crash)


@scenario('rlimit-fsize', 'RLIMIT_FSIZE the size of the log file; recovery, then a table that '
          'gets larger')
def fsize(trial):
    """No file may be larger than the log."""
    datadir, crash = trial.crashed('small')
    inside = (ResourceLimit('FSIZE', 96 * MIB + 4096),)
    trial.recovers(datadir, crash, inside, goes_on=True)
    with trial.server(datadir, inside) as server:
        with trial.step('start again'):
            server.start(START_SECONDS)
        with trial.step('grow'):
            trial.outcome.facts['a file reaches the limit'] = grow(server)
        with trial.step('rows after that'):
            crash.check(server)
        with trial.step('drop'), server.connect(SCHEMA) as connection:
            connection.query('DROP TABLE grows')
        with trial.step('shutdown after that'):
            server.stop(STOP_SECONDS)
    trial.returns(datadir, crash)
