"""The processes that move usage events from the stream to the ledger."""
