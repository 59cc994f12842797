"""Accounts, API keys, and the limits that are configured for them.

Does not know what they have used. Read `accounts` first, then `keyring`.
"""
