"""make release: with real keys, git, aptly and createrepo_c, and packages with little in them."""
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess

import jsonschema
import pytest
from millrace import TOP
from support.checkout import CACHE, ONCE, PYPI, Checkout
from support.shop import Shop, gpg

pytestmark = [pytest.mark.xdist_group('release'), ONCE, PYPI]

TAG = 'release/10.11.18-1'
NOTES, PROVENANCE = 'millrace-10.11.18-1.notes.md', 'millrace-10.11.18-1.provenance.json'
README = '''# Proven and measured

## 10.11

### Measured

On 2 cores.

| suite | volume | build | patches | better | no difference | worse | slow | fast |
| --- | --- | --- | --- | ---: | ---: | ---: | --- | --- |
| [scan](sets/10.11-scan/) | local disk | millrace | 4, Nov | 2 | 1 | 0 | lookups 1.1 | scan 2.7 |
{more}
## 11.8

### Measured

| suite | volume | build | patches | better | no difference | worse | slow | fast |
| --- | --- | --- | --- | ---: | ---: | ---: | --- | --- |
| [scan](sets/11.8-scan/) | another disk | millrace | 4, Nov | 0 | 0 | 9 | lookups 1.1 | scan 2.7 |
'''
UNDO = ('| [undo](sets/10.11-undo/) | 3,000 IOPS | millrace | 4, Nov | 4 | 1 | 0 '
        '| start 1.0 | start 5.8 |\n')
TODAY = datetime.date.today()
SECURITY = f'''checked = {TODAY}

["10.11.19"]
source = "somewhere"
cves = ["CVE-2026-47023"]

["10.11.18"]
source = "somewhere"
cves = ["CVE-2026-48163", "CVE-2026-48165"]

["10.11.17"]
source = "somewhere"
cves = ["CVE-2026-44168"]
'''


@pytest.fixture(scope='module')
def prepared(market, tmp_path_factory):
    """A shop whose packages can be released; the RPM packages are not made."""
    place = tmp_path_factory.mktemp('prepared') / 'millrace'
    place.mkdir()
    shop = Shop(Checkout(place), market)
    shop.checkout.write('test-results/README.md', README.format(more=UNDO))
    shop.checkout.write('trees/10.11/security.toml', SECURITY)
    shop.pin()
    shop.commit()
    shop.make(rpm=False)
    return shop


@pytest.fixture
def ready(prepared, tmp_path):
    """A copy of that shop."""
    return prepared.copy(tmp_path)


@pytest.fixture(scope='module')
def done(prepared, tmp_path_factory):
    """A shop that has made a release, of RPM packages, too, and what it `said`: to be read."""
    shop = prepared.copy(tmp_path_factory.mktemp('done'))
    shop.make()
    shop.said = released(shop)
    return shop


@pytest.fixture
def after(done, tmp_path):
    """A copy of that shop, free to go on."""
    return done.copy(tmp_path)


@pytest.fixture(scope='module')
def second(prepared, tmp_path_factory):
    """A shop with a repository, before the release of its second revision."""
    shop = prepared.copy(tmp_path_factory.mktemp('second'))
    shop.begin(rpm=False)
    shop.pin(revision=2)
    shop.commit()
    shop.make(revision=2, rpm=False)
    return shop


def released(shop, *words, **variables):
    """Makes a release that has to succeed: what it says."""
    status, text = shop.release(*words, **variables)
    assert status == 0, text
    return text


def documents(shop, revision='10.11.18-1'):
    """{name: text} of a release's documents."""
    return {path.name: path.read_text()
            for path in (shop.repo / 'releases/10.11' / revision).iterdir()}


def state(shop):
    """All that a run that fails leaves as it was."""
    return (shop.files(), shop.git('for-each-ref', 'refs/tags'),
            sorted(path.name for path in shop.dist.iterdir() if path.name != '.repo.lock'))


