"""Redis: connections, keys, errors, and the runner of Lua scripts.

Does not know what a store keeps under its keys. Read `connection` first.
"""
