"""Reading and keeping result sets: what is refused; numbers and verdicts as text; the tables of
the documentation; the kept sets."""
import gzip
import json
import re
import subprocess
import types

import pytest

from conftest import TOP
from millrace.errors import Failure
from millrace_bench import keep
from millrace_bench.measure import result, stats
from millrace_bench.report import evidence, headline, overview, sets
from millrace_bench.report import format as text_of
from millrace_bench.report import pages as report
from millrace_bench.report.sets import ResultSet
from pages import sample

KEPT = sorted(file.parent.name for file in sets.KEPT.glob('*/result.json'))


@pytest.fixture
def small(tmp_path):
    """A small result set."""
    path = tmp_path / '2026-11-21-10.11-oltp'
    sample.write(path, rounds=2, seconds=3)
    return path


def fault(path):
    """The error that reading a result set ends in."""
    with pytest.raises(Failure) as error:
        read = ResultSet(path)
        for case in read.data['cases']:
            read.rows(case, ('second', 'value'))
    return str(error.value)


def test_a_good_set_is_read(small):
    read = ResultSet(small)
    case = read.data['cases'][0]
    assert read.builds_of(case) == ['vanilla', 'millrace', 'debian']
    rows = [row for row in read.rows(case, ('second', 'cpu')) if row[0] == 'debian']
    assert [second for _, second, _ in rows] == [1, 2, 3] * 2
    assert all(0 < cpu <= 1 for _, _, cpu in rows)
    assert sum(count for _, _, count in read.rows(case, ('ms', 'count'))) == 3000 * 6
    read.check_whole()


def test_no_result(tmp_path):
    assert 'no result.json' in fault(tmp_path) and 'make bench' in fault(tmp_path)


def test_not_json(small):
    (small / 'result.json').write_text('{"format": 2,')
    assert 'result.json: not JSON' in fault(small) and sets.MEND in fault(small)


@pytest.mark.parametrize('edit, said', [
    (lambda data: data.pop('machine'), "'machine' is a required property"),
    (lambda data: data['cases'][0]['runs'][0].pop('value'), '$.cases[0].runs[0]'),
    (lambda data: data.update(format=1), 'format 1, and not 2'),
    (lambda data: data['builds'].pop(), 'names the build debian'),
])
def test_a_record_that_is_wrong(small, edit, said):
    sample.change(small, edit)
    assert said in fault(small) and 'make bench' in fault(small)


@pytest.mark.parametrize('name', ['runs.csv.gz', 'log.gz'])
def test_a_file_is_missing(small, name):
    (small / name).unlink()
    assert f'{name}: no such file' in fault(small) and sets.MEND in fault(small)


def test_a_file_is_cut_off(small):
    file = small / 'runs.csv.gz'
    file.write_bytes(file.read_bytes()[:-12])
    assert f'{file.name}: cannot be read' in fault(small)


@pytest.mark.parametrize('text, said', [
    ('case,build,second,rate\nread-only-16,vanilla,1,2\n', "no column 'value'"),
    ('case,build,second,value\nread-only-16,vanilla,1,fast\n', 'cannot be read'),
    ('case,build,second,value\nread-only-16,vanilla,1\n', 'cannot be read')])
def test_a_table_of_another_kind(small, text, said):
    (small / 'runs.csv.gz').write_bytes(gzip.compress(text.encode()))
    assert said in fault(small)


def test_the_command_names_the_fault_and_writes_nothing(small):
    (small / 'log.gz').unlink()
    done = subprocess.run([TOP / 'bench/report', small], text=True, capture_output=True,
                          check=False)
    assert done.returncode == 1
    assert done.stderr.startswith('report: error: ') and 'log.gz: no such file' in done.stderr
    assert not (TOP / 'dist/report' / small.name).exists()


def kept(path, sets_directory, name=None):
    """Keeps a set: where it is then, or the error."""
    try:
        return keep.keep(path, name, sets_directory)
    except Failure as error:
        return str(error)


def test_a_set_is_kept_in_place_of_the_older_one(small, tmp_path):
    place = tmp_path / 'sets'
    assert kept(small, place) == place / '10.11-oltp-iops3000' and not small.exists()
    sample.write(small, rounds=3, seconds=2)
    assert kept(small, place) == place / '10.11-oltp-iops3000'
    assert [path.name for path in place.iterdir()] == ['10.11-oltp-iops3000']
    assert len(ResultSet(place / '10.11-oltp-iops3000').data['cases'][0]['runs']) == 9
    assert 'kept already' in kept(place / '10.11-oltp-iops3000', place)


