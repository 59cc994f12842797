"""HTTP/1.1 on one connection: sends a request, parses the response.

Does not know pools, TLS or deadlines. Read `connection` first.
"""
