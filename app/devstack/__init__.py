"""Starts a complete Tollgate on one host, for `tollgate dev` and the benchmark.

Read `stack` first.
"""
