"""Invoices: one account's month, by model and unit price, and how each number was got.

Only reads the ledger. Read `invoice` first, then `lines`; `cents` has the rule of rounding.
"""