def on_gp3(data):
    """An edit of a record: it is of a volume of a cloud."""
    data['limit'].update(volume='gp3', bandwidth=125_000_000, ms=1)


def test_a_set_is_named_for_its_volume(small):
    sample.change(small, on_gp3)
    read = ResultSet(small)
    assert read.kept_name() == '10.11-oltp-gp3'
    assert text_of.volume(read.data) == 'gp3: 3,000 IOPS, 125 MB/s, 1 ms'
    configured = dict(report.configuration(read.data))['Machine']
    assert configured['storage limit'].startswith('gp3: 3,000 IOPS, 125 MB/s, 1 ms, by cgroup')


@pytest.mark.parametrize('builds, name', [
    (('vanilla', 'millrace'), ''), (('vanilla', 'plain:millrace'), '+plain-millrace'),
    (('vanilla', 'only:a+b', 'millrace'), '+only-a-b'), (('vanilla', '/x/y z'), '+-x-y-z')])
def test_a_set_is_named_for_its_builds(small, builds, name):
    sample.write(small.with_name('other'), builds=builds, seconds=1)
    assert ResultSet(small.with_name('other')).kept_name() == f'10.11-oltp-iops3000{name}'


@pytest.mark.parametrize('load, name', [
    ({'size': 1}, ''), ({'size': 0.5}, '+size0.5'),
    ({'size': 20, 'cases': 'read-only-16'}, '+size20+read-only-16')])
def test_a_set_is_named_for_its_size_and_cases(small, load, name):
    sample.change(small, lambda data: data['load'].update(load))
    assert ResultSet(small).kept_name() == f'10.11-oltp-iops3000{name}'


@pytest.mark.parametrize('name, said', [
    ('10.11-oltp+views', None), ('10.11-scan', '10.11-oltp'), ('../x', '10.11-oltp'),
    ('10.11-oltp+/x', '10.11-oltp')])
def test_a_name_of_ones_own(small, tmp_path, name, said):
    where = kept(small, tmp_path / 'sets', name)
    assert said in where if said else where.name == name


@pytest.mark.parametrize('edit, said', [
    (lambda data: data.update(complete=False, error='interrupted'), 'incomplete'),
    (lambda data: data.update(format=1), 'format 1'),
    (lambda data: data['cases'][0]['runs'].clear(), 'no run of read-write-16'),
    (lambda data: data['cases'][1]['runs'][0].update(round=9), 'read-only-16, round 9')])
def test_a_set_that_is_not_whole_is_not_kept(small, tmp_path, edit, said):
    sample.change(small, edit)
    assert said in kept(small, tmp_path / 'sets')
    assert small.is_dir() and not (tmp_path / 'sets').exists()


@pytest.mark.parametrize('value, text', [
    (0, '0'), (0.01234, '0.0123'), (12.34, '12.3'), (123.45, '123.5'), (894.66, '894.7'),
    (1234.5, '1,234'), (2.5e6, '2.5 M'), (None, '–')])
def test_numbers(value, text):
    assert text_of.number(value) == text


@pytest.mark.parametrize('ratio, low, high, better, said', [
    (1.1, 1.05, 1.15, 'higher', 'better'), (0.9, 0.85, 0.95, 'higher', 'worse'),
    (0.9, 0.85, 0.95, 'lower', 'better'), (1.1, 1.05, 1.15, 'lower', 'worse'),
    (1.1, 0.99, 1.2, 'higher', 'no difference shown')])
def test_verdicts(ratio, low, high, better, said):
    compared = {'ratio': ratio, 'low': low, 'high': high, 'includes_one': low <= 1 <= high}
    assert text_of.verdict(compared, better) == said


@pytest.mark.parametrize('seconds, said', [
    ([60.0, 60.02], '1 round of 60\u00a0s'), ([0.028, 0.03], '1 round of 0.03\u00a0s'),
    ([3.44, 9.1, 31.2], '1 round of 3.4 to 31\u00a0s'),
    ([0.2, 0.9], '1 round of 0.2 to 0.9\u00a0s')])
def test_rounds(seconds, said):
    assert text_of.rounds({'runs': [{'round': 1, 'seconds': value} for value in seconds]}) == said


