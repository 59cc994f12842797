"""Queries on the ledger: usage and costs by bucket, recent requests, pages, CSV.

Does not write. Read `query` first.
"""
