"""The ledger: entries posted from usage events, rollups, re-pricing, reconciliation.

Does not know Redis. Read `posting` first.
"""
