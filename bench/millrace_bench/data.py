"""Prepared data directories, and the copies of them that servers run on."""
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Callable

from .errors import BenchError
from .server import OPTIONS, Server, explained, make_system_tables

# while data are loaded nothing has to survive a crash
LOADING = {'innodb_buffer_pool_size': '1G', 'innodb_doublewrite': 'OFF', 'innodb_flush_log_at_trx_commit': '0',
           'innodb_fast_shutdown': '0'}


@dataclass(frozen=True, eq=False)
class Data:
    """What a case runs on: `load(server)` fills a new server with it, `made_from` says all that the data
    depend on.  Where `crash` is set it is called instead of the shutdown, and what
    it returns is kept beside the data as facts."""
    name: str
    made_from: dict
    load: Callable
    options: dict = field(default_factory=dict)
    crash: Callable = None

    def key(self, build):
        """Names the directory: the same key, the same data."""
        text = json.dumps([self.name, self.made_from, OPTIONS, LOADING, self.options, build.sha256], sort_keys=True)
        return f'{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}'


def prepare(data, build, work, progress):
    """The prepared directory and its facts, made by `build` where it is not there yet."""
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
    with Server(build, directory, {**LOADING, **data.options}) as server, explained([server], f'{build.name}: preparing {data.name}'):
        server.start()
        data.load(server)
        if data.crash:
            return data.crash(server)
        server.stop()
    return {}


def size(path):
    """Bytes in the files of a directory."""
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(path) for name in names)


def copy(prepared, target):
    """A copy to run on, written to the disk and out of the page cache."""
    shutil.rmtree(target, ignore_errors=True)
    free = shutil.disk_usage(target.parent).free
    if free < size(prepared) * 1.5:
        raise BenchError(f'the disk under {target.parent} is full', f'{free >> 20} MiB free, {size(prepared) >> 20} MiB to copy',
                         'make room, or remove work/bench/data, which is made again')
    subprocess.run(['cp', '-a', '--reflink=auto', prepared, target], check=True)
    drop_cache(target)


def drop_cache(path):
    """Writes the files below `path` to the disk and drops them from the page cache: only them, and
    it takes no privileges."""
    for place, _, names in os.walk(path):
        for name in names:
            file = os.open(os.path.join(place, name), os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
