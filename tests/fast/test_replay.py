"""bench/replay: policies on traces whose outcome is known, its own traces, what it refuses, and
that the policy of the patch is replayed as the patch has it."""
import re
import struct
import subprocess

import pytest
from millrace import TOP
from millrace.patches import diff, series
from millrace.upstream import pins

END, CREATED, SCAN = (1 << 64) - 1, 1 << 63, 1 << 62
POLICIES = ('optimum', 'lru', 'vanilla', 'clock', '2q', 's3fifo', 'sieve', 'lazy')


@pytest.fixture(scope='module', name='program')
def compiled(tmp_path_factory):
    """A function that runs the tool, compiled for these tests: status, output, errors."""
    place = tmp_path_factory.mktemp('replay')

    def program(*arguments, stdin=None):
        done = subprocess.run([TOP / 'bench/replay', *map(str, arguments)], input=stdin,
                              capture_output=True, check=False, env={
                                  'PATH': '/usr/bin:/bin', 'REPLAY_DIR': str(place)})
        return done.returncode, done.stdout, done.stderr.decode()
    return program


def rows(program, words, blocks, *policies):
    """{policy: [read, by scans, moved, 2nd, counted, ghosts]} for a trace, all of it counted."""
    status, out, errors = program('warm=0', '-', blocks, *policies,
                                  stdin=struct.pack(f'{len(words)}Q', *words))
    assert status == 0, errors
    return {fields[0]: [float(figure) for figure in fields[2:]]
            for fields in map(str.split, out.decode().splitlines()[2:])}


def pages(numbers, space=1):
    """Accesses to pages."""
    return [space << 32 | number for number in numbers]


@pytest.mark.parametrize('policy', POLICIES)
def test_what_fits_is_read_once(program, policy):
    found = rows(program, [*pages([*range(1000)] * 5), END], 1000, policy)[policy]
    assert found[0] == 1000
    assert found[1:4] == [0, found[2], 0]


@pytest.mark.parametrize('policy', POLICIES)
def test_created_pages_are_not_read(program, policy):
    words = [CREATED | page for page in pages(range(3000))]
    assert rows(program, [*words, END], 1000, policy)[policy][0] == 0


def test_no_policy_reads_less_than_the_optimum(program):
    status, trace, _ = program('transactions=3000', 'warehouses=1', '--write', 'tpcc')
    assert status == 0
    found = rows(program, [word for word, in struct.iter_unpack('Q', trace)], 1000, *POLICIES)
    assert min(found.values()) == found['optimum']
    assert len({read for read, *_ in found.values()}) == len(POLICIES)


def test_least_recently_used(program):
    words = pages([*range(64), 0, 64, 0, 1])
    assert rows(program, [*words, END], 64, 'lru')['lru'][0] == 66


def test_a_loop_that_does_not_fit(program):
    found = rows(program, [*pages([*range(1200)] * 40), END], 1000, *POLICIES)
    assert found['lru'][0] == found['clock'][0] == 48000
    assert found['optimum'][0] < found['lazy'][0] < found['vanilla'][0] < 48000


def test_a_scan_pushes_out_less(program):
    hot = [page for turn in range(60) for page in (*pages([*range(500)] * 2),
                                                   *pages(range(turn * 100, turn * 100 + 100), 2))]
    scan = [SCAN | page for page in pages(range(20000), 3) for _ in range(20)]
    after = [*hot, END, *scan, *pages(range(500)), END]
    before = rows(program, [*hot, END], 1500, 'lazy', 'lru', 'clock')
    found = rows(program, after, 1500, 'lazy', 'lru', 'clock')

    def read_again(policy):
        return found[policy][0] * 2 - before[policy][0]
    assert found['lazy'][1] == 20000 / 2
    assert read_again('lazy') < 50
    assert read_again('lru') == read_again('clock') == 500


def test_hits_within_a_while_count_once(program):
    warm = pages(range(1000))
    often = [page for number in range(1000, 3000) for page in pages([number] * 30)]
    found = rows(program, [*warm, *often, END], 1000, 'lazy', 'lazy:time=0')
    assert found['lazy'][4] == 0
    assert found['lazy:time=0'][4] > 2000


