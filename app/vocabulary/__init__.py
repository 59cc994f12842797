"""The domain types that every room shares: completions, errors, limits.

Imports no library and no other room. Read `completion` first.
"""
