"""Invented result sets, for testing the pages: nothing here was measured.

They have what real ones have, and what is hard to draw: many builds with long names, cases without
timeline or histogram, text that HTML would take for markup, a run that was cut off.
"""
import gzip
import json
import math
import random

SPEED = {'vanilla': 1.0, 'millrace': 1.12, 'debian': 0.995}


def write(path, suite='oltp', cases=(('read-write-16', 'read-write, 16 clients'), ('read-only-16', 'read-only, 16 clients')),
          builds=('vanilla', 'millrace', 'debian'), measure='transactions/s', better='higher', rounds=3,
          seconds=60, drawn=True, complete=True, error=None):
    """Writes a result set into the directory `path`, and returns its result.json as written."""
    chance = random.Random(f'{suite} {builds} {rounds}')
    (path / 'raw').mkdir(parents=True)

    def packed(name, text):
        with gzip.GzipFile(path / 'raw' / name, 'wb', mtime=0) as file:
            file.write(text.encode())
        return f'raw/{name}'

    def run(case, level, build, turn, order):
        speed = SPEED.get(build, 1.05) * chance.gauss(1, 0.015)
        value = level * speed if better == 'higher' else level / speed
        name = f'{case}-{turn}-{build.replace(":", "-")}'
        timeline, rows = ['second,value,cpu,read_bytes,write_bytes'], seconds if drawn else 0
        for second in range(1, rows + 1):
            dip = 0.4 if second % 17 < 2 else 1
            timeline.append(f'{second},{max(0, chance.gauss(value * dip, value / 15)):.1f},'
                            f'{min(1, chance.gauss(0.8, 0.03)):.3f},{int(abs(chance.gauss(30e6, 4e6)))},'
                            f'{int(abs(chance.gauss(55e6 / dip, 9e6)))}')
        counts = {}
        for _ in range(3000 if drawn else 0):
            bucket = round(math.log(chance.lognormvariate(math.log(16 / speed), 0.4)) * 20)
            counts[bucket] = counts.get(bucket, 0) + 1
        histogram = ['ms,count', *(f'{math.exp(bucket / 20):.3f},{count}' for bucket, count in sorted(counts.items()))]
        return {'build': build, 'round': turn, 'order': order, 'value': round(value, 2), 'seconds': float(seconds),
                'figures': {'p95_ms': round(31 / speed, 2), 'p99_ms': round(44 / speed, 2), 'pages_read': int(2e5 * chance.random())},
                'timeline': packed(f'{name}.csv.gz', '\n'.join(timeline) + '\n') if drawn else None,
                'histogram': packed(f'{name}-histogram.csv.gz', '\n'.join(histogram) + '\n') if drawn else None,
                'logs': [packed(f'{name}.log.gz', f'{name}: {value:.2f}\n')]}

    def comparison(case, build, name, value):
        base = {one['round']: value(one) for one in case['runs'] if one['build'] == builds[0]}
        pairs = [value(one) / base[one['round']] for one in case['runs'] if one['build'] == build and one['round'] in base]
        logs = [math.log(pair) for pair in pairs]
        mean = sum(logs) / len(logs)
        reach = 4.3 * math.sqrt(sum((x - mean) ** 2 for x in logs) / max(1, len(logs) - 1) / len(logs))
        low, high = math.exp(mean - reach), math.exp(mean + reach)
        return {'base': builds[0], 'build': build, 'measure': name, 'pairs': pairs, 'ratio': math.exp(mean),
                'low': low, 'high': high, 'confidence': 0.95, 'includes_one': low <= 1 <= high}

    data = {
        'format': 1, 'suite': suite, 'tree': '10.11', 'version': '10.11.18', 'date': '2026-11-21T06:10:00Z', 'seconds': 812,
        'commit': '0123456789abcdef0123456789abcdef01234567', 'complete': complete, 'error': error,
        'machine': {'cpu': 'Invented CPU @ 2.20GHz', 'cores': 2, 'memory_bytes': 8 << 30, 'kernel': '6.1.0-40-amd64',
                    'system': 'Debian GNU/Linux 12', 'virtual': 'kvm',
                    'disk': {'device': 'vda', 'filesystem': 'ext4', 'scheduler': 'none', 'rotational': False}},
        'limit': {'iops': 3000, 'by': 'cgroup v2 io.max'},
        'builds': [{'name': build, 'version': '10.11.18-MariaDB-log', 'comment': f'Invented <{build}> & sons',
                    'patches': ['show-patches', 'read-ahead'] if build not in ('vanilla', 'debian') else [],
                    'sha256': 'ab' * 32} for build in builds],
        'server': {'innodb_buffer_pool_size': '1G', 'innodb_flush_method': 'O_DIRECT', 'innodb_log_file_size': '512M'},
        'load': {'engine': 'sysbench 1.0.20', 'tables': 8, 'table-size': 500000, 'time': seconds},
        'cases': []}
    for place, (name, title) in enumerate(cases):
        level = 900.0 * (place + 1) if better == 'higher' else 30.0 * (place + 1)
        case = {'name': name, 'title': title, 'measure': measure, 'better': better,
                'server': {'innodb_buffer_pool_size': '205M'} if place else {}, 'runs': [], 'comparisons': []}
        for turn in range(1, rounds + 1):
            for order, build in enumerate(builds if turn % 2 else reversed(builds), 1):
                case['runs'].append(run(name, level, build, turn, order))
        for build in builds[1:]:
            case['comparisons'] += [comparison(case, build, measure, lambda one: one['value']),
                                    comparison(case, build, 'p99_ms', lambda one: one['figures']['p99_ms'])]
        data['cases'].append(case)
    (path / 'result.json').write_text(json.dumps(data, indent=1), encoding='utf-8')
    return data


def write_all(top):
    """Result sets of every kind under the directory `top`."""
    write(top / '2026-11-21-10.11-oltp')
    write(top / '2026-11-21-10.11-scan', suite='scan', measure='seconds', better='lower', drawn=False,
          cases=(('ascending', 'cold ascending scan'), ('descending', 'cold descending scan'), ('random', 'cold random reads')))
    write(top / '2026-11-20-11.8-contention', suite='contention', seconds=240, rounds=2,
          builds=('vanilla', 'millrace', 'debian', 'only:read-ahead', 'only:google-io', 'only:split-buffer-mutex',
                  'without:extra-undo-segments', 'without:fast-recovery'),
          cases=tuple((f'clients-{n}', f'{n} clients') for n in (4, 16, 64, 256)))
    write(top / '2026-11-19-10.11-checkpoint', suite='checkpoint', cases=(('write', 'write <b>heavy</b> & small redo log'),),
          builds=('vanilla', 'millrace'), rounds=2, complete=False, error='interrupted in round 3\nof 5')
