"""How Redis and the database are reached. Does not know which store uses them.

Read `sql.database` and `redis.group_commit` first.
"""