@pytest.mark.parametrize('name', KEPT)
def test_a_kept_set_is_whole(name):
    read = ResultSet(sets.KEPT / name)
    read.check_whole()
    assert name == read.kept_name() or name.startswith(f'{read.kept_name()}+')
    assert str(TOP) not in (sets.KEPT / name / 'result.json').read_text() + read.text('log.gz')
    for case in read.data['cases']:
        # the same runs give the same comparisons
        measures = {one['measure']: lambda run, name=one['measure']: run['figures'].get(name)
                    for one in case['comparisons']}
        measures[case['measure']] = lambda run: run['value']
        again = {(one['build'], one['measure']): one['ratio'] for one in
                 stats.comparisons(case['runs'], read.builds[0], read.builds, measures)}
        for one in case['comparisons']:
            assert again[one['build'], one['measure']] == pytest.approx(one['ratio'], rel=1e-4)


def test_the_kept_sets_are_small():
    assert sum(file.stat().st_size for file in sets.KEPT.rglob('*')) < 6 << 20


@pytest.fixture
def few(tmp_path, monkeypatch):
    """A few kept sets, of which one has a loss."""
    def slow(data):
        data['cases'][1]['comparisons'][0].update(ratio=0.8, low=0.7, high=0.9,
                                                  includes_one=False)
    for name, builds in (('10.11-oltp', ('vanilla', 'millrace')),
                         ('10.11-oltp+only', ('debian', 'vanilla', 'plain:only:google-io')),
                         ('10.11-scan+without', ('without:google-io', 'millrace'))):
        sample.write(tmp_path / name, suite=name[6:10], builds=builds, seconds=1)
    sample.change(tmp_path / '10.11-oltp', slow)
    for module in (evidence, overview):
        monkeypatch.setattr(module, 'kept', lambda: sets.sets_in(tmp_path))
    monkeypatch.setattr(overview, 'verdicts', lambda tree: {'google-io': {'tests': 'yes'}})
    return tmp_path


def page(name):
    """A page of test-results/, made anew."""
    return overview.pages()[TOP / 'test-results' / name]


def test_the_list_of_the_kept_sets(few):
    text = page('sets/README.md')
    assert re.search(r'\(10.11-oltp/\) \| read-write, 16 clients \| transactions/s \| '
                     r'millrace / vanilla \| [\d.]+ \([\d.]+ – [\d.]+\) \| \w.* \| '
                     r'3,000 IOPS \|', text)
    assert text.count('**worse**') == 1 and '0.800 (0.700 – 0.900) | **worse**' in text
    assert text.count('Invented CPU') == 1


def test_the_pages_of_test_results_link_what_is_there():
    for file, text in overview.pages().items():
        for link in set(re.findall(r'\]\(([^)#]+)', text)):
            assert (file.parent / link).exists(), link
    assert overview.EVERYTHING in page('README.md')


def row_of(text, start):
    """The cells of the only row of a text that begins so."""
    [row] = [line for line in text.splitlines() if line.startswith(f'| {start}')]
    return [cell.strip() for cell in row.split('|')[1:-1]]


def test_a_screen_counts_every_case_and_names_each_loss(few):
    def two_losses(data):
        for case in data['cases']:
            case['comparisons'][0].update(ratio=0.8, low=0.7, high=0.9, includes_one=False)
    text = page('README.md')
    cells = row_of(text, '[oltp](sets/10.11-oltp/)')
    assert cells[1:7] == ['3,000 IOPS', 'millrace', '3, 2026-11-21', '1', '0', '**1**']
    assert cells[7] == '**read-only, 16 clients 0.800 (0.700 – 0.900)**'
    assert cells[8].startswith('read-write, 16 clients 1.')
    sample.change(few / '10.11-oltp', two_losses)
    cells = row_of(page('README.md'), '[oltp](sets/10.11-oltp/)')
    assert cells[4:7] == ['0', '0', '**2**'] and cells[7].count('0.800 (0.700 – 0.900)**') == 2
    screen = text.partition('## 11.8')[0]
    assert row_of(screen, 'google-io')[1] == 'yes'
    # alone beside vanilla in one set, left out in the other, two cases each
    counted = re.search(r'^By itself: google-io: (.*)\. No other patch was measured so\.$', screen,
                        re.MULTILINE)[1]
    assert sum(map(int, re.findall(r'\d+(?=[* ])', counted)[:3])) == 4


