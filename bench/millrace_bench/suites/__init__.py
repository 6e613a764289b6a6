"""The suites: a module each, with

    TITLE           one line
    ROUNDS SECONDS  how often each build runs each case, and how long under load
    SERVER          options of all its servers, on top of server.OPTIONS
    LOAD            options of the load that all its cases have
    cases(scale)    its cases

The docstring of a suite says what it is for; docs/benchmarks.md has the method.
"""
import importlib

NAMES = ('short', 'oltp', 'tpcc', 'scan', 'recovery', 'undo', 'undospace', 'contention', 'checkpoint', 'unseen')


def suite(name):
    """The module of a suite."""
    return importlib.import_module(f'{__name__}.{name}')
