"""Recovers crashed data with innodb_fast_recovery=ON and with vanilla, and compares the results.

For each crash the seed chooses page size, undo tablespaces, encryption and more.  PATCHED is
killed in the middle of a mixed load, beside clients that know what they have committed, as soon
as a random amount of log is written.  Then copies of its data are recovered:

servers     by VANILLA with a large buffer pool; and by PATCHED with a small one, and with a
            medium or large one, killed 0 to 5 times and continued by either server.  What was
            committed must be there, all tables and indexes must be as with VANILLA, and so must
            every page after a clean shutdown, but for the differences that pages.py explains
--prepare   by mariadb-backup of both servers, in the same way: every page must be the same
damaged     after every second crash the log is cut, or bytes of it are spoiled, at a random
            place: both servers, and both --prepare, must refuse it alike, or make the same pages

PATCHED must refuse what VANILLA refuses.

Prints a line for each crash, and a summary, also when it is interrupted.  `--seed` of a crash
with `--crashes 1` repeats it as far as that is possible.  The data are removed at the end.  The
data of a crash with a difference are kept: the error begins with DIFFERENT.
Exit status: 0; 1 where something is different or the tool cannot run.
"""
import collections
import random
import shutil
import time

from millrace.command import number, run_command
from millrace.errors import Failure
from millrace_crash import pages, recovery
from millrace_crash.datadir import SCHEMA, DataDir, formats
from millrace_crash.ledger import Ledger
from millrace_crash.mixed import MixedLoad
from millrace_crash.tool import add_build, parse, place_of, tool_parser

POOLS = {'small': 8, 'medium': 24, 'large': 256}    # MiB, for pages of 16 KiB
REFERENCE = 512                                     # MiB, of VANILLA
DEFAULT_PAGE = 16384
LONGEST_LOAD, MOST_KILLS = 20, 5                    # seconds, kills of a recovery
LEAST_LOG, MOST_LOG = 18, 25.3                      # bytes until a crash, as powers of 2
CRASHING = {'innodb_adaptive_flushing': 'OFF', 'innodb_max_dirty_pages_pct': '99.9',
            'innodb_max_undo_log_size': '10M', 'innodb_undo_log_truncate': 'ON',
            'innodb_stats_persistent': 'OFF', 'performance_schema': 'OFF',
            'innodb_log_buffer_size': '16M', 'loose_innodb_buffer_pool_size_max': '512M'}
LSN = "SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'"


def arguments(argv):
    """The parsed arguments, and the options of the server that crashes."""
    parser = tool_parser('compare-recovery', __doc__)
    add_build(parser, 'patched', 'directory with the unpacked server to test', 'patched')
    add_build(parser, 'vanilla', 'directory with an unpacked server to compare with', 'vanilla')
    parser.add_argument('--crashes', type=number(int, 1), default=10, metavar='N',
                        help='how many crashes (default: %(default)s)')
    parser.add_argument('--seed', type=int, default=1, metavar='N',
                        help='seed of the first crash; the next ones follow '
                             '(default: %(default)s)')
    return parse(parser, argv)


def choose(dice):
    """Random options of a crash: those of the data, and those of the server that crashes."""
    encrypt = dice.random() < .4
    page_sizes = (16384, 16384, 16384, 16384, 4096, 8192, 32768, 65536)
    data = {'innodb_page_size': dice.choice(page_sizes),
            'innodb_undo_tablespaces': dice.choice((0, 3)),
            'innodb_encrypt_log': dice.choice(('ON', 'OFF')),
            'innodb_log_file_mmap': dice.choice(('ON', 'OFF')),
            'performance_schema': 'OFF', **({'innodb_encrypt_tables': 'ON'} if encrypt else {})}
    rotating = {'innodb_encryption_threads': 2, 'innodb_encryption_rotate_key_age': 0}
    server = {**CRASHING, 'innodb_log_file_size': dice.choice(('24M', '64M', '64M')),
              'innodb_buffer_pool_size': dice.choice(('64M', '256M', '256M')),
              'loose_innodb_change_buffering': dice.choice(('none', 'all')),
              'innodb_immediate_scrub_data_uncompressed': dice.choice(('ON', 'OFF')),
              **(rotating if encrypt else {})}
    return data, server


