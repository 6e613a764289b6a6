"""The place of the repository, dist/repo/: one run at a time, and all of it or nothing."""
import contextlib
import ctypes
import fcntl
import os
import shutil

from millrace import TOP
from millrace.errors import Failure

HERE = TOP / 'dist/repo'
NEW, OLD = TOP / 'dist/.repo.new', TOP / 'dist/.repo.old'
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def _clear_up():
    """Removes what is left of a run; a repository that was moved aside comes back."""
    if OLD.exists() and not HERE.exists():
        OLD.rename(HERE)
    for path in (NEW, OLD):
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def alone():
    """Keeps other runs out, and clears up what one that was killed has left."""
    HERE.parent.mkdir(exist_ok=True)
    with open(HERE.parent / '.repo.lock', 'a', encoding='ascii') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure('another make repo is at work in dist/repo', 'wait until it is done') \
                from None
        _clear_up()
        try:
            yield
        finally:
            _clear_up()


def _exchange(one, other):
    """Lets two directories change their names, at once; whether this file system can do it."""
    rename = getattr(ctypes.CDLL(None), 'renameat2', None)
    return rename is not None and rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other),
                                         RENAME_EXCHANGE) == 0


def take_place(public, confirm=lambda: None):
    """Puts a finished repository in the place of the present one; where `confirm` then raises,
    the present one comes back."""
    first = not HERE.exists()
    if first:
        public.rename(HERE)
    elif not _exchange(public, HERE):
        HERE.rename(OLD)
        public.rename(HERE)
    try:
        confirm()
    except BaseException:
        if first or OLD.exists():
            HERE.rename(public)         # and alone() brings OLD back
        else:
            _exchange(public, HERE)
        raise
