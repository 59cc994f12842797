"""Redis: the keys, errors, and scripts that are run in groups.

Does not know what a store keeps under its keys. Read `group_commit` first.
"""