def validator():
    """Validates by the schema of CycloneDX, which stands in the library."""
    place = CACHE / 'python/cyclonedx/schema/_res'
    store = {f'http://cyclonedx.org/schema/{file.name}': json.loads(file.read_text())
             for file in place.glob('*.SNAPSHOT.schema.json')}
    schema = store['http://cyclonedx.org/schema/bom-1.6.SNAPSHOT.schema.json']
    resolver = jsonschema.RefResolver.from_schema(schema, store=store)
    return jsonschema.Draft7Validator(schema, resolver=resolver)


def test_a_release_is_whole(done, after):
    commit = after.git('rev-parse', 'HEAD').strip()
    assert f'git push origin {TAG}' in done.said and 'work/reproduced/10.11' in done.said
    # the tag is signed, and names the commit
    assert after.git('rev-parse', f'{TAG}^{{commit}}').strip() == commit
    status, said = after.checkout.run('git', 'verify-tag', TAG, **after.environment)
    assert status == 0 and after.key in said, said
    # a document for each package, all of them signed
    names = documents(after)
    binary = [path.name for path in (after.dist / '10.11').iterdir()
              if path.name.endswith(('.deb', '_64.rpm', '.tar.zst'))]
    assert len(binary) == 12
    assert set(names) == {NOTES, PROVENANCE, f'{PROVENANCE}.asc',
                          *(f'{name}.cdx.json' for name in binary)}
    place = after.repo / 'releases/10.11/10.11.18-1'
    keyring = after.repo / 'millrace-archive-keyring.gpg'
    for signed, signature in ((place / PROVENANCE, place / f'{PROVENANCE}.asc'),
                              (after.repo / 'SHA256SUMS', after.repo / 'SHA256SUMS.asc')):
        subprocess.run(['gpgv', '--keyring', keyring, signature, signed], check=True,
                       capture_output=True)
    assert NOTES in (after.repo / 'SHA256SUMS').read_text()
    # nothing of this machine's
    assert not [name for name, text in names.items() if str(done.checkout.path) in text]
    # it goes on as any revision does
    assert 'up to date' in after.publish('10.11')
    after.promote()
    later = documents(after)
    later.pop(f'{PROVENANCE}.asc'), names.pop(f'{PROVENANCE}.asc')
    assert later == names


def test_the_notes_of_the_first_release(done):
    text = documents(done)[NOTES]
    assert text.startswith('# Millrace 10.11.18-1\n')
    assert done.git('rev-parse', 'HEAD').strip() in text
    assert 'https://mariadb.com/docs/release-notes/community-server/10.11/10.11.18)' in text
    names = (TOP / 'series').read_text().split()
    listed = re.findall(r'^- \*\*([\w-]+)\*\*, new: .+\. Upstream: not forwarded\.$', text,
                        re.MULTILINE)
    assert listed == [name for name in names if (TOP / f'patches/10.11/{name}.patch').exists()]
    assert f'{len(listed)} patches' in text and 'built twice' in text
    assert '**lacks** the fixes of 10.11.19: CVE-2026-47023' in text
    assert 'has the fixes of 10.11.18: CVE-2026-48163, CVE-2026-48165' in text
    assert '10.11.17' not in text and f'Known on {TODAY}' in text
    assert '| scan | local disk | millrace | 4, Nov | 2 | 1 | 0 |' in text
    assert 'sets/' not in text
    assert 'another disk' not in text
    assert '## Packaging' not in text and 'Changed since' not in text


