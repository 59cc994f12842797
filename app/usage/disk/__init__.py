"""What a web process keeps on its own disk: the spool. Read `segments` first.

Does not know Redis.
"""
