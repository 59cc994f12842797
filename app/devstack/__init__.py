"""Runs processes on one host: a complete Tollgate for `tollgate dev` and the benchmark, and the
Procfile for `tollgate start`.

Read `stack` first, and `procfile` for the latter.
"""
