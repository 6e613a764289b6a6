"""Invented result sets, for testing the pages: nothing here was measured.

They have what real ones have, and what is hard to draw: many builds with long names, cases without
timeline or histogram, text that HTML would take for markup, a run that was cut off.
"""
import json
import math
import random

from millrace_bench.measure import result, stats

SPEED = {'vanilla': 1.0, 'millrace': 1.12, 'debian': 0.995}
MACHINE = {'cpu': 'Invented CPU @ 2.20GHz', 'cores': 2, 'memory_bytes': 8 << 30,
           'kernel': '6.1.0-40-amd64', 'system': 'Debian GNU/Linux 12', 'virtual': 'kvm',
           'disk': {'device': 'vda', 'filesystem': 'ext4', 'scheduler': 'none',
                    'rotational': False}}


class Sample:
    """An invented set: its result.json in `data`, the rows of runs.csv.gz, the log."""

    def __init__(self, suite, builds, unit, better, seconds, drawn):
        self.builds, self.unit, self.better, self.seconds = builds, unit, better, seconds
        self.drawn, self.rows, self.log = drawn, [], []
        self.chance = random.Random(f'{suite} {builds}')
        self.data = {
            'format': result.FORMAT, 'suite': suite, 'tree': '10.11', 'version': '10.11.18',
            'date': '2026-11-21T06:10:00Z', 'seconds': 812, 'complete': True, 'error': None,
            'commit': '0123456789abcdef0123456789abcdef01234567', 'machine': MACHINE,
            'limit': {'iops': 3000, 'by': 'cgroup v2 io.max', 'not_counted': 'buffered writes'},
            'builds': [{'name': build, 'version': '10.11.18-MariaDB-log',
                        'comment': f'Invented <{build}> & sons',
                        'patches': [] if build in ('vanilla', 'debian')
                        else ['show-patches', 'read-ahead', 'google-io'],
                        'sha256': 'ab' * 32} for build in builds],
            'server': {'innodb_buffer_pool_size': '1G', 'innodb_flush_method': 'O_DIRECT',
                       'skip_log_bin': None},
            'load': {'engine': 'sysbench 1.0.20', 'tables': 8, 'time': seconds}, 'cases': []}

    def timeline(self, run, value):
        """Rows of the seconds of a run."""
        for second in range(1, self.seconds + 1):
            dip = 0.4 if second % 17 < 2 else 1
            figures = (second, round(max(0, self.chance.gauss(value * dip, value / 15)), 1),
                       round(min(1, self.chance.gauss(0.8, 0.03)), 3),
                       int(abs(self.chance.gauss(30e6, 4e6))),
                       int(abs(self.chance.gauss(55e6 / dip, 9e6))))
            yield {**run, **dict(zip(result.SECONDS, figures))}

    def histogram(self, run, speed):
        """Rows of the response times of a run."""
        counts = {}
        for _ in range(3000):
            time = self.chance.lognormvariate(math.log(16 / speed), 0.4)
            bucket = round(math.log(time) * 20)
            counts[bucket] = counts.get(bucket, 0) + 1
        for bucket, count in sorted(counts.items()):
            yield {**run, 'ms': round(math.exp(bucket / 20), 3), 'count': count}

    def run(self, case, level, build, turn):
        """A run of a case: its entry in result.json; its rows and log are kept."""
        speed = SPEED.get(build, 1.05) * self.chance.gauss(1, 0.015)
        value = level * speed if self.better == 'higher' else level / speed
        run = {'case': case, 'build': build, 'round': turn}
        if self.drawn:
            self.rows += [*self.timeline(run, value), *self.histogram(run, speed)]
        self.log.append(f'{result.heading(case, turn, build)}{value:.2f}\n')
        return {'build': build, 'round': turn, 'order': len(self.log), 'value': round(value, 2),
                'seconds': float(self.seconds),
                'figures': {'p95_ms': round(31 / speed, 2), 'p99_ms': round(44 / speed, 2),
                            'pages_read': int(2e5 * self.chance.random())}}

    def case(self, name, title, level, rounds):
        """Adds a case with all its runs."""
        runs = [self.run(name, level, build, turn) for turn in range(1, rounds + 1)
                for build in (self.builds if turn % 2 else reversed(self.builds))]
        measures = {self.unit: lambda run: run['value'],
                    'p99_ms': lambda run: run['figures']['p99_ms']}
        self.data['cases'].append({
            'name': name, 'title': title, 'measure': self.unit, 'better': self.better,
            'server': {'innodb_buffer_pool_size': '205M'} if self.data['cases'] else {},
            'runs': runs, 'comparisons': stats.comparisons(runs, self.builds[0], self.builds,
                                                           measures)})

    def write(self, path):
        """Writes the set into the directory `path`."""
        path.mkdir(parents=True)
        result.write_whole(path / 'result.json', json.dumps(self.data, indent=1))
        result.write_whole(path / 'runs.csv.gz', result.table(self.rows))
        result.write_whole(path / 'log.gz', '\n'.join(self.log))
        return self.data


OLTP = (('read-write-16', 'read-write, 16 clients'), ('read-only-16', 'read-only, 16 clients'))
USUAL = ('vanilla', 'millrace', 'debian')


def write(path, suite='oltp', cases=OLTP, builds=USUAL, unit='transactions/s', better='higher',
          rounds=3, seconds=60, drawn=True):
    """Writes a result set into the directory `path`: its result.json as written."""
    sample = Sample(suite, builds, unit, better, seconds, drawn)
    for place, (name, title) in enumerate(cases, 1):
        sample.case(name, title, (900.0 if better == 'higher' else 30.0) * place, rounds)
    return sample.write(path)


def change(path, edit):
    """Changes the record of a result set."""
    data = json.loads((path / 'result.json').read_text())
    edit(data)
    (path / 'result.json').write_text(json.dumps(data))


def write_all(top):
    """Writes result sets of every kind under the directory `top`: their directories."""
    names = ['2026-11-21-10.11-oltp', '2026-11-21-10.11-scan', '2026-11-20-11.8-contention',
             '2026-11-19-10.11-checkpoint']
    write(top / names[0])
    write(top / names[1], suite='scan', unit='seconds', better='lower', drawn=False,
          cases=(('ascending', 'cold ascending scan'), ('descending', 'cold descending scan'),
                 ('random', 'cold random reads')))
    write(top / names[2], suite='contention', seconds=240, rounds=2,
          builds=(*USUAL, 'only:read-ahead', 'only:google-io', 'only:split-buffer-mutex',
                  'without:extra-undo-segments', 'without:fast-recovery'),
          cases=tuple((f'clients-{n}', f'{n} clients') for n in (4, 16, 64, 256)))
    write(top / names[3], suite='checkpoint', builds=('vanilla', 'millrace'), rounds=2,
          cases=(('write', 'write <b>heavy</b> & small redo log'),))
    change(top / names[3], lambda data: data.update(complete=False,
                                                    error='interrupted in round 3\nof 5'))
    return [top / name for name in names]
