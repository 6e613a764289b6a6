"""The Debian packages, installed by apt into clean roots.

A file for each script: the files of tests are shared out among processes.
"""
from support.packages import install_by


def test_deb_install():
    install_by('deb-install.sh')
