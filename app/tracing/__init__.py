"""Traces: the caller's W3C trace context, passed on to vendors or recorded as spans.

Of requests and vendors, it knows only the names. Read `trace_context` first.
"""
