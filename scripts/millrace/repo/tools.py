"""Shared by the modules of the repository: running its tools, linking and copying files."""
import os
import re
import shutil
import subprocess

from millrace.command import environment
from millrace.errors import Failure


def tool(*command, **options):
    """The output of a tool, with stderr unless that is a PIPE; raises Failure with the end of
    both where it fails."""
    try:
        return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              **{'env': environment(LC_ALL='C.UTF-8'),
                                 'stderr': subprocess.STDOUT, **options}).stdout
    except FileNotFoundError:
        raise Failure(f'there is no {command[0]}', 'build/setup repo') from None
    except subprocess.CalledProcessError as error:
        text = error.stdout + (error.stderr or '')
        lines = re.sub(r'\x1b\[[\d;]*m', '', text).splitlines()      # colours
        faults = [line for line in lines if 'error' in line.lower()]
        raise Failure(f'{command[0]} failed', *(faults or lines)[-5:]) from None


def rpm_query(*words):
    """The output of rpm about package files, without its warnings; raises Failure."""
    return tool('rpm', '-qp', '--nosignature', *words, stderr=subprocess.PIPE)


def link(source, target):
    """A second name for a file: no byte is copied."""
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, target)


def copy(source, target):
    """A file of its own with the bytes and the time of another."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    target.chmod(0o644)
