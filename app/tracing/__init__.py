"""Traces: the caller's W3C trace context, passed on to vendors or recorded as spans.

Does not know requests or vendors beyond their names. Read `trace_context` first.
"""