def test_the_notes_say_what_came_went_and_changed(after):
    path = after.checkout.path / 'patches/10.11'
    edits = {'read-ahead': ('Forwarded: no', 'Forwarded: https://example.org/1'),
             'google-io': ('Last-Update: ', 'Last-Update:  '),
             'show-patches': ('\n@@ -', '\n@@ -')}
    for name, (old, new) in edits.items():
        text = (path / f'{name}.patch').read_text()
        assert old in text
        (path / f'{name}.patch').write_text(text.replace(old, new, 1))
    fast = path / 'fast-recovery.patch'
    old = re.search(r'^\+.*\w.*$', fast.read_text().partition('\n+++ ')[2], re.MULTILINE)[0]
    fast.write_text(fast.read_text().replace(f'\n{old}\n', f'\n{old} \n', 1))
    undo = path / 'extra-undo-segments.patch'
    undo.write_text(re.sub(r'^@@ -(\d+),', lambda hunk: f'@@ -1{hunk[1]},', undo.read_text(), 1,
                           re.MULTILINE))
    (path / 'split-buffer-mutex.patch').rename(path / 'warm-pool.patch')
    series = after.checkout.path / 'series'
    series.write_text(series.read_text().replace('split-buffer-mutex', 'warm-pool'))
    after.checkout.write('test-results/README.md',
                         README.format(more=UNDO.replace('| 0 |', '| 2 |')))
    after.checkout.write('debian/changed', 'anything\n')
    after.pin(revision=2)
    assert after.checkout.run('scripts/tables', '--write') == (0, '')
    after.commit('Carry <b> [to](nowhere.md)')
    after.make(revision=2, rpm=False)
    released(after)
    text = documents(after, '10.11.18-2')['millrace-10.11.18-2.notes.md']
    subject = r'Carry &lt;b> \[to](nowhere.md)'
    patches = text[text.index('## Patches'):text.index('## Packaging')]
    changed = dict(re.findall(r'^- \*\*([\w-]+)\*\*, (\w+): ', patches, re.MULTILINE))
    assert changed == {'warm-pool': 'new', 'split-buffer-mutex': 'gone', 'read-ahead': 'changed',
                       'fast-recovery': 'changed', 'extra-undo-segments': 'changed'}, patches
    assert 'Since 10.11.18-1:' in patches and 'Upstream: https://example.org/1.' in patches
    for name, how in (('read-ahead', 'header: Forwarded'),
                      ('fast-recovery', 'other changes in '),
                      ('extra-undo-segments', 'the same changes, carried to other lines')):
        lines = patches[patches.index(f'**{name}**'):].split('\n')
        assert lines[1].startswith(f'  - {how}'), lines
        assert lines[2] == f'  - {subject}'
    assert f'- {subject}' in text[text.index('## Packaging'):]
    results = text[text.index('## Results'):]
    assert 'Changed since 10.11.18-1:\n\n- undo, 3,000 IOPS: 4 better, 1 no difference, ' \
        '2 worse; it was 4 better, 1 no difference, 0 worse\n' in results
    assert '- scan' not in results
    # and so do the packages, but for a header and for lines that moved
    status, text = after.checkout.run(
        'bash', '-ec', '. build/lib/context.sh && context && build/lib/changelog deb '
        '$(printf "$PATCH_DIR/%s.patch " $NAMES)', **after.environment)
    assert status == 0 and re.findall(r'^millrace \(1:(.*)\)', text, re.MULTILINE) \
        == ['10.11.18-2', '10.11.18-1']
    assert dict(re.findall(r'^  \* ([\w-]+), (\w+): ', text, re.MULTILINE)) == {
        'warm-pool': 'new', 'split-buffer-mutex': 'gone', 'fast-recovery': 'changed'}


