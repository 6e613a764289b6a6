"""Runs workloads on servers of a build, and collects what the servers count."""
import contextlib
import os
import shutil

from millrace_bench.measure.data import copy, prepare
from millrace_bench.measure.server import Server, explained
from millrace_bench.train.workloads import SERVER, Training, data


@contextlib.contextmanager
def counting(directory, objects):
    """While this holds, servers that are started leave their counts in `directory`, laid out as
    their objects lie in the directory `objects`."""
    # read by libgcov in the server: the path that stands in the object, less its first parts
    names = {'GCOV_PREFIX': str(directory),
             'GCOV_PREFIX_STRIP': str(len(objects.resolve().parts) - 1)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def ended(server, running, where):
    """Starts a server, and shuts it down cleanly at the end of the block, so that it leaves its
    counts.

    It is one of the servers that are `running` meanwhile.  Where a statement of the block fails,
    the Failure says which of them has died, or else names `where`."""
    running.append(server)
    try:
        with explained(running, where):
            yield server.start()
        server.stop()
    finally:
        running.remove(server)
        server.__exit__()


class Trainer:
    """Trains with servers of `build`, whose objects lie in `objects`, below the directory
    `work`."""

    def __init__(self, build, objects, scale, work, progress):
        self.build, self.objects, self.scale = build, objects, scale
        self.work, self.progress = work, progress
        self.prepared, self.running = {}, []

    def train(self, chosen):
        """Runs workloads: {name: directory of its counts}."""
        shutil.rmtree(self.work / 'counts', ignore_errors=True)
        kinds = data(self.scale)
        with counting(self.work / 'discarded', self.objects):
            self.prepared = {
                name: prepare(kinds[name], self.build, self.work, self.progress)[0]
                for name in {workload.data for workload in chosen}}
        counts = {workload.name: self._run(workload) for workload in chosen}
        for name in ('run', 'another', 'discarded'):
            shutil.rmtree(self.work / name, ignore_errors=True)
        return counts

    def _run(self, workload):
        """Runs a workload: the directory of its counts."""
        counts = self.work / 'counts' / workload.name
        self.progress.start(workload.title)
        copy(self.prepared[workload.data], self.work / 'run')
        server = Server(self.build, self.work / 'run', {**SERVER, **workload.options})
        where = f'{self.build.name}: workload {workload.name}'
        with counting(counts, self.objects), ended(server, self.running, where):
            workload.run(Training(server, self.scale, self._another))
        self.progress.finish()
        return counts

    @contextlib.contextmanager
    def _another(self, **options):
        """A second server, of which nothing is counted."""
        copy(self.prepared['sbtest'], self.work / 'another')
        server = Server(self.build, self.work / 'another', {**SERVER, **options})
        with counting(self.work / 'discarded', self.objects), \
                ended(server, self.running, f'{self.build.name}: the second server'):
            yield server
        shutil.rmtree(self.work / 'another')