def test_a_volume_is_not_one_of_as_many_requests(few):
    """A row for each; and the picture names both."""
    sample.write(few / '10.11-oltp-gp3', builds=('vanilla', 'millrace'), seconds=1)
    sample.change(few / '10.11-oltp-gp3', on_gp3)
    text = page('README.md')
    assert row_of(text, '[oltp](sets/10.11-oltp/)')[1] == '3,000 IOPS'
    assert row_of(text, '[oltp](sets/10.11-oltp-gp3/)')[1] == 'gp3: 3,000 IOPS, 125 MB/s, 1 ms'
    picture = headline.picture([ResultSet(few / name)
                                for name in ('10.11-oltp', '10.11-oltp-gp3')])
    assert '>oltp, 3,000 IOPS<' in picture and '>oltp, gp3<' in picture


def test_a_screen_is_of_speed(few):
    def half(data):
        data['cases'][0]['better'] = 'lower'
        data['cases'][0]['comparisons'][0].update(ratio=0.5, low=0.4, high=0.8,
                                                  includes_one=False)
    sample.change(few / '10.11-oltp', half)
    assert row_of(page('README.md'), '[oltp]')[8] == 'read-write, 16 clients 2.000 (1.250 – 2.500)'


def test_a_screen_names_a_case_that_is_not_compared(few):
    sample.change(few / '10.11-oltp', lambda data: data['cases'][0].update(comparisons=[]))
    cells = row_of(page('README.md'), '[oltp]')
    assert cells[4:7] == ['0', '0', '**1**'] and cells[7].startswith('**read-only, 16 clients 0.8')
    assert re.search(r'; read-write, 16 clients: vanilla \d+.*, millrace .* transactions/s, '
                     r'not compared$', cells[7]), cells[7]


def made_set(path, name, builds, date, cases=2):
    """An invented set with a date and some of its cases."""
    sample.write(path / name, suite='oltp', builds=builds, seconds=1)
    sample.change(path / name, lambda data: data.update(date=f'{date}T00:00:00Z',
                                                        cases=data['cases'][-cases:]))
    return name


PROFILED, PLAIN = ('vanilla', 'millrace'), ('vanilla', 'plain:millrace')


@pytest.mark.parametrize('sets_there, expected', [
    # the profile before the date, all cases before the date, the newest of what is left
    ([(PLAIN, '2026-03-01', 2), (PROFILED, '2026-01-01', 2), (PROFILED, '2026-02-01', 1)], 1),
    ([(PROFILED, '2026-01-01', 2), (('debian', 'millrace', 'vanilla'), '2026-02-01', 2)], 1),
    ([(PLAIN, '2026-01-01', 2), (('vanilla', 'only:google-io'), '2026-02-01', 2),
      (('debian', 'millrace'), '2026-03-01', 2)], 0),
])
def test_the_choice_of_a_screen(tmp_path, sets_there, expected):
    names = [made_set(tmp_path, f'10.11-oltp+{number}', *facts)
             for number, facts in enumerate(sets_there)]
    for results in (sets.sets_in(tmp_path), sets.sets_in(tmp_path)[::-1]):
        [(best, _)] = evidence.chosen(results)
        assert best.name == names[expected]


@pytest.mark.parametrize('load, builds, again', [
    ({'cases': 'read-only-16'}, PROFILED, ['10.11-oltp+part']),
    ({'cases': 'read-only-16'}, PLAIN, []), ({'size': 0.1}, PROFILED, [])])
def test_a_screen_prefers_the_whole_suite_of_the_usual_size(tmp_path, load, builds, again):
    """Also where a part is newer, or of a build that goes before; of the same build, it is what
    was measured again."""
    made_set(tmp_path, '10.11-oltp+whole', builds, '2026-01-01')
    made_set(tmp_path, '10.11-oltp+part', PROFILED, '2026-02-01')
    sample.change(tmp_path / '10.11-oltp+part', lambda data: data['load'].update(load))
    [(best, later)] = evidence.chosen(sets.sets_in(tmp_path))
    assert (best.name, [result.name for result in later]) == ('10.11-oltp+whole', again)


def test_a_loss_stays_beside_a_later_measurement(few):
    made_set(few, '10.11-oltp+again', ('vanilla', 'millrace'), '2026-12-01', cases=1)
    loss = row_of(page('README.md'), '[oltp](sets/10.11-oltp/)')[7]
    assert re.fullmatch(r'\*\*read-only, 16 clients 0.800 \(0.700 – 0.900\)\*\*, '
                        r'again 1\.\d+ \([\d.]+ – [\d.]+\)', loss)