def test_bills_of_materials(done):
    check, sums = validator(), {}
    for line in (done.dist / '10.11/SHA256SUMS').read_text().splitlines():
        digest, name = line.split()
        sums[name] = digest
    commit = done.git('rev-parse', 'HEAD').strip()
    bills = {name.removesuffix('.cdx.json'): json.loads(text)
             for name, text in documents(done).items() if name.endswith('.cdx.json')}
    for name, bill in bills.items():
        assert [error.message for error in check.iter_errors(bill)] == [], name
        main = bill['metadata']['component']
        assert main['hashes'] == [{'alg': 'SHA-256', 'content': sums[name]}]
        assert bill['metadata']['timestamp'].startswith('2026-11-21T00:00:00')
        properties = {each['name']: each['value'] for each in main['properties']}
        assert properties['millrace:commit'] == commit
        parts = {part['name']: part for part in bill['components']}
        upstream = parts['mariadb']
        pin = (TOP / 'trees/10.11/pin.conf').read_text()
        assert re.search('^SHA256=(.*)', pin, re.MULTILINE)[1] == upstream['hashes'][0]['content']
        assert re.search('^SIGNED_BY=(.*)', pin, re.MULTILINE)[1] \
            == upstream['properties'][0]['value']
        patches = [part for part in bill['components'] if part['type'] == 'file']
        assert len(patches) == len(list((TOP / 'patches/10.11').glob('*.patch')))
        for part in patches:
            assert part['hashes'][0]['content'] \
                == hashlib.sha256((TOP / part['name']).read_bytes()).hexdigest()
            assert part['licenses'] == [{'license': {'id': 'GPL-2.0-only'}}]
            assert {'name': 'millrace:upstream-status', 'value': 'not forwarded'} \
                in part['properties']
        references = re.findall(r'"bom-ref": "(.*?)"', json.dumps(bill))
        assert len(references) == len(set(references))

    def linked(name):
        return {part['name']: part['properties'][0]['value'] for part in
                bills[name]['components'] if part['type'] == 'library'}
    for name in ('millrace-server_10.11.18-1_amd64.deb',
                 'millrace-10.11.18-1-linux-x86_64.tar.zst',
                 'millrace-backup-10.11.18-1.x86_64.rpm'):
        assert linked(name).items() >= {'libc.so.6': 'shared', 'wsrep-lib': 'static'}.items()
    assert linked('millrace-client_10.11.18-1_amd64.deb') == {'libmariadb': 'static'}
    # Debian's, of which the notices are in LICENSES
    text = (TOP / 'build/cmake/portable.cmake').read_text()
    static = set(re.search(r'for package in (.*); do', text)[1].split())
    assert len(static) > 4
    whole = linked('millrace-10.11.18-1-linux-x86_64.tar.zst')
    assert {name for name, how in whole.items() if how == 'static'} \
        == {*static, 'libmariadb', 'wsrep-lib', 'fmt'}
    assert linked('millrace-client-10.11.18-1.x86_64.rpm').items() >= {
        'libedit': 'static', 'libncurses': 'static'}.items()
    assert not static & set(linked('millrace-server_10.11.18-1_amd64.deb'))
    # what the signature leaves of an RPM package
    name = 'millrace-server-10.11.18-1.x86_64.rpm'
    header = subprocess.run(['rpm', '-qp', '--nosignature', '--qf', '%{SHA256HEADER}',
                             done.repo / f'rpm/10.11/testing/{name}'], check=True, text=True,
                            capture_output=True).stdout
    assert {'name': 'millrace:rpm-sha256-header', 'value': header} \
        in bills[name]['metadata']['component']['properties']


def test_the_provenance_names_what_came_of_what(done):
    statement = json.loads(documents(done)[PROVENANCE])
    assert statement['_type'] == 'https://in-toto.io/Statement/v1'
    assert statement['predicateType'] == 'https://slsa.dev/provenance/v1'
    subjects = {each['name']: each['digest']['sha256'] for each in statement['subject']}
    assert subjects == {name: digest for digest, name in (
        line.split() for line in (done.dist / '10.11/SHA256SUMS').read_text().splitlines())}
    definition = statement['predicate']['buildDefinition']
    inputs = {each['name']: each['digest'] for each in definition['resolvedDependencies']}
    assert inputs['millrace'] == {'gitCommit': done.git('rev-parse', 'HEAD').strip()}
    assert inputs['mariadb-10.11.18.tar.gz']['sha256'] in (
        TOP / 'trees/10.11/pin.conf').read_text()
    for name, digest in inputs.items():
        if '/' in name:
            assert digest['sha256'] == hashlib.sha256((TOP / name).read_bytes()).hexdigest()
    assert sum(name.startswith('patches/') for name in inputs) == len(
        list((TOP / 'patches/10.11').glob('*.patch')))
    details = statement['predicate']['runDetails']
    assert details['builder'] == {'id': f'openpgp4fpr:{done.key}',
                                  'version': {'debian': 'Debian GNU/Linux 12 (bookworm)'}}
    made = documents(done)
    for each in details['byproducts']:
        assert each['digest']['sha256'] == hashlib.sha256(made[each['name']].encode()).hexdigest()


