#!/usr/bin/python3
"""Processor time of the server for each transaction, series / vanilla, over all places of the code.

Usage: compare.py layouts.json...

Of each round, the geometric mean over the builds with 0, 16, 32 and 48 bytes before all code.
"""
import json
import math
import statistics
import sys
from collections import defaultdict

T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}    # Student's, 95 %, by degrees of freedom
builds, rounds = defaultdict(list), []
for path in sys.argv[1:]:
    with open(path, encoding='utf-8') as file:
        runs = json.load(file)['cases'][0]['runs']
    for number in sorted({run['round'] for run in runs}):
        found = {run['build'].rpartition('/')[2].removeprefix('plain:only:'): math.log(run['figures']['user_ms_per_transaction'])
                 for run in runs if run['round'] == number}
        middle = statistics.mean(found.values())
        for name, value in found.items():
            builds[name].append(value - middle)
        ours, theirs = ([value for name, value in found.items() if name.startswith(start)] for start in ('split', 'vanilla'))
        rounds.append(statistics.mean(ours) - statistics.mean(theirs))
for name, values in sorted(builds.items()):
    print(f'{name:24} {math.exp(statistics.mean(values)):.3f} of the mean of its rounds')
half = T[len(rounds) - 1] * statistics.stdev(rounds) / math.sqrt(len(rounds))
middle = statistics.mean(rounds)
print(f'split-buffer-mutex / vanilla {math.exp(middle):.3f} [{math.exp(middle - half):.3f} to {math.exp(middle + half):.3f}], {len(rounds)} rounds')
