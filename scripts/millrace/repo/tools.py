"""Shared by the modules of the repository: running its tools, linking and copying files."""
import os
import re
import shutil
import subprocess

from millrace.command import environment
from millrace.errors import Failure


def tool(*command, **options):
    """The output of a tool, stderr included; raises Failure with its end where it fails."""
    try:
        return subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              **{'env': environment(LC_ALL='C.UTF-8'), **options}).stdout
    except FileNotFoundError:
        raise Failure(f'there is no {command[0]}', 'build/setup repo') from None
    except subprocess.CalledProcessError as error:
        lines = re.sub(r'\x1b\[[\d;]*m', '', error.stdout).splitlines()      # colours
        faults = [line for line in lines if 'error' in line.lower()]
        raise Failure(f'{command[0]} failed', *(faults or lines)[-5:]) from None


def link(source, target):
    """A second name for a file: no byte is copied."""
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, target)


def copy(source, target):
    """A file of its own with the bytes and the time of another."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    target.chmod(0o644)