def test_the_same_release_has_the_same_bytes(done, after, tmp_path):
    """Though rpm has something to say about its configuration."""
    first = documents(done)
    (tmp_path / '.rpmmacros').write_text('%without_a_body\n')
    after.git('tag', '--delete', TAG)
    shutil.rmtree(after.repo)
    released(after, HOME=str(tmp_path))
    second = documents(after)
    assert len(first) == 15
    assert {name for name in first if first[name] != second[name]} == {f'{PROVENANCE}.asc'}


def test_the_packages_are_built_twice(ready, tmp_path):
    """By scripts/reproduce, where that is not on record; make builds nothing here."""
    ready.make(reproduce=False, rpm=False)
    place = tmp_path / 'make'
    place.mkdir()
    (place / 'make').write_text('#!/bin/sh\nset -e\necho built >> "$0.log"\ncd "$3"\n'
                                f'mkdir -p dist && cp -a "{ready.dist}/10.11" dist/10.11\n'
                                'cat "$ADDED" >> dist/10.11/SHA256SUMS\n')
    (place / 'make').chmod(0o755)
    (tmp_path / 'other').write_text('another  line\n')
    path = f'{place}:{os.environ["PATH"]}'
    before = state(ready)
    assert ready.release('--check') == (0, '') and state(ready) == before
    status, text = ready.release('--check', PATCHES='none')
    assert status == 1 and 'PATCHES=none is not of a release' in text
    status, text = ready.release(PATH=path, ADDED=str(tmp_path / 'other'))
    assert status == 1 and 'two builds of one checkout differ' in text, text
    assert text.count('error: ') == 1 and state(ready) == before
    text = released(ready, PATH=path, ADDED='/dev/null')
    assert 'built twice' in text and (place / 'make.log').read_text() == 'built\n' * 2
    assert (ready.checkout.path / 'work/reproduced/10.11').read_text() \
        == (ready.dist / '10.11/SHA256SUMS').read_text()


def dirty(shop):
    shop.checkout.write('debian/new', 'not committed\n')


def unfinished(shop):
    shutil.rmtree(shop.dist / '10.11')


def half_made(shop):
    next((shop.dist / '10.11').glob('*.dsc')).write_text('half')


def of_another_commit(shop):
    shop.checkout.write('debian/rules', '#!/usr/bin/make -f\n')
    shop.commit()


def of_another_revision(shop):
    shop.pin(revision=2)
    shop.commit()


def without_rpm(shop):
    (shop.dist / '10.11/.rpm.done').unlink()


def other_bytes(shop):
    """The revision was published before, of other documents."""
    shop.git('tag', '--delete', TAG)
    shop.commit()


def without_tag(shop):
    shop.git('tag', '--delete', TAG)
    shop.pin(revision=2)
    shop.commit()
    shop.make(revision=2, rpm=False)


def untold(shop):
    shop.pin(revision=2)
    shop.commit()
    shop.make(revision=2, rpm=False)


def without_news(shop):
    conf = shop.checkout.path / 'trees/10.11/pin.conf'
    conf.write_text(conf.read_text().replace('NEWS=', 'OLDS='))
    shop.commit()


