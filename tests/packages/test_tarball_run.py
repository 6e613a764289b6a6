"""The tarball, unpacked and run.

A file for each script: the files of tests are shared out among processes.
"""
from support.packages import install_by


def test_tarball_run():
    install_by('tarball-run.sh')