def test_upstreams_suites_on_a_screen(few, tmp_path, monkeypatch):
    def suite(passed, *failed):
        return {'innodb': {'date': f'2026-11-{passed}', 'passed': passed, 'skipped': 1,
                           'failed': failed, 'passed the second time': []}}
    monkeypatch.setattr(overview, 'PLACE', tmp_path)
    (tmp_path / 'suites').mkdir()
    for name, record in (('debug', suite(10)), ('debug-libaio', suite(20, "innodb.x '4k'",
                                                                      "innodb.x '8k'"))):
        (tmp_path / f'suites/10.11-{name}.json').write_text(json.dumps(record))
    assert row_of(overview.suites_summary('10.11'), 'debug') == [
        'debug', 'libaio, own choice', '2026-11-10 to 2026-11-20', '30', '2',
        '**innodb.x** (libaio)']
    assert "**innodb.x '4k', innodb.x '8k'**" in overview.suites_of_tree('10.11')


def test_a_tree_has_one_screen():
    trees = re.split(r'^## ', page('README.md'), flags=re.MULTILINE)[1:]
    assert trees
    for tree in trees:
        assert len(tree.rstrip().splitlines()) <= 45, tree.splitlines()[0]


def header(name, *suites):
    """A patch's header, as far as the table of its page needs it."""
    return types.SimpleNamespace(name=name, suites=list(suites))


def rows_of_a_patch(trees, *about):
    """The cells of the table of a patch's page, without the head."""
    text = evidence.measured(trees, header(*about))
    return [[cell.strip() for cell in line.split('|')[1:-1]] for line in text.splitlines()[5:]]


def test_the_table_of_a_patch(few):
    # the patch alone beside vanilla though that is not the base, the series beside the series
    # without it, and the suites of its header
    def groups(*about):
        return [row[0] for row in rows_of_a_patch(['10.11'], *about) if row[0].startswith('**')]
    series = '**oltp**, 3,000 IOPS: millrace / vanilla'
    assert groups('google-io', 'oltp') == [
        '**oltp**, 3,000 IOPS: plain:only:google-io / vanilla',
        '**scan**, 3,000 IOPS: millrace / without:google-io', series]
    assert groups('read-ahead', 'oltp') == [series]
    assert len(rows_of_a_patch(['10.11'], 'read-ahead', 'oltp')) == 3
    assert evidence.measured(['11.8'], header('google-io', 'oltp')).startswith('Not measured')


def test_the_table_of_a_patch_has_no_series_without_it(few):
    sample.change(few / '10.11-oltp', lambda data: data['builds'][1].update(patches=['google-io']))
    assert rows_of_a_patch(['10.11'], 'read-ahead', 'oltp') == []


def test_the_table_of_a_patch_has_a_column_a_tree(few):
    alone = rows_of_a_patch(['10.11', '11.8'], 'read-ahead', 'oltp')
    assert [row[2] for row in alone] == ['not measured', '–', '–']
    # 11.8 measured a case again
    for name, date, cases in (('11.8-oltp', '2026-11-21', 2),
                              ('11.8-oltp+again', '2026-11-22', 1)):
        made_set(few, name, PROFILED, date, cases)
        sample.change(few / name, lambda data: data.update(tree='11.8'))
    rows = rows_of_a_patch(['10.11', '11.8'], 'read-ahead', 'oltp')
    assert [row[:2] for row in rows] == [row[:2] for row in alone]
    assert rows[0][2] == ('[2026-11-21](../../test-results/sets/11.8-oltp/), again '
                          '[2026-11-22](../../test-results/sets/11.8-oltp+again/)')
    shown = r'(\*\*)?\S+ \(\S+ – \S+\)(, worse)?(\*\*)?'
    assert re.fullmatch(shown, rows[1][2]), rows[1]
    assert re.fullmatch(f'{shown}, again {shown}', rows[2][2]), rows[2]


def compared(measure, ratio, low, high):
    """An invented comparison of the build only:a with vanilla."""
    return {'build': 'only:a', 'base': 'vanilla', 'measure': measure, 'ratio': ratio, 'low': low,
            'high': high, 'includes_one': low <= 1 <= high}


@pytest.fixture
def a_set_of(monkeypatch):
    """A function that makes a set of comparisons, {case: [comparison]}, the only kept one."""
    def make(**cases):
        result = types.SimpleNamespace(
            name='x', usual=True, usual_size=True, whole=True, builds=['vanilla', 'only:a'],
            data={'tree': '10.11', 'suite': 'bulk', 'date': '2026-11-28', 'limit': {'iops': None},
                  'builds': [{'name': 'vanilla', 'patches': []},
                             {'name': 'only:a', 'patches': ['a']}],
                  'cases': [{'title': title, 'measure': 'seconds', 'better': 'lower',
                             'comparisons': comparisons}
                            for title, comparisons in cases.items()]})
        monkeypatch.setattr(evidence, 'kept', lambda: [result])
    return make


