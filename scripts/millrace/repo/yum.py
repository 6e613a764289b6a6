"""The yum repositories, a channel each: by createrepo_c, packages and metadata signed."""
from millrace.repo.apt import NAME
from millrace.repo.releases import CHANNELS
from millrace.repo.tools import link, tool

SECTION = '''[millrace-{tree}{suffix}]
name=Millrace {tree}{suffix}
baseurl={base}/rpm/{tree}/{channel}
enabled={enabled}
gpgcheck=1
repo_gpgcheck=1
gpgkey={base}/{name}.asc
'''


def publish(public, plan, key, contents):
    """Publishes the RPM packages of a plan."""
    unsigned, trees = [], []
    for release in contents.releases:
        for name in release.of_kind('rpm'):
            file = public / release.places(name)[0]
            if not plan.bring(release, name, file, again=plan.new_key):
                unsigned.append(file)
            trees += [release.tree] * (release.tree not in trees)
    # before they get their other names: rpmsign writes into the file
    key.sign_rpms(unsigned)
    for release in contents.releases:
        for name in release.of_kind('rpm'):
            first, *others = release.places(name)
            for other in others:
                link(public / first, public / other)
    for tree in trees:
        for channel in CHANNELS:
            directory = public / f'rpm/{tree}/{channel}'
            directory.mkdir(exist_ok=True)
            # gzip and no database: what dnf of every release reads
            tool('createrepo_c', '--quiet', '--no-database', '--general-compress-type=gz',
                 '--checksum=sha256', directory)
            key.sign(directory / 'repodata/repomd.xml')
        (public / f'rpm/millrace-{tree}.repo').write_text('\n'.join(
            SECTION.format(tree=tree, channel=channel, base=contents.base, name=NAME,
                           suffix='' if channel == 'stable' else f'-{channel}',
                           enabled=int(channel == 'stable'))
            for channel in reversed(CHANNELS)), encoding='utf-8')
