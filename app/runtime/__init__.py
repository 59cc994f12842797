"""What long-running code needs of the process: sockets, and turns for other requests.

Works with threads and with greenlets, and imports neither gevent nor any other room.
Read `sockets` first.
"""
