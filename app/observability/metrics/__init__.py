"""The metrics of one web process, and the directory in which a host's processes share them.

Does not depend on HTTP or Redis. Read `metrics` first, then `families`.
"""
