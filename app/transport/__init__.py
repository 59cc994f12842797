"""All I/O with vendors: the HTTP client, its connections, deadlines and credentials.

Does not know what a request or a response means. Read `call` first.
"""
