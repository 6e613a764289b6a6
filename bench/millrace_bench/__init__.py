"""Benchmarks: servers of several builds measured side by side.

    measure/    a run: server, data, load engine, limits, statistics, results
    builds/     the servers that are compared
    suites/     what is measured
    train/      the training of a compiler's profile
    report/     pages, pictures and tables of result sets
"""
