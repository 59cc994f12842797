"""Decides whether a request fits in its limits: limiter, reservations, spending so far.

Does not know HTTP or vendors. Read `limiter` first.
"""
