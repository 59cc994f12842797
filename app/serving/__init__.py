"""One request in, one metered response out: routing, fan-out, failover, retries, streams.

Does not depend on our HTTP API or on any vendor's API format. Read `service` first, then
`failover`.
"""
