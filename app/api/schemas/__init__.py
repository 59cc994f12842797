"""The shapes of requests and responses at the edge, as marshmallow schemas.

Do no I/O. Read `completion` first.
"""
