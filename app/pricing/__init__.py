"""What tokens cost: prices by vendor, model, service tier and time.

Does not depend on usage events, the ledger or Redis. Read `price_book` first, then `price`.
"""
