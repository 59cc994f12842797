"""Access to Redis and to the database. Does not know which stores use them.

Read `sql.database` and `redis.connection` first.
"""
