#!/usr/bin/python3
"""Processor time of the server for each transaction, series / vanilla, over all places of the code.

Usage: compare.py layouts.json...

Of each round, the geometric mean over the builds with 0, 16, 32 and 48 bytes before all code.
"""
import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
from millrace_bench.stats import compare, geometric_mean  # noqa: E402

builds, rounds = defaultdict(list), []
for path in sys.argv[1:]:
    with open(path, encoding='utf-8') as file:
        runs = json.load(file)['cases'][0]['runs']
    for number in sorted({run['round'] for run in runs}):
        found = {run['build'].rpartition('/')[2].removeprefix('plain:only:'): run['figures']['user_ms_per_transaction']
                 for run in runs if run['round'] == number}
        middle = geometric_mean(found.values())
        for name, value in found.items():
            builds[name].append(value / middle)
        ours, theirs = (geometric_mean([value for name, value in found.items() if name.startswith(start)]) for start in ('split', 'vanilla'))
        rounds.append(ours / theirs)
for name, values in sorted(builds.items()):
    print(f'{name:24} {geometric_mean(values):.3f} of the mean of its rounds')
ratio = compare(rounds)
print(f'split-buffer-mutex / vanilla {ratio["ratio"]:.3f} [{ratio["low"]:.3f} to {ratio["high"]:.3f}], {len(rounds)} rounds')
