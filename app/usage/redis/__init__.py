"""Usage in Redis: the event stream, open records, dead letters, idempotency keys; their scripts.

Does not know the ledger. Read `stream` first.
"""
