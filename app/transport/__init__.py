"""All I/O with vendors: the requests session and its adapters, connections, deadlines, credentials.

Does not know the meaning of requests or responses. Read `call` first, then `adapter`.
"""
