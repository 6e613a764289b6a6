"""make run: a server from the build, connected to as it says, and ended as a user ends it."""
import os
import re
import shlex
import signal
import subprocess
import time

import pytest
from conftest import heed_interrupts
from millrace import TOP
from support.checkout import TREE

# both want the directory of make run
pytestmark = pytest.mark.xdist_group('run')
HOME = TOP / 'work' / TREE / 'all' / 'run'


def ask(line, query):
    """The output of the client, started with the line that build/run printed."""
    return subprocess.run([*shlex.split(line), '-NBe', query], text=True, capture_output=True,
                          check=True).stdout.strip()


def started():
    """build/run in the background, and its line to connect, once the server accepts it."""
    server = subprocess.Popen([TOP / 'build/run'], env={**os.environ, 'TREE': TREE}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, preexec_fn=heed_interrupts)
    printed = []
    for line in server.stdout:
        printed.append(line)
        found = re.search('connect with: (.*)', line)
        if found:
            break
    else:
        pytest.fail(''.join(printed))
    begun = time.monotonic()
    while server.poll() is None and time.monotonic() < begun + 300:
        if subprocess.run([*shlex.split(found[1]), '-e', 'DO 1'], capture_output=True,
                          check=False).returncode == 0:
            return server, found[1]
        time.sleep(0.1)
    server.terminate()
    pytest.fail(server.communicate()[0])


@pytest.mark.parametrize('how', [signal.SIGINT, signal.SIGTERM], ids=['Ctrl-C', 'SIGTERM'])
def test_run(how):
    server, line = started()
    try:
        assert ask(line, 'SELECT @@version_comment').startswith('Millrace ')
        ask(line, 'CREATE DATABASE IF NOT EXISTS kept; CREATE TABLE IF NOT EXISTS kept.t (a INT);'
                  'INSERT INTO kept.t VALUES (1)')
        again = subprocess.run([TOP / 'build/run'], env={**os.environ, 'TREE': TREE}, text=True,
                               capture_output=True, check=False)
        assert again.returncode == 1 and str(HOME / 'data') in again.stderr
    finally:
        server.send_signal(how)
        text = server.communicate(timeout=300)[0]
    assert server.returncode == 0, text
    assert 'Shutdown complete' in text
    server, line = started()
    try:
        assert int(ask(line, 'SELECT COUNT(*) FROM kept.t')) >= 1
    finally:
        server.terminate()
        server.communicate(timeout=300)


def test_a_server_that_dies_is_an_error():
    server, _ = started()
    os.kill(int((HOME / 'mysqld.pid').read_text()), signal.SIGKILL)
    text = server.communicate(timeout=300)[0]
    assert server.returncode == 1 and 'the server ended with status 137' in text