class Crash:
    """One crash, and the recoveries of its data.

    `different` lists differences, `counts` and `texts` are for the output.  `templates` keeps
    new data directories by their layout, for later crashes."""

    def __init__(self, place, templates, builds, seed, options):
        self.place, self.seed, self.dice = place, seed, random.Random(seed)
        self.patched, self.vanilla = builds
        self.different, self.judged = [], 0
        self.counts, self.texts = collections.Counter(), []
        data, server = choose(self.dice)
        self.page_size, tablespaces = data['innodb_page_size'], data['innodb_undo_tablespaces']
        # Not by self.dice, so that a seed means what it meant before this was added.
        fill = random.Random(f'{seed} undo').random() < .5
        self.undo_to_fill = tablespaces if fill else 0
        layout = (self.page_size, tablespaces)
        if layout not in templates:
            templates[layout] = DataDir(
                self.patched, place / f'new-{self.page_size}-{tablespaces}', self.page_size,
                {'innodb_undo_tablespaces': tablespaces})
        self.datadir = templates[layout].copy(place / 'crashed', self.patched, data)
        self.options = {**server, **options}
        self.chosen = [f'{self.page_size} B', f'{tablespaces} undo']
        self.chosen += [text for text, chosen in (
            ('encrypted', 'innodb_encrypt_tables' in data),
            ('log encrypted', data['innodb_encrypt_log'] == 'ON'),
            ('mapped by --prepare', data['innodb_log_file_mmap'] == 'ON'),
            ('undo filled', self.undo_to_fill)) if chosen]
        tables = self.dice.sample(sorted(formats(self.page_size).items()), 2)
        self.ledger, self.tables = Ledger([name for name, _ in tables], 1), dict(tables)
        self.load = MixedLoad(seed, self.page_size)

    def run(self):
        """Crashes a server, and makes and compares all recoveries."""
        try:
            self._crash()
            expected = self._recover_by_servers()
            self._prepare()
            if self.seed % 2 == 0 and expected.lsn:
                self._recover_damaged(expected.lsn)
        except Failure as error:
            self.different.append(str(error))
        self.counts.update({f'statements: {kind}': count
                            for kind, count in self.load.done.items()})

    def _crash(self):
        """Lets clients work on a server, and kills it when enough log is written."""
        wanted = int(2 ** self.dice.uniform(LEAST_LOG, MOST_LOG))
        with self.datadir.server() as server:
            server.options.update(self.options)
            server.start()
            with server.connect(SCHEMA) as connection:
                self.ledger.create(connection, self.tables)
            self.load.create(server)
            if self.undo_to_fill:
                self.load.fill_undo(server, self.undo_to_fill)
            with server.connect() as connection:
                def lsn():
                    return int(connection.query(LSN)[0][1])
                began, first = time.monotonic(), lsn()
                joins = (self.load.start(server),
                         self.ledger.start(lambda: server.connect(SCHEMA)))
                while ((written := lsn() - first) < wanted
                       and time.monotonic() - began < LONGEST_LOAD):
                    time.sleep(.01)
            truncated = server.status().get('innodb_undo_truncations', 0)
            server.check()    # it must be this kill that ends it
            server.kill()
            for join in joins:
                join()
        self.counts.update({'crashes': 1, 'transactions confirmed': self.ledger.confirmed(),
                            'undo truncations': truncated,
                            'crashes after an undo truncation': bool(truncated)})
        self.texts.append(f'{", ".join(self.chosen)}; {written / 1e6:.1f} MB of log, '
                          f'{self.ledger.confirmed()} transactions')

    def _pool(self, size):
        """The MiB of a pool in POOLS, for pages of this size."""
        return POOLS[size] * max(1, self.page_size // DEFAULT_PAGE)

    def _recovery_options(self, build, pool):
        """Options of a server that recovers."""
        fast = ({recovery.FAST: 'ON'} if build is self.patched
                else {'loose_' + recovery.FAST: 'OFF'})
        return {'innodb_buffer_pool_size': f'{pool}M',
                'innodb_log_file_size': self.options['innodb_log_file_size'], **fast}

    def _copy(self, name, build):
        """A copy of the crashed data for a build."""
        return self.datadir.copy(self.place / name, build)

    def _recover(self, datadir, build, pool):
        """Recovers by a server of a build, and reads what is committed, and everything else."""
        def look(server):
            with server.connect(SCHEMA) as connection:
                self.ledger.check(connection)
            return recovery.read_tables(server)
        datadir.use(build)
        return recovery.recover_by_server(datadir, self._recovery_options(build, pool), look)

    def _note(self, where, lines):
        """Notes differences."""
        self.different += [f'{where}: {line}' for line in lines]

    def _verdict(self, name, text):
        """The text, or DIFFERENT where a difference was noted since the last call.

        A copy with a difference is kept under the name."""
        if len(self.different) == self.judged:
            return text
        self.judged = len(self.different)
        (self.place / 'patched').rename(self.place / name)
        return 'DIFFERENT'

    def _recover_by_servers(self):
        """Recovers and compares by servers; returns what VANILLA recovered."""
        reference, expected = self._recover_by_vanilla()
        while expected.refused and recovery.COPIED.search(expected.log):
            got = self._recover(self._copy('patched', self.patched), self.patched,
                                self._pool('small'))
            if got.refused != expected.refused:
                self._note('a file is imported', [f'refused: {got.refused or "no"}; '
                                                  f'vanilla: {expected.refused}'])
            self.counts['refused by both while a file was imported'] += 1
            self.texts.append('refused by both until the imported file is removed')
            recovery.remove_refused(self.datadir, recovery.COPIED, expected.log)
            reference, expected = self._recover_by_vanilla()
        if expected.refused:
            self.texts.append(f'vanilla refuses: {expected.refused}')
            self.counts['refused by vanilla'] += 1
        else:
            self._note('vanilla', recovery.bad_tables(expected.tables))
            self.texts.append(f'{len(expected.tables)} answers of tables')
        self.judged = len(self.different)
        for size in ('small', self.dice.choice(('medium', 'large'))):
            self.texts.append(f'{size}: {self._recover_by_patched(size, reference, expected)}')
        return expected

    def _recover_by_vanilla(self):
        """The data that VANILLA has recovered, and how it recovered."""
        datadir = self._copy('vanilla', self.vanilla)
        return datadir, self._recover(datadir, self.vanilla, REFERENCE)

    def _recover_by_patched(self, size, reference, expected):
        """Recovers with one size of the pool, killed meanwhile, and compares; returns a text."""
        datadir, pool = self._copy('patched', self.patched), self._pool(size)
        kills, short = self.dice.randint(0, MOST_KILLS), 0
        for _ in range(kills):
            build = self.dice.choice((self.patched, self.patched, self.vanilla))
            datadir.use(build)
            log = recovery.interrupt(datadir, self._recovery_options(build, pool),
                                     self.dice.uniform(.1, max(.3, expected.seconds)))
            short += recovery.remove_refused(datadir, recovery.SHORT, log)
        where, kept, renamed = f'{size} pool, killed {kills} times', f'patched-{size}', 0
        try:
            got = self._recover(datadir, self.patched, pool)
            if kills and got.refused and (
                    removed := recovery.remove_refused(datadir, recovery.SHORT, got.log)):
                short += removed
                got = self._recover(datadir, self.patched, pool)
            if kills and not got.refused and not expected.refused:
                renamed = recovery.restore_names(datadir, reference)
            if renamed:
                got = self._recover(datadir, self.patched, pool)
        except Failure as error:
            self._note(where, [str(error)])
            return self._verdict(kept, '')
        self.counts.update({'servers compared': 1, 'servers interrupted': kills,
                            'short files after a kill': short,
                            'files left as TRUNCATE names them after a kill': renamed})
        result = self._compare(where, reference, expected, datadir, got, kills)
        return (f'killed {kills}{", short file" if short else ""}, '
                f'{got.batches or "nothing to recover"}, {self._verdict(kept, result)}')

    def _compare(self, where, reference, expected, datadir, got, kills):
        """Notes differences between VANILLA's recovery and PATCHED's; returns a text."""
        if expected.refused or got.refused:
            if bool(expected.refused) != bool(got.refused):
                self._note(where, [f'refused: {got.refused or "no"}; '
                                   f'vanilla: {expected.refused or "no"}'])
            return 'refused'
        if not kills and got.lsn != expected.lsn:
            self._note(where, [f'the log ends at {got.lsn}; vanilla: {expected.lsn}'])
        ours, theirs = got.tables, expected.tables
        self._note(where, [f'{" ".join(key)}: {ours.get(key)}; vanilla: {theirs.get(key)}'
                           for key in sorted(theirs.keys() | ours.keys())
                           if theirs.get(key) != ours.get(key)])
        return self._compare_pages(where, reference, datadir, expected.lsn)

    def _compare_pages(self, where, reference, datadir, end=None):
        """Notes differences between data files; `end` as in pages.compare()."""
        compared = pages.compare(reference.data, datadir.data, self.page_size, end)
        self._note(where, compared.shown())
        self.counts['pages compared'] += compared.pages
        self.counts.update({f'pages {kind}': count
                            for kind, count in compared.explained.items()})
        return str(compared)

    def _prepare(self, damage=None):
        """Recovers and compares by mariadb-backup --prepare, with the log damaged if asked."""
        reference = self._copy('vanilla', self.vanilla)
        size = self.dice.choice(sorted(POOLS))
        datadir = self._copy('patched', self.patched)
        for each in (reference, datadir):
            recovery.make_backup(each)
            if damage:
                damage.apply(each)
        began = time.monotonic()
        expected, expected_output = recovery.prepare(reference, REFERENCE, False)
        usual = time.monotonic() - began
        kills = 0 if damage else self.dice.randint(0, MOST_KILLS)
        status, output, interrupted = self._prepare_patched(datadir, self._pool(size), kills,
                                                            usual)
        self.counts.update({'damaged logs prepared' if damage else 'backups prepared': 1,
                            '--prepare interrupted': interrupted})
        where = (f'--prepare with {size} pool, killed {interrupted} times'
                 + (f', {damage}' if damage else ''))
        refusals = [recovery.refusal(output), recovery.refusal(expected_output)]
        if status != expected:
            self._note(where, [f'status {status} ({refusals[0]}); '
                               f'vanilla: {expected} ({refusals[1]})'])
            result = ''
        elif status:
            self.counts['refused by both'] += 1
            self.counts['refused with other words'] += refusals[0] != refusals[1]
            result = 'both refuse: ' + ' / '.join(dict.fromkeys(refusals))
        else:
            result = self._compare_pages(where, reference, datadir)
        verdict = self._verdict('patched-damaged' if damage else 'patched-prepared', result)
        self.texts.append(f'{damage or "--prepare"}: {size}, killed {interrupted}, {verdict}')

    def _prepare_patched(self, datadir, pool, kills, usual):
        """Runs --prepare, killed up to so many times within the `usual` seconds.

        Returns its last status and output, and how often it was killed."""
        interrupted = 0
        for _ in range(kills):
            datadir.build = self.dice.choice((self.patched, self.patched, self.vanilla))
            status, output = recovery.prepare(datadir, pool, datadir.build is self.patched,
                                              self.dice.uniform(.3, 1) * usual)
            interrupted += status is None
            removed = self._remove_short(datadir, output) if status else 0
            if status is not None and not removed:
                return status, output, interrupted
        datadir.build = self.patched
        status, output = recovery.prepare(datadir, pool, True)
        if status and kills and self._remove_short(datadir, output):
            status, output = recovery.prepare(datadir, pool, True)
        return status, output, interrupted

    def _remove_short(self, datadir, output):
        """Removes files that --prepare refused as too short after a kill; returns how many."""
        removed = recovery.remove_refused(datadir, recovery.SHORT, output)
        self.counts['short files after a kill'] += removed
        return removed

    def _recover_damaged(self, end):
        """Recovers by both builds, with the same damage of the log."""
        damage = recovery.Damage(self.datadir, end, self.seed)
        self._prepare(damage)
        results = []
        for build in (self.vanilla, self.patched):
            datadir = self._copy('damaged', build)
            damage.apply(datadir)
            pool = (REFERENCE if build is self.vanilla
                    else self._pool(self.dice.choice(sorted(POOLS))))
            with datadir.server() as server:
                server.options.update({**recovery.QUIET, **self._recovery_options(build, pool)})
                try:
                    server.start()
                    refused = ''
                except Failure:
                    refused = recovery.refusal(server.log_text())
                results.append((refused, recovery.end_of_log(server.log_text())))
        self.counts['damaged logs met by servers'] += 1
        (vanilla, vanilla_end), (patched, patched_end) = results
        if bool(vanilla) != bool(patched) or vanilla_end != patched_end:
            self._note(f'server, {damage}',
                       [f'{patched or "starts"}, the log ends at {patched_end}; '
                        f'vanilla: {vanilla or "starts"}, {vanilla_end}'])
        self.texts.append(f'servers {"refuse" if vanilla else "start"}'
                          + (f': {vanilla} / {patched}' if vanilla != patched else ''))


def keep(place, kept):
    """Moves the data of a crash into a directory of their own."""
    kept.mkdir()
    for path in list(place.iterdir()):
        if path.is_dir() and not path.name.startswith(('new-', 'different-')):
            path.rename(kept / path.name)


def main(argv):
    """Crash by crash."""
    asked, options = arguments(argv)
    place = place_of(asked)
    templates, total, bad, interrupted = {}, collections.Counter(), [], None
    try:
        for seed in range(asked.seed, asked.seed + asked.crashes):
            crash = Crash(place, templates, (asked.patched, asked.vanilla), seed, options)
            crash.run()
            total += crash.counts
            print(f'crash {seed}: {"; ".join(crash.texts)}', flush=True)
            for line in crash.different:
                print(f'  DIFFERENT: {line}', flush=True)
            if crash.different:
                bad.append(seed)
                keep(place, place / f'different-{seed}')
    except KeyboardInterrupt as error:
        interrupted = error
    print(*(f'{count} {what}' for what, count in sorted(total.items())), sep='\n')
    if bad:
        raise Failure(f'DIFFERENT after {len(bad)} of {total["crashes"]} crashes: '
                      f'{", ".join(map(str, bad))}', f'the data are kept in {place}/different-*')
    print(f'{total["crashes"]} crashes, nothing different', flush=True)
    shutil.rmtree(place)
    if interrupted:
        raise interrupted


if __name__ == '__main__':
    run_command('compare-recovery', main)
