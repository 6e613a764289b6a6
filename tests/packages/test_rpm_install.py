"""The RPM packages, installed by rpm into a clean root.

A file for each script: the files of tests are shared out among processes.
"""
from support.packages import install_by


def test_rpm_install():
    install_by('rpm-install.sh')
