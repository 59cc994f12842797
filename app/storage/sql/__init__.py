"""The database: engines, transactions, errors, and the one schema of all tables.

Does not know any query. Read `database` first.
"""
