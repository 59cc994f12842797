"""Gateways: pure converters between our domain types and one API format each.

Do no I/O and do not know the transport. Read `base` first, then `openai`;
`families` is the table of all gateways.
"""
