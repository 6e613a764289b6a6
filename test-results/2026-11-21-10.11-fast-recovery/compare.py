"""Usage: compare.py VANILLA PATCHED DIRECTORY... [--kills N] [--pools 8,16,64,512]

For each DIRECTORY of mixed.py: applies the log to copies of the crashed data directory with mariadb-backup --prepare
of both builds, which applies the log and does nothing else, and compares all InnoDB files page by page.  The reference
is vanilla with 1 GiB, where nothing is done in batches.  The patched one is run with each size of the pool (MiB); with
--kills it is killed up to N times, at random moments, and started again, by itself or by vanilla.  With --damage some
bytes of the log are overwritten first, the same for all."""
import argparse
import json

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

PAGE = 16384


def files(top):
    return {str(path.relative_to(top)): path for path in top.rglob('*')
            if path.suffix == '.ibd' or path.name.startswith(('ibdata', 'undo'))}


def doublewrite(system):
    """The pages of the system tablespace whose content does not matter."""
    header = system[5 * PAGE:6 * PAGE]
    place = PAGE - 200 + 10
    if int.from_bytes(header[place:place + 4], 'big') != 536853855:
        return set()
    starts = [int.from_bytes(header[at:at + 4], 'big') for at in (place + 4, place + 8)]
    return {page for start in starts for page in range(start, start + 64)}


def content(page):
    """What of a page matters: one that is page_compressed ends before its place in the file does."""
    kind = int.from_bytes(page[24:26], 'big')
    return page[:(kind & 0x7fff) << 8] if kind & 0x8000 else page


def differences(one, other):
    found, left, right = [], files(one), files(other)
    for name in sorted(left.keys() ^ right.keys()):
        found.append(f'{name}: only in {"the first" if name in left else "the second"}')
    for name in sorted(left.keys() & right.keys()):
        x, y = left[name].read_bytes(), right[name].read_bytes()
        if len(x) != len(y):
            found.append(f'{name}: {len(x)} and {len(y)} bytes')
        if x == y:
            continue
        ignored = doublewrite(x) if name == 'ibdata1' else set()
        for page in range(min(len(x), len(y)) // PAGE):
            u, v = (content(z[page * PAGE:(page + 1) * PAGE]) for z in (x, y))
            if u != v and page not in ignored:
                where = [i for i in range(min(len(u), len(v))) if u[i] != v[i]] or [min(len(u), len(v))]
                found.append(f'{name} page {page} type {u[24:26].hex()}/{v[24:26].hex()} LSN {u[16:24].hex()}/{v[16:24].hex()}: '
                             f'{len(where)} bytes from {where[0]}')
    return found


def prepare(build, copy, pool, log, options, kill_after=None):
    """Status of mariadb-backup --prepare, or None where it was killed."""
    command = [f'{build}/bin/mariadb-backup', '--prepare', f'--target-dir={copy}', f'--use-memory={pool}M',
               *([f'--plugin-dir={options["plugin_dir"]}'] if 'plugin_dir' in options else [])]
    with open(log, 'a') as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            return process.wait(kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None


def fresh(data, copy, options):
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(['cp', '-a', '--sparse=always', data, copy], check=True)
    for name in ('ib_buffer_pool', 'ibtmp1'):
        (copy / name).unlink(missing_ok=True)
    (copy / 'xtrabackup_checkpoints').write_text('backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 1\nlast_lsn = 1\n')
    lines = ['[mysqld]', 'innodb_page_size=16384', f'innodb_undo_tablespaces={options.get("innodb_undo_tablespaces", 0)}']
    if 'plugin_dir' in options:
        lines += ['plugin_load=file_key_management', f'file_key_management_filename={options["loose_file_key_management_filename"]}',
                  f'innodb_encrypt_log={options["innodb_encrypt_log"]}']
    (copy / 'backup-my.cnf').write_text('\n'.join(lines) + '\n')


def damage(copy, seed):
    """Overwrites a few bytes of the log, or all of it from some place on."""
    dice = random.Random(seed)
    with open(copy / 'ib_logfile0', 'r+b') as log:
        data = log.read()
        used = len(data.rstrip(b'\0'))
        at = dice.randrange(12288, max(used, 12289))
        what = dice.choice([1, 8, 4096, used - at])
        log.seek(at)
        log.write(bytes(dice.randrange(256) for _ in range(what)) if what < 9 else bytes(what))
    return f'{what} bytes at {at} of {used}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('vanilla')
    parser.add_argument('patched')
    parser.add_argument('directories', nargs='+', type=Path)
    parser.add_argument('--kills', type=int, default=0)
    parser.add_argument('--pools', default='8,16,64,512')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--damage', action='store_true')
    arguments = parser.parse_args()
    dice, failed = random.Random(arguments.seed), 0
    for home in arguments.directories:
        options = json.loads((home / 'options').read_text()) if (home / 'options').exists() else {}
        reference, copy = home / 'vanilla', home / 'copy'
        log = home / 'prepare.log'
        log.unlink(missing_ok=True)
        fresh(home / 'data', reference, options)
        damaged = f' damaged {damage(reference, arguments.seed)}' if arguments.damage else ''
        begin = time.monotonic()
        status = prepare(arguments.vanilla, reference, 1024, log, options)
        usual = time.monotonic() - begin
        for pool in arguments.pools.split(','):
            fresh(home / 'data', copy, options)
            if arguments.damage:
                damage(copy, arguments.seed)
            kills, by = 0, arguments.patched
            begin = time.monotonic()
            while True:
                limit = None
                if kills < arguments.kills:
                    limit = dice.uniform(0.3, 1.0) * usual
                done = prepare(by, copy, pool, log, options, limit)
                if done is None and not (copy / 'ib_logfile0').exists():
                    done = 0    # all log was applied, and a new one was about to be made
                if done is not None:
                    break
                kills += 1
                by = dice.choice([arguments.patched, arguments.patched, arguments.vanilla])
            found = differences(reference, copy) if done == 0 and status == 0 else []
            if done != status:
                found.append(f'status {done}, where the reference has {status}')
            print(f'{home.name}{damaged} pool {pool}M kills {kills} by {Path(by).name} status {done} seconds {time.monotonic() - begin:.1f} '
                  f'different {len(found)}', *found[:8], sep='\n    ' if found else ' ', flush=True)
            failed += bool(found)
            if found:
                kept = home / f'different-{pool}'
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(copy, kept)
        shutil.rmtree(reference)
        shutil.rmtree(copy)
    print('failed:', failed)
    sys.exit(failed > 0)


main()
