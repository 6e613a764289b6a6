"""Prepared data directories, and the copies of them that servers run on."""
import hashlib
import json
import os
import shutil
import subprocess

from millrace.errors import Failure
from millrace_bench.measure.server import OPTIONS, Server, explained, make_system_tables

# while data are loaded nothing has to survive a crash
LOADING = {'innodb_buffer_pool_size': '1G', 'innodb_doublewrite': 'OFF',
           'innodb_flush_log_at_trx_commit': '0', 'innodb_fast_shutdown': '0'}

# the account of a client, on a server that looks at grants from then on
WITH_GRANTS = ('FLUSH PRIVILEGES', "CREATE USER root@localhost IDENTIFIED BY ''",
               'GRANT ALL ON *.* TO root@localhost WITH GRANT OPTION')


class Data:
    """The data of a case: a subclass fills a new server with them in load().

    `made_from` has everything that the data depend on; `options` are those of the server that
    loads them."""

    def __init__(self, name, made_from, options=None):
        self.name, self.made_from, self.options = name, made_from, options or {}

    def load(self, server):
        """Fills a running server."""
        raise NotImplementedError

    def end(self, server):
        """Ends the server that has loaded them; returns facts that are kept beside the data."""
        server.stop()
        return {}

    @staticmethod
    def make_database(server):
        """Makes the database that the loads use."""
        with server.connect() as connection:
            connection.query('CREATE DATABASE bench')

    def key(self, build):
        """Name of the directory: the same key stands for the same data."""
        text = json.dumps([self.name, self.made_from, OPTIONS, LOADING, self.options,
                           build.sha256], sort_keys=True)
        return f'{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}'


def prepare(data, build, work, progress):
    """The prepared directory and its facts; `build` makes it where it is missing."""
    home = work / 'data' / data.key(build)
    if not home.exists():
        new = home.with_name(home.name + '.new')
        shutil.rmtree(new, ignore_errors=True)
        progress.say(f'preparing {data.name}')
        try:
            facts = _fill(data, build, new / 'data')
            (new / 'facts.json').write_text(json.dumps(facts))
            new.rename(home)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return home / 'data', json.loads((home / 'facts.json').read_text())


def _fill(data, build, directory):
    make_system_tables(build, directory)
    with Server(build, directory, {**LOADING, **data.options}) as server, \
            explained([server], f'{build.name}: preparing {data.name}'):
        server.start()
        data.load(server)
        return data.end(server)


def size(path):
    """Bytes in the files of a directory."""
    return sum(os.path.getsize(os.path.join(place, name))
               for place, _, names in os.walk(path) for name in names)


def copy(prepared, target):
    """Makes a copy to run on, written to the disk and dropped from the page cache."""
    # the last copy, and the temporary files of a server on it that could not clear up
    for left in (target, *target.parent.glob(f'{target.name}.tmp-*')):
        shutil.rmtree(left, ignore_errors=True)
    free = shutil.disk_usage(target.parent).free
    if free < size(prepared) * 1.5:
        raise Failure(f'the disk under {target.parent} is full',
                      f'{free >> 20} MiB free, {size(prepared) >> 20} MiB to copy',
                      'make room, or measure less data with SIZE=')
    # a shared extent would be copied at its first write, in the middle of a measurement
    subprocess.run(['cp', '-a', '--reflink=never', prepared, target], check=True)
    drop_cache(target)


def drop_cache(path):
    """Writes the files below `path` to the disk and drops them, and only them, from the page
    cache; needs no privileges."""
    for place, _, names in os.walk(path):
        for name in names:
            file = os.open(os.path.join(place, name), os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
