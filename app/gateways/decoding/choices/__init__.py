"""Which choice a delta belongs to, and how its text is put together.

Does not know frames or JSON. Read `deltas` first.
"""
