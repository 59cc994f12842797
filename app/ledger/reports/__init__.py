"""Reports from the ledger: usage and cost by bucket, recent requests, pages, CSV.

Does not write to the ledger. Read `query` first, then `reader`.
"""