def unread(shop):
    shop.checkout.write('trees/10.11/security.toml', '["10.11.18"]\n')
    shop.commit()


def unknown_fixes(shop):
    shop.checkout.write('trees/10.11/security.toml', SECURITY.replace('10.11.18', '10.11.16'))
    shop.commit()


def looked_before(shop):
    shop.checkout.write('trees/10.11/security.toml', SECURITY.replace(
        str(TODAY), str(TODAY - datetime.timedelta(days=8))))
    shop.commit()


def no_publisher(shop):
    shop.publisher('A Person <a@localhost.invalid>', 'https://example.org/')
    shop.commit()


def nobody(shop):
    for name in ('name', 'email'):
        shop.git('config', f'user.{name}', '')


def without_git(shop):
    shutil.rmtree(shop.checkout.path / '.git')


def nothing(_shop):
    pass


# those that only show in the packages
PACKAGES = ('not finished', 'half-made', 'another commit', 'another revision', 'a format less',
            'other documents')
# those of a shop that has made a release
AFTER = ('released', 'other documents', 'a tag is missing', 'not in the changelogs')
# name: (what spoils it, further arguments, the thing in the first line, the mend in the others)
FAULTS = {
    'not committed': (dirty, [], 'not committed', 'git commit'),
    'not finished': (unfinished, [], 'no finished packages in dist/10.11', 'make TREE=10.11'),
    'half-made': (half_made, [], 'not what its SHA256SUMS says', 'make TREE=10.11'),
    'another commit': (of_another_commit, [], 'are not those of this commit',
                       'to be made again: source-deb deb'),
    'another revision': (of_another_revision, [], 'are 10.11.18-1, and trees/10.11/pin.conf',
                         'make TREE=10.11'),
    'a format less': (without_rpm, [], 'are not those of this commit', 'to be made again: rpm'),
    'released': (nothing, [], f'was released: there is a tag {TAG}', 'raise REVISION'),
    'other documents': (other_bytes, [], 'in the repository with other bytes', 'raise REVISION'),
    'a tag is missing': (without_tag, [], f'the tag {TAG} is not here', 'git fetch --tags'),
    'not in the changelogs': (untold, [], 'do not tell of 10.11.18-1', 'make tables'),
    'no key': (nothing, ['--key', ''], 'no key to sign with', 'make repo KEY='),
    'a key of nobody': (nothing, ['--key', 'AB' * 20], 'no key ABAB', 'gpg --list-secret-keys'),
    'no base': (nothing, ['--base', ''], 'where will the repository be', 'make repo BASE='),
    'no such tree': (nothing, ['9.9'], 'no release tree 9.9', 'known trees: 10.11'),
    'no news': (without_news, [], 'names no NEWS', '@VERSION@'),
    'security': (unread, [], 'trees/10.11/security.toml: has no date `checked`',
                 'as in: checked ='),
    'unknown fixes': (unknown_fixes, [], 'trees/10.11/security.toml does not know 10.11.18',
                      'make upstream-watch'),
    'nobody has looked': (looked_before, [], 'more than a week from today', 'set `checked`'),
    'no publisher': (no_publisher, [], 'Maintainer: A Person <a@localhost.invalid> is a',
                     'write yours'),
    'nobody': (nobody, [], 'git var failed', 'empty ident'),
    'no git': (without_git, [], 'git rev-parse failed', 'not a git repository'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_bad_input_gets_one_error_and_changes_nothing(request, fault):
    ready = request.getfixturevalue('after' if fault in AFTER else 'ready')
    spoil, words, expected, mend = FAULTS[fault]
    spoil(ready)
    before = ready.files()
    if fault not in PACKAGES:
        status, text = ready.release('--check', *words)
        assert status == 1 and expected in text and 'Traceback' not in text, text
    status, text = ready.release(*words)
    lines = text.splitlines()
    assert status == 1 and 'Traceback' not in text, text
    [error] = [number for number, line in enumerate(lines) if 'error: ' in line]
    assert expected in lines[error], text
    assert mend in '\n'.join(lines[error + 1:]), text
    assert ready.files() == before
    assert not list(ready.dist.glob('.repo.[no]*'))


def test_without_the_library_it_says_how_to_get_it(ready, tmp_path):
    before = state(ready)
    status, text = ready.release(MILLRACE_CACHE=str(tmp_path / 'none'))
    assert status == 1 and 'error: there is no cyclonedx' in text, text
    assert 'build/setup release' in text and state(ready) == before


# where a run ends: the program that ends it, the words that it is called with then, and how
ENDS = {
    'a bill of materials': ('readelf', '', 'exit 3'),
    'rebuilding': ('make', '', 'exit 3'),
    'rebuilding, killed': ('make', '', 'kill -9 $PPID'),
    'rebuilding, interrupted': ('make', '', 'kill -INT $PPID; sleep 1'),
    'the repository, killed': ('aptly', '', 'kill -9 $PPID'),
    'signing': ('gpg', '.provenance.json', 'exit 3'),
    'the tag': ('git', 'tag --local-user', 'exit 3'),
    'the tag, interrupted': ('git', 'tag --local-user', 'kill -INT $PPID; sleep 1'),
    'the tag, interrupted when it is there': (
        'git', 'tag --local-user',
        f'{shutil.which("git")} "$@" && kill -INT $PPID; sleep 1'),
    'the tag, killed': ('git', 'tag --local-user', 'kill -9 $PPID'),
}


def ending(place, program, words, how):
    """A PATH on which a program ends its caller, where it is called with these words."""
    place.mkdir()
    (place / program).write_text(
        f'#!/bin/sh\ncase "$*" in *"{words}"*) echo "error: no" >&2; {how}; exit 3 ;; esac\n'
        f'exec {shutil.which(program)} "$@"\n')
    (place / program).chmod(0o755)
    return f'{place}:{os.environ["PATH"]}'


@pytest.mark.parametrize('end', ENDS)
def test_a_run_that_ends_halfway_leaves_all_as_it_was(second, tmp_path, end):
    program, words, how = ENDS[end]
    shop = second.copy(tmp_path)
    record = shop.checkout.path / 'work/reproduced/10.11'
    if program == 'make':
        record.unlink()
    files, _, beside = before = state(shop)
    status, text = shop.release(PATH=ending(tmp_path / 'bin', program, words, how))
    assert status in (1, 3, 130, -9) and 'Traceback' not in text, text
    assert shop.git('tag') == ''
    if end != 'the tag, killed':
        assert shop.files() == files
    if 'killed' not in end:
        assert state(shop) == before
        return
    # the next run makes it whole, with the tag
    shutil.copy(shop.dist / '10.11/SHA256SUMS', record)
    released(shop)
    assert shop.git('tag') == 'release/10.11.18-2\n'
    assert len(documents(shop, '10.11.18-2')) == 10 and state(shop)[2] == beside


def test_a_tag_that_fails_takes_back_the_first_repository(ready, tmp_path):
    path = ending(tmp_path / 'bin', *ENDS['the tag'])
    status, text = ready.release(PATH=path)
    assert status == 1 and 'git tag failed' in text and not ready.repo.exists(), text
    released(ready)


def test_the_documents_of_a_release_stay(done, after, keys):
    """Another key signs the provenance anew; its bytes stay, with the name of the first."""
    first = documents(done)
    after.key = keys['Successor']
    after.publish()
    place = after.repo / 'releases/10.11/10.11.18-1'
    gpg(after.market.home, '--verify', place / f'{PROVENANCE}.asc', place / PROVENANCE)
    later = documents(after)
    assert {name for name in first if first[name] != later[name]} == {f'{PROVENANCE}.asc'}
