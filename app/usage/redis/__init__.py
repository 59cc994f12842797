"""The stores of usage in Redis: the event stream, open records, dead letters, idempotency keys.

Does not know the ledger. Read `stream` first.
"""
