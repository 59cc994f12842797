"""Accounts, their API keys, and the limits that are configured for both.

Does not know what accounts have used. Read `accounts` first, then `keyring`.
"""
