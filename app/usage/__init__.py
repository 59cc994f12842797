"""What each request used: meters, the recorder, the messages that it sends, and the spool.

Does not know the ledger or HTTP. Read `meter` first, then `recorder`; `event` is the message to the
workers, and `redis` has the stores.
"""
