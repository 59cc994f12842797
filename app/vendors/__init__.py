"""The vendor table, config/vendors.toml, as values: entries, and rules for models.

Does not depend on any API format, and calls no vendor. Read `vendor` first.
"""
