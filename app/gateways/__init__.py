"""Gateways: pure converters between the domain types and one API format each.

They do no I/O and do not depend on the transport. Read `base` first, then `openai`; `families` is
the table of all gateways.
"""
