"""A crash of the packaged server: its report, and the debug symbols."""
import os
import re
import signal
import subprocess

from millrace.command import output
from millrace_bench.builds import Build
from millrace_bench.measure.server import Server, make_system_tables
from support.packages import DIST


def test_a_crash_report_names_functions_and_the_debug_symbols_their_lines(tmp_path):
    root = tmp_path / 'root'
    for name in ('server', 'common', 'server-dbgsym'):
        [package] = DIST.glob(f'millrace-{name}_*.deb')
        subprocess.run(['dpkg-deb', '-x', package, root], check=True)
    build = Build('packages', root)
    make_system_tables(build, tmp_path / 'data')
    with Server(build, tmp_path / 'data', {'innodb_buffer_pool_size': '32M'}) as server:
        server.start()
        os.kill(server.process.pid, signal.SIGSEGV)
        server.process.wait(timeout=60)
        report = server.log_text()
    frames = dict(re.findall(r'mariadbd\((\w+)\+(0x[0-9a-f]+)\)\[', report))
    assert {'handle_fatal_signal', '_Z11mysqld_mainiPPc'} <= frames.keys(), report

    # by the build id, as a debugger finds them
    build_id = re.search('Build ID: ([0-9a-f]+)', output('readelf', '-n', build.binary))[1]
    symbols = root / f'usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug'
    starts = {name: int(address, 16) for address, name in
              re.findall(r'^([0-9a-f]+) t (\w+)$', output('nm', symbols), re.M | re.I)}
    for name, file in (('handle_fatal_signal', 'sql/signal_handler.cc'),
                       ('_Z11mysqld_mainiPPc', 'sql/mysqld.cc')):
        # the call is before the address that it returns to
        place = output('addr2line', '-e', symbols, hex(starts[name] + int(frames[name], 16) - 1))
        assert re.search(rf'{re.escape(file)}:[1-9]', place), place
