#!/usr/bin/python3
"""What the profile costs in compile time: two of ninja's logs, compared object by object.

Usage: compare.py PROFILE.ninja_log.gz PLAIN.ninja_log.gz PROFILES.tar.xz

The first build found an empty ccache. The second found what has no counts, which is compiled as without a profile; of these the time is
that of the first build. Prints seconds, of all jobs together.
"""
import gzip
import sys
import tarfile


def durations(log):
    """Seconds that each output took, from a log of ninja: start and end in ms, time of the file, output, hash of the command."""
    with gzip.open(log, 'rt') as lines:
        rows = [line.rstrip('\n').split('\t') for line in lines if not line.startswith('#')]
    return {output: (int(end) - int(start)) / 1000 for start, end, _, output, _ in rows}


profile, plain = durations(sys.argv[1]), durations(sys.argv[2])
with tarfile.open(sys.argv[3]) as archive:
    counted = {name.removesuffix('.gcda') + '.o' for name in archive.getnames() if name.endswith('.gcda')}
both = profile.keys() & plain.keys()
with_counts = both & counted
rest = sum(profile[output] for output in both - counted)
ours, theirs = (sum(build[output] for output in with_counts) for build in (profile, plain))
print(f'{len(with_counts)} objects of {len(counted)} with counts: {ours:.0f} s with the profile, {theirs:.0f} s without, {ours / theirs:.3f} times')
print(f'{len(both - counted)} other outputs, compiled anew: {rest:.0f} s')
print(f'together: {ours + rest:.0f} s and {theirs + rest:.0f} s, {(ours + rest) / (theirs + rest):.3f} times')
