"""How Redis and the database are reached. Does not know which store uses them.

Read `sql.engine` and `redis.group_commit` first.
"""
