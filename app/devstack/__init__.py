"""A complete Tollgate on one host, as `tollgate dev` and the benchmark start it.

Read `stack` first.
"""
