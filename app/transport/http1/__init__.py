"""HTTP/1.1 on one connection: sends a request and parses the response with llhttp.

Does not know pools, TLS or deadlines. Read `exchange` first.

Why not a library? Behind the same requests adapter, on gevent (CPython 3.11, one core, response of
600 bytes, median of three runs), a whole call costs 23 us of CPU time here, 74 us with
geventhttpclient 2.6, which also uses llhttp, and about 260 us with urllib3 2.8. A packet of a
stream, most of which is the system's work and gevent's, costs 39, 36 and 58 us. geventhttpclient
has no public method that returns what has arrived, cannot be shut down before the headers, does
not report whether the request was sent, and works with greenlets only. To measure again, send the
same request through `requests.Session` with each client in an adapter of its own.
"""
