"""The choices of one response: which choice a delta belongs to, and its text.

Does not depend on frames or JSON. Read `deltas` first.
"""