def test_the_table_of_a_patch_shows_what_differs(a_set_of):
    requests = compared('read_requests', .5, .4, .6)
    a_set_of(gain=[compared('seconds', .5, .4, .6), requests],
             loss=[compared('seconds', 2, 1.5, 2.5), compared('cpu_seconds', 1, .9, 1.1)],
             same=[compared('seconds', 1, .9, 1.1), requests])
    assert rows_of_a_patch(['10.11', '11.8'], 'a')[1:] == [
        ['gain, seconds', '**0.500 (0.400 – 0.600)**', '–', 'read requests 0.500, –'],
        ['loss, seconds', '**2.000 (1.500 – 2.500), worse**', '–', ''],
        ['same, seconds', '1.000 (0.900 – 1.100)', '–', 'read requests 0.500, –']]


def test_the_table_of_a_patch_folds_cases_without_a_difference(a_set_of):
    same = [compared('seconds', 1, .9, 1.1)]
    a_set_of(index=[compared('seconds', .5, .4, .6)], scan=same, copy=same, dump=same, backup=same,
             requests=[*same, compared('read_requests', .5, .4, .6)])
    table, folded = evidence.measured(['10.11'], header('a', 'bulk')).split('\n\n')[1:]
    assert [line.split('|')[1].strip() for line in table.splitlines()[3:]] == [
        'index, seconds', 'requests, seconds']
    assert folded.replace('\n', ' ') == (
        'No difference shown in bulk, local disk, only:a / vanilla '
        '(10.11 [2026-11-28](../../test-results/sets/x/)): scan; copy; dump; backup.')


def test_the_tables_of_the_profile(few):
    text = evidence.profile()
    assert text.count('millrace') == 1 and '(../../test-results/sets/10.11-oltp/)' in text


def test_the_list_names_every_kept_set():
    text = page('sets/README.md')
    assert 'not compared: one round' in text
    assert [name for name in KEPT if f']({name}/)' not in text] == []


def test_gains_are_turned_so_that_more_is_better():
    compared = {'ratio': 0.5, 'low': 0.4, 'high': 0.8}
    assert evidence.gain(compared, 'lower') == (2, 1.25, 2.5)
    assert evidence.gain(compared, 'higher') == (0.5, 0.4, 0.8)


def test_like_lines_are_folded():
    same = [f'2026-11-26 {n} Transaction {n} was prepared' for n in range(50)]
    turns = [line for n in range(40) for line in (f'Transaction {n} prepared', f'has {n} rows')]
    bars = [f'  {n}.0 |{"*" * n}   {n}' for n in range(1, 9)]
    text = '\n'.join(['begin', *same, 'between', *turns, 'then', *bars, 'a 1', 'a 2', 'end'])
    assert result.folded(text).splitlines() == [
        'begin', same[0], '... 49 like lines', 'between', *turns[:2], '... 78 like lines', 'then',
        bars[0], '... 7 like lines', 'a 1', 'a 2', 'end']
    assert result.folded('') == '' and result.folded('one\n') == 'one\n'


def some_result():
    """A real result.json."""
    return json.loads((TOP / 'tests/fast/data/result.json').read_text())


def test_the_schema_takes_a_real_result():
    assert sets.faults(some_result()) == []


@pytest.mark.parametrize('spoil, place', [
    (lambda r: r.pop('machine'), '$: '),
    (lambda r: r.update(format=3), '$.format: '),
    (lambda r: r.update(complete='yes'), '$.complete: '),
    (lambda r: r.update(extra=1), '$: '),
    (lambda r: r['machine'].update(cores=0), '$.machine.cores: '),
    (lambda r: r['limit'].update(by='magic'), '$.limit.by: '),
    (lambda r: r['builds'][0].update(sha256='x'), '$.builds[0].sha256: '),
    (lambda r: r['cases'][0]['runs'][1]['figures'].update(p95_ms=None),
     '$.cases[0].runs[1].figures.p95_ms: '),
    (lambda r: r['cases'][0]['comparisons'][0].update(pairs=[1.0]),
     '$.cases[0].comparisons[0].pairs: '),
])
def test_the_schema_refuses(spoil, place):
    spoiled = some_result()
    spoil(spoiled)
    [wrong] = sets.faults(spoiled)
    assert wrong.startswith(place)
