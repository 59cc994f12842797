"""Whether a request fits in its limits: the rate limiter, reservations, and spending so far.

Does not know HTTP or vendors. Read `limiter` first.
"""
