"""The ledger's database on SQLite and PostgreSQL: engines, transactions, migrations, tables.

Does not know what the tables are for. Read `engine` first, then `transactions`.
"""
