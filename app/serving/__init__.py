"""One request in, one metered response out: routing, fan-out, failover, retries, streams.

Does not know HTTP on our side, or any API format. Read `service` first, then `failover`.
"""
