"""The messages of usage, from web processes to workers: events, open records, their fields.

Do no I/O. Read `event` first.
"""