def test_second_chances_are_limited(program):
    """If all pages were used three times, some are evicted before each was moved three times."""
    warm = pages([*range(1000), *range(1000, 1100)])
    used = [page for number in range(100, 1100) for page in pages([number] * 3)]
    found = rows(program, [*warm, *used, *pages(range(2000, 2100)), END], 1000, 'lazy:time=0')
    read, _, _, chances, counted, _ = found['lazy:time=0']
    assert (read, counted) == (1200, 3000)
    assert 0 < chances <= 128 + 4 * 99


def test_free_blocks_are_missing(program):
    words = [*pages([*range(900)] * 20), END]
    found = rows(program, words, 1000, 'vanilla:depth=300', 'vanilla:depth=50')
    assert found['vanilla:depth=50'][0] == 900 < found['vanilla:depth=300'][0]


def test_zipf_is_skewed_and_scans_are_told_apart(program):
    status, trace, _ = program('transactions=20000', 'pages=1000', 'skew=1', 'scan_every=8000',
                               'scan_pages=10', 'scan_step=3', '--write', 'zipf')
    assert status == 0
    words = [word for word, in struct.iter_unpack('Q', trace)]
    leaves = [word & 0xffffffff for word in words if word & 0xffffffff >= 10000 and word != END]
    count = sorted((leaves.count(leaf) for leaf in set(leaves)), reverse=True)
    assert words.count(END) == len(leaves) == 20000
    # 1/H(1000) = 0.134 of all are the first, half of it the second
    assert 2500 < count[0] < 2860
    assert 1200 < count[1] < 1480
    scanned = [word for word in words if word & SCAN and word != END]
    assert len(scanned) == 2 * 10 * 20 and len(set(scanned)) == 10


def test_a_trace_is_the_same_again(program):
    first, again, other = (program(f'seed={seed}', 'transactions=500', 'warehouses=1', '--write',
                                   'tpcc')[1] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize('arguments, said', [
    (['tpcc', '63'], "'63' is not a number of blocks"),
    (['tpcc', '100x'], "'100x' is not a number of blocks"),
    (['page=1', 'tpcc', '100'], "'page=1' is not an option"),
    (['pages=many', 'tpcc', '100'], "'pages=many': not a number"),
    (['/nowhere', '100'], '/nowhere: No such file'),
    (['transactions=1', 'tpcc', '100', 'lfu'], "'lfu' is not a policy"),
    (['transactions=1', 'tpcc', '100', 'lazy:depth'], "'depth' is not an option"),
    (['transactions=1', 'tpcc', '100', 'lru:pct=5'], "'pct=5' is not an option"),
    (['--help'], 'Usage: bench/replay'),
    (['tpcc'], 'Usage: bench/replay'),
])
def test_what_is_refused(program, arguments, said):
    status, _, errors = program(*arguments)
    assert status != 0
    assert said in errors


@pytest.mark.parametrize('tree', pins.trees())
def test_the_policy_is_that_of_the_patch(tree):
    """The constants and the hash: whoever changes one must change the other."""
    patch = diff.read(series.patch_file(tree, 'lazy-promotion'))
    ours = (TOP / 'bench/policies/lazy.h').read_text()

    def constant(name, text):
        return int(re.search(rf'{name}= (\d+);', text)[1])
    for name, their in (('HITS', 'LRU_HITS'), ('WHILE', 'BUF_LRU_LAZY_WHILE'), ('N', ' N'),
                        ('MAX', 'BUF_LRU_CHANCES_MAX'),
                        ('PER_EVICTION', 'BUF_LRU_CHANCES_PER_EVICTION')):
        assert constant(f' {name}', ours) == constant(their, patch), name
    for line in ('n*= 0x9e3779b97f4a7c15ULL;', 'return (n ^ n >> 32) * 0xd6e8feb86659fd93ULL;',
                 'hash= uint16_t(h | !uint16_t(h));'):
        assert line in ours and line in patch
    chosen = 'mix({} / {} + {} / {}) >> 63'
    assert re.sub(r'\n\+ *', ' ', patch).count(chosen.format(
        'id.raw()', 'buf_pool.read_ahead_area', 'buf_pool.freed_page_clock',
        'buf_pool.curr_size()')) == 1
    assert chosen.format('ids[page]', 'AREA', 'clock', 'blocks') in ours
