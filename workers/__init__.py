"""The worker processes: they post usage events from the stream to the ledger.

Do not know HTTP, vendors or accounts. Read `tasks`, then `consumer`.
"""
