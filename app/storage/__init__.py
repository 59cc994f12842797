"""Access to Redis and to the database. Does not know which stores use them.

Read `sql.engine` and `redis.connection` first.
"""
