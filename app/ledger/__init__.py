"""The ledger: posts usage events as entries and rollups, re-prices, reconciles and prunes them.

Does not depend on Redis. Read `posting` first; `reports` reads what is posted.
"""
