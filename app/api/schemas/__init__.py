"""Marshmallow schemas: request bodies and query strings in, response bodies out.

No I/O. Read `completion` first.
"""
