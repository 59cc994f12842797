"""What each request used: meters, the recorder, the messages that it sends, and the spool.

Does not know the ledger or HTTP. Read `metering.meter` first, then `recording.recorder`;
`messages.event` is what workers receive, `redis` has the stores, and `disk` the spool and the
journal.
"""
