"""Usage: events, the stream that carries them, the ledger that keeps them, and its reports."""
